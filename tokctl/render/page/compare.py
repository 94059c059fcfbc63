"""What the page of a comparison says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokctl.analysis.comparison import Comparison, Cut, Segmentation
from tokctl.analysis.explain.cards import TokenCard
from tokctl.analysis.explain.summary import UseCurves
from tokctl.analysis.metrics import METRICS, Absent, Figure, Metric
from tokctl.render.charts.every import compare_drawings
from tokctl.render.compare import rows
from tokctl.render.page import shown
from tokctl.render.page.chips import Deck
from tokctl.render.page.document import charts, deck_data, document


@dataclass(frozen=True)
class Cell:
    """A figure in a table.

    Attributes:
        text: the figure as it is written everywhere.
        best: it is the best of its row.
        change: how it differs from the baseline, in words; empty where it can't be said.
        verdict: `better`, `worse` or empty.
        interval: between which numbers it lies; empty where that was not asked for.
    """

    text: str
    best: bool = False
    change: str = ""
    verdict: str = ""
    interval: str = ""


def page(
    comparison: Comparison,
    cards: Mapping[str, Sequence[TokenCard]],
    uses: Mapping[str, UseCurves],
) -> str:
    """The whole page."""
    names = [model.name for model in comparison.models]
    decks = [Deck(place, name, cards.get(name, ())) for place, name in enumerate(names)]
    texts = [text.name for text in comparison.texts]
    return document(
        "compare.html.j2",
        title="Tokenizers compared",
        headline=shown.prose(rows.headline(comparison)),
        findings=comparison.findings,
        names=names,
        baseline=comparison.baseline,
        models=comparison.models,
        speeds=_speeds(comparison),
        metrics=metric_rows(comparison),
        notes=rows.notes(comparison),
        samples=sample_rows(comparison, decks),
        words=_words(comparison, decks),
        stories=_stories(comparison, decks),
        texts=_texts(comparison),
        languages=_languages(comparison),
        overlap=_matrix(comparison.overlap),
        agreement=_matrix(comparison.agreement),
        charts=charts(compare_drawings(comparison, uses).values()),
        decks=deck_data(decks, texts),
    )


def metric_rows(comparison: Comparison) -> list[tuple[Metric, list[Cell]]]:
    """Every metric with a cell for each model."""
    found = []
    for metric in METRICS:
        best = comparison.best(metric)
        cells = []
        for model in comparison.models:
            change, verdict = "", ""
            if model.name != comparison.baseline:
                change, verdict = _change(rows.difference_words(comparison, model, metric))
            interval = rows.interval_words(model, metric)
            cells.append(
                Cell(
                    metric.written(model.total.figures[metric.name]),
                    model.name in best,
                    change,
                    verdict,
                    "" if interval == "n/a" else interval,
                )
            )
        found.append((metric, cells))
    return found


def _change(words: str) -> tuple[str, str]:
    """The difference to the baseline, and whether that is good: the words of the terminal."""
    shown = words.strip()
    verdict = next((word for word in ("better", "worse") if shown.endswith(word)), "")
    return ("" if shown == "n/a" else shown), verdict


def sample_rows(comparison: Comparison, decks: Sequence[Deck]) -> list[dict[str, Any]]:
    """The sentences, with each model's tokens."""
    return [
        {"text": sample.text, "cuts": _cuts(sample.segmentations, decks, sample.text)}
        for sample in comparison.samples
    ]


def _cuts(cuts: Sequence[Segmentation], decks: Sequence[Deck], text: str) -> list[Any]:
    return [
        (deck.name, len(cut.tokens), deck.segmentation(cut, text))
        for deck, cut in zip(decks, cuts, strict=True)
    ]


def _words(comparison: Comparison, decks: Sequence[Deck]) -> list[dict[str, Any]]:
    return [
        {
            "word": entry.word,
            "count": entry.count,
            "cuts": _cuts(entry.segmentations, decks, entry.word),
        }
        for entry in comparison.disagreements
    ]


def _stories(comparison: Comparison, decks: Sequence[Deck]) -> list[dict[str, Any]]:
    return [
        {
            "word": story.word,
            "count": story.count,
            "cuts": list(
                zip(
                    _cuts([cut.segmentation for cut in story.cuts], decks, story.word),
                    [_reason(cut) for cut in story.cuts],
                    strict=True,
                )
            ),
        }
        for story in comparison.stories
    ]


def _reason(cut: Cut) -> str:
    """Why a word is cut so, and how the same model of another size cuts it."""
    others = (f"with {size:,} ids: {' '.join(other.shown)}" for size, other in cut.elsewhere)
    return "; ".join([cut.reason, *others])


def _speeds(comparison: Comparison) -> list[tuple[str, str]]:
    """Encoding and decoding in MB/s; empty where nothing was measured."""
    found = [model.speed for model in comparison.models if model.speed]
    return [
        (rows.speed_words(speed.encode_mb_per_s), rows.speed_words(speed.decode_mb_per_s))
        for speed in found
    ]


def _texts(comparison: Comparison) -> list[tuple[str, str, list[str]]]:
    """Bytes per token, text by text, of the first texts; nothing for a single text."""
    if len(comparison.texts) < 2:
        return []
    metric = rows.metric_named("bytes_per_token")
    return [
        (
            text.name,
            f"{text.bytes:,}",
            [metric.written(m.texts[n].figures[metric.name]) for m in comparison.models],
        )
        for n, text in enumerate(comparison.texts[: rows.MOST_TEXTS])
    ]


#: What is said of a language.
_COSTS = {
    "parity": "parity",
    "tokens_per_line": "tokens per line",
    "fertility": "fertility",
    "bytes_per_token": "bytes per token",
}


def _languages(comparison: Comparison) -> list[tuple[str, int, list[list[tuple[str, str]]]]]:
    """Languages with their lines, and for each model figures with their names."""
    found = comparison.languages
    return [
        (
            entry.name,
            entry.lines,
            [
                [(rows.ratio_words(one[key]), label) for key, label in _COSTS.items()]
                for one in entry.figures
            ],
        )
        for entry in (found.languages if found else ())
    ]


def _matrix(matrix: Sequence[Sequence[Figure]]) -> list[list[tuple[str, int]]]:
    """Figures with their tenths, for the shade behind them; the diagonal says nothing."""
    return [
        [
            ("\N{EN DASH}", -1)
            if i == j
            else ("n/a", -1)
            if isinstance(cell, Absent)
            else (f"{cell:.4f}", int(10 * cell))
            for j, cell in enumerate(row)
        ]
        for i, row in enumerate(matrix)
    ]
