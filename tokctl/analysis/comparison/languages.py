"""Texts of several languages that say the same: what each language costs in each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokctl.analysis.comparison.results import Language, Languages, Measured
from tokctl.analysis.metrics import Figure, gini, parity, tokens_per_line

#: Of the metrics, those that are shown for each language.
_FIGURES = ("tokens", "bytes_per_token", "fertility", "unk_rate")


def languages_of(
    names: Sequence[str], reference: str, models: Sequence[Mapping[str, Measured]]
) -> Languages:
    """The figures of each language.

    Args:
        names: of the languages; each names a text of the comparison.
        reference: one of them, which parity is relative to.
        models: for each model what was measured, by the name of the text.
    """
    languages = tuple(
        Language(
            name,
            models[0][name].counts.lines,
            tuple(_figures(model[name], model[reference]) for model in models),
        )
        for name in names
    )
    return Languages(
        reference,
        languages,
        tuple(gini([_per_line(model[name]) for name in names]) for model in models),
    )


def _figures(own: Measured, reference: Measured) -> dict[str, Figure]:
    counts = own.counts
    return {
        "parity": parity(counts.tokens, reference.counts.tokens),
        "tokens_per_line": _per_line(own),
        **{name: own.figures[name] for name in _FIGURES},
    }


def _per_line(measured: Measured) -> Figure:
    return tokens_per_line(measured.counts.tokens, measured.counts.lines)
