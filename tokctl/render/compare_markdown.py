"""A comparison as Markdown with tables as GitHub draws them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokctl.comparison.results import Comparison
from tokctl.metrics import METRICS
from tokctl.render import compare_rows as rows
from tokctl.render.console import visible


def markdown(comparison: Comparison) -> str:
    """The whole document."""
    models = [model.name for model in comparison.models]
    parts = [
        "# Comparison",
        _plain(rows.headline(comparison)),
        _models_table("metric", models, _best_in_bold(comparison)),
        "↑ more is better, ↓ less is better, **bold** is best of its row",
        *(_plain(note) for note in rows.notes(comparison)),
    ]
    if by_text := rows.text_rows(comparison):
        parts += ["## Bytes per token, by text", _models_table("text", models, by_text)]
    if comparison.samples:
        parts.append("## Sentences, with the number of tokens")
    for sample in comparison.samples:
        cuts = [
            [_plain(cut.model), str(len(cut.tokens)), _code(cut.shown)]
            for cut in sample.segmentations
        ]
        parts += [_plain(rows.safe(sample.text)), _table(["model", "tokens", ""], cuts)]
    if len(models) > 1:
        parts += _of_pairs(comparison, models)
    return "\n\n".join(parts) + "\n"


def _of_pairs(comparison: Comparison, models: Sequence[str]) -> list[str]:
    overlap = rows.matrix_rows(comparison, comparison.overlap)
    agreement = rows.matrix_rows(comparison, comparison.agreement)
    words = [
        [_code([word.word]), f"{word.count:,}", *(_code(cut.shown) for cut in word.segmentations)]
        for word in comparison.disagreements
    ]
    return [
        "## Words that are cut most differently",
        _table(["word", "count", *map(_plain, models)], words) if words else "None.",
        "## Vocabulary overlap (Jaccard index)",
        _models_table("", models, overlap),
        "## Agreement on boundaries inside words (F1)",
        _models_table("", models, agreement),
    ]


def _best_in_bold(comparison: Comparison) -> list[rows.Row]:
    labels = len(METRICS) + 1  # and the size of the vocabulary
    return [
        (label, [f"**{cell[:-1]}**" if cell.endswith("*") else cell.rstrip() for cell in cells])
        for label, cells in rows.metric_rows(comparison)[:labels]
    ]


def _models_table(label: str, models: Sequence[str], lines: Sequence[rows.Row]) -> str:
    return _table(
        [label, *map(_plain, models)], [[_plain(name), *cells] for name, cells in lines], right=True
    )


def _table(head: Sequence[str], lines: Sequence[Sequence[str]], *, right: bool = False) -> str:
    ruler = ["---", *(("---:" if right else "---") for _ in head[1:])]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ruler, *lines])


def _plain(text: str) -> str:
    """Text that Markdown takes as it is."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", text)


def _code(tokens: Sequence[str]) -> str:
    """Tokens as code, a bar between them: the box-drawing one, which ends no cell."""
    text = "│".join(visible(token) for token in tokens).replace("|", "\\|")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
