"""A comparison as headings, paragraphs and tables: what Markdown and LaTeX are written from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tokctl.analysis.comparison.results import Comparison, ModelSegmentation
from tokctl.analysis.metrics import METRICS
from tokctl.render.compare import rows


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Best:
    """A figure that is the best of its row."""

    text: str


@dataclass(frozen=True)
class Tokens:
    """A segmentation, or a word that is none: code."""

    tokens: tuple[str, ...]


Cell = str | Best | Tokens


@dataclass(frozen=True)
class Table:
    """`right`: all columns but the first are numbers."""

    head: tuple[str, ...]
    lines: tuple[tuple[Cell, ...], ...]
    right: bool = False


Block = Heading | Paragraph | Bullets | Table


def blocks(comparison: Comparison) -> Iterator[Block]:
    """All of the comparison, in the order of the terminal's."""
    models = [model.name for model in comparison.models]
    yield Paragraph(rows.headline(comparison))
    if comparison.findings:
        yield Heading("What the figures say")
        yield Bullets(comparison.findings)
    yield Heading("Metrics")
    yield _of_rows("metric", models, _best(comparison))
    yield Paragraph("↑ more is better, ↓ less is better, bold is best of its row")
    for note in rows.notes(comparison):
        yield Paragraph(note)
    others, lines = rows.difference_rows(comparison)
    if lines:
        yield Heading(f"Against {comparison.baseline}, the baseline")
        yield _of_rows("metric", others, _plain(lines))
        for note in rows.difference_notes(comparison):
            yield Paragraph(note)
    if lines := rows.interval_rows(comparison):
        yield Heading("95% intervals over lines")
        yield _of_rows("metric", models, _plain(lines))
        yield Paragraph(rows.RESAMPLED)
    if lines := rows.speed_rows(comparison):
        yield Heading("Speed here")
        yield _of_rows("", models, _plain(lines))
        yield Paragraph(rows.speed_note(comparison))
    yield from _sweep(comparison)
    yield from _languages(comparison, models)
    if by_text := rows.text_rows(comparison):
        yield Heading("Bytes per token, by text")
        yield _of_rows("text", models, _plain(by_text))
    yield from _sentences(comparison)
    yield from _stories(comparison)
    if len(models) > 1:
        yield from _of_pairs(comparison, models)


def _best(comparison: Comparison) -> list[tuple[Cell, ...]]:
    labels = len(METRICS) + 1  # and the size of the vocabulary
    return [
        (label, *(Best(cell[:-1]) if cell.endswith("*") else cell.strip() for cell in cells))
        for label, cells in rows.metric_rows(comparison)[:labels]
    ]


def _plain(lines: Sequence[rows.Row]) -> list[tuple[Cell, ...]]:
    return [(label, *(cell.strip() for cell in cells)) for label, cells in lines]


def _of_rows(label: str, models: Sequence[str], lines: Sequence[tuple[Cell, ...]]) -> Table:
    return Table((label, *models), tuple(lines), right=True)


def _sweep(comparison: Comparison) -> Iterator[Block]:
    if not comparison.sweep:
        return
    for name in rows.SWEEP_TABLES:
        metric = rows.metric_named(name)
        yield Heading(f"{metric.label} {'↓↑'[metric.higher_is_better]} by vocabulary size")
        models, lines = rows.sweep_rows(comparison, name)
        yield _of_rows("ids", models, _plain(lines))
    if notes := rows.sweep_notes(comparison):
        yield Bullets(tuple(notes))


def _languages(comparison: Comparison, models: Sequence[str]) -> Iterator[Block]:
    if comparison.languages is None:
        return
    for name, title in rows.LANGUAGE_TABLES:
        yield Heading(title.format(reference=comparison.languages.reference))
        yield _of_rows("language", models, _plain(rows.language_rows(comparison, name)))
    for note in rows.language_notes(comparison):
        yield Paragraph(note)


def _sentences(comparison: Comparison) -> Iterator[Block]:
    if comparison.samples:
        yield Heading("Sentences, with the number of tokens")
    for sample in comparison.samples:
        yield Paragraph(rows.safe(sample.text))
        lines = [(cut.model, str(len(cut.tokens)), _tokens(cut)) for cut in sample.segmentations]
        yield Table(("model", "tokens", ""), tuple(lines))


def _stories(comparison: Comparison) -> Iterator[Block]:
    if comparison.stories:
        yield Heading("Words, and why they are cut so")
    for story in comparison.stories:
        yield Paragraph(f"{rows.safe(story.word)}: {rows.story_title(story)}")
        lines: list[tuple[Cell, ...]] = []
        for cut in story.cuts:
            name = cut.segmentation.model
            lines.append((name, _tokens(cut.segmentation), cut.reason))
            lines += [(name, _tokens(other), f"with {size:,} ids") for size, other in cut.elsewhere]
        yield Table(("model", "tokens", "why"), tuple(lines))
    if comparison.stories:
        yield Paragraph(rows.COUNTED)


def _tokens(cut: ModelSegmentation) -> Tokens:
    return Tokens(cut.shown)


def _of_pairs(comparison: Comparison, models: Sequence[str]) -> Iterator[Block]:
    yield Heading("Words that are cut most differently")
    words: tuple[tuple[Cell, ...], ...] = tuple(
        (Tokens((word.word,)), f"{word.count:,}", *map(_tokens, word.segmentations))
        for word in comparison.disagreements
    )
    yield Table(("word", "count", *models), words) if words else Paragraph("None.")
    yield Heading("Vocabulary overlap (Jaccard index)")
    overlap = rows.matrix_rows(comparison, comparison.overlap)
    yield _of_rows("", models, _plain(overlap))
    yield Heading("Agreement on boundaries inside words (F1)")
    agreement = rows.matrix_rows(comparison, comparison.agreement)
    yield _of_rows("", models, _plain(agreement))
