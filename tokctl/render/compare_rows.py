"""What a comparison says, as rows of text: the same for terminals and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from tokctl.comparison.results import Comparison
from tokctl.metrics import METRICS, Absent, Figure
from tokctl.render.console import visible

_USE = "vocabulary use is of the ids that text can become: no special ones but the unknown token"
LEGEND = "↑ more is better, ↓ less is better, * best of its row"

#: A label, and one cell per model.
Row = tuple[str, list[str]]


def headline(comparison: Comparison) -> str:
    """What was compared on what."""
    total = comparison.total
    names = [text.name for text in comparison.texts]
    what = names[0] if len(names) == 1 else f"{len(names)} texts"
    return (
        f"{what}: {_plural(total.characters, 'character')}, {_plural(total.words, 'word')}, "
        f"{_plural(total.lines, 'line')}. NSL is relative to {comparison.baseline}."
    )


def safe(text: str) -> str:
    """A sentence that a terminal can show: control characters escaped, spaces left alone."""
    return "".join(char if char == " " else visible(char) for char in text)


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def metric_rows(comparison: Comparison) -> list[Row]:
    """One row per metric; the best figure has a star behind it."""
    rows: list[Row] = [
        ("vocabulary size", [f"{model.vocab_size:,} " for model in comparison.models])
    ]
    for metric in METRICS:
        best = comparison.best(metric)
        cells = [
            metric.written(model.total.figures[metric.name]) + (" ", "*")[model.name in best]
            for model in comparison.models
        ]
        rows.append((f"{metric.label} {'↓↑'[metric.higher_is_better]}", cells))
    return rows


def text_rows(comparison: Comparison) -> list[Row]:
    """Bytes per token, text by text; nothing for a single text."""
    if len(comparison.texts) < 2:
        return []
    metric = next(metric for metric in METRICS if metric.name == "bytes_per_token")
    return [
        (
            text.name,
            [metric.written(model.texts[n].figures[metric.name]) for model in comparison.models],
        )
        for n, text in enumerate(comparison.texts)
    ]


def matrix_rows(comparison: Comparison, matrix: Sequence[Sequence[Figure]]) -> list[Row]:
    """A square of figures; its diagonal says nothing."""
    return [
        (
            model.name,
            [
                "\u2013" if i == j else "n/a" if isinstance(cell, Absent) else f"{cell:.4f}"
                for j, cell in enumerate(matrix[i])
            ],
        )
        for i, model in enumerate(comparison.models)
    ]


def notes(comparison: Comparison) -> list[str]:
    """Why figures are absent, and what needs saying about the others."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for metric in METRICS:
        reasons: dict[str, list[str]] = {}
        for model in comparison.models:
            figure = model.total.figures[metric.name]
            if isinstance(figure, Absent):
                reasons.setdefault(figure.reason, []).append(model.name)
        for reason, models in reasons.items():
            found.setdefault((reason, tuple(models)), []).append(metric.label)
    lines = [_USE]
    for (reason, names), labels in found.items():
        every = len(names) == len(comparison.models)
        whose = "" if every else f" of {', '.join(names)}"
        lines.append(f"n/a: {', '.join(labels)}{whose}: {reason}")
    return lines
