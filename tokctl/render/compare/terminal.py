"""A comparison on a terminal, or in a pipe."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.text import Text

from tokctl.analysis.comparison.results import Comparison
from tokctl.render.compare import rows
from tokctl.render.compare.sentences import sample_block
from tokctl.render.compare.sweep import sweep_tables
from tokctl.render.compare.tables import tables
from tokctl.render.compare.words import disagreements, story_block


def show(comparison: Comparison, console: Console) -> None:
    """Prints all of it; several tables stand below one another where one is too wide."""
    models = [rows.safe(model.name) for model in comparison.models]
    width = console.width
    console.print(Text(rows.safe(rows.headline(comparison))))
    _findings(comparison, console)
    _section(console, "Metrics", tables(models, rows.metric_rows(comparison), width))
    _notes(console, [rows.LEGEND, *rows.notes(comparison)])
    others, lines = rows.difference_rows(comparison)
    if lines:
        title = f"Against {comparison.baseline}, the baseline"
        _section(console, title, tables(list(map(rows.safe, others)), lines, width))
        _notes(console, rows.difference_notes(comparison))
    if lines := rows.interval_rows(comparison):
        _section(console, "95% intervals over lines", tables(models, lines, width))
        _notes(console, [rows.RESAMPLED])
    if lines := rows.speed_rows(comparison):
        _section(console, "Speed here", tables(models, lines, width))
        _notes(console, [rows.speed_note(comparison)])
    _sweep(comparison, console)
    _languages(comparison, console)
    if by_text := rows.text_rows(comparison):
        _section(console, "Bytes per token, by text", tables(models, by_text, width))
    if comparison.samples:
        blocks = (sample_block(sample, models, width) for sample in comparison.samples)
        _section(console, "Sentences, with the number of tokens", blocks)
    if comparison.stories:
        told = (story_block(story, models, width) for story in comparison.stories)
        _section(console, "Words, and why they are cut so", told)
        _notes(console, [rows.COUNTED])
    if len(models) < 2:
        return
    title = "Words that are cut most differently"
    _section(console, title, disagreements(comparison.disagreements, models, width))
    overlap = rows.matrix_rows(comparison, comparison.overlap)
    _section(console, "Vocabulary overlap (Jaccard index)", tables(models, overlap, width))
    agreement = rows.matrix_rows(comparison, comparison.agreement)
    title = "Agreement on boundaries inside words (F1)"
    _section(console, title, tables(models, agreement, width))


def _findings(comparison: Comparison, console: Console) -> None:
    if not comparison.findings:
        return
    console.print()
    console.print(Text("What the figures say", style="bold underline"))
    for finding in comparison.findings:
        mark = Text("• ", style="dim")
        line = Text(rows.safe(finding))
        console.print(mark, end="")
        wrapped = line.wrap(console, max(console.width - 2, 1))
        console.print(Text("\n  ").join(wrapped))


def _sweep(comparison: Comparison, console: Console) -> None:
    if not comparison.sweep:
        return
    for name in rows.SWEEP_TABLES:
        metric = rows.metric_named(name)
        title = f"{metric.label} {'↓↑'[metric.higher_is_better]} by vocabulary size"
        _section(console, title, sweep_tables(comparison, name, console.width))
    _notes(console, rows.sweep_notes(comparison))


def _languages(comparison: Comparison, console: Console) -> None:
    if comparison.languages is None:
        return
    models = [rows.safe(model.name) for model in comparison.models]
    for name, title in rows.LANGUAGE_TABLES:
        lines = rows.language_rows(comparison, name)
        heading = title.format(reference=comparison.languages.reference)
        _section(console, heading, tables(models, lines, console.width))
    _notes(console, rows.language_notes(comparison))


def _notes(console: Console, lines: Iterable[str]) -> None:
    for line in lines:
        console.print(Text(rows.safe(line), style="dim"))


def _section(console: Console, title: str, parts: Iterable[RenderableType]) -> None:
    console.print()
    console.print(Text(rows.safe(title), style="bold underline"))
    for place, part in enumerate(parts):
        if place:
            console.print()
        console.print(part)
