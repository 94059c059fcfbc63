"""Metrics of a model on a text: one module per family, each a function of counts.

`METRICS` lists those that give one figure per model, in the order of the tables;
`docs/metrics.md` explains them. Overlap and agreement, of two models, stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tokctl.analysis.metrics.agreement import boundary_f1
from tokctl.analysis.metrics.compression import bytes_per_token, characters_per_token, nsl
from tokctl.analysis.metrics.counts import NOTHING, Counts
from tokctl.analysis.metrics.definitions import DEFINITIONS, Definition, explain
from tokctl.analysis.metrics.entropy import renyi_efficiency, shannon_efficiency
from tokctl.analysis.metrics.figure import Absent, Figure
from tokctl.analysis.metrics.languages import gini, parity, tokens_per_line
from tokctl.analysis.metrics.overlap import canonical, canonical_vocabulary, jaccard
from tokctl.analysis.metrics.round_trip import round_trip
from tokctl.analysis.metrics.unknown import unk_rate
from tokctl.analysis.metrics.vocabulary import Range, range_of, vocabulary_use
from tokctl.analysis.metrics.words import WORD_RULES, continued_words, fertility, strr

__all__ = [
    "DEFINITIONS",
    "METRICS",
    "NOTHING",
    "WORD_RULES",
    "Absent",
    "Counts",
    "Definition",
    "Figure",
    "Metric",
    "Range",
    "boundary_f1",
    "canonical",
    "canonical_vocabulary",
    "explain",
    "gini",
    "jaccard",
    "metric_names",
    "parity",
    "range_of",
    "tokens_per_line",
]


@dataclass(frozen=True)
class Metric:
    """One figure per model.

    Attributes:
        name: in JSON and in conditions.
        label: in tables.
        higher_is_better: False where less is better.
        kind: `count`, `ratio`, or `share` (0 to 1).
        figure: from (what the model can make of text, its counts, the baseline's counts on
            the same text).
        adds_up: it is a sum over lines, or a ratio of such sums: so it can be resampled.
    """

    name: str
    label: str
    higher_is_better: bool
    kind: str
    figure: Callable[[Range, Counts, Counts], Figure]
    adds_up: bool = True

    @property
    def definition(self) -> Definition:
        """What it is, in words."""
        return DEFINITIONS[self.name]

    def written(self, figure: Figure) -> str:
        """The figure for people: a share is never rounded to 0 or 1 unless it is that."""
        if isinstance(figure, Absent):
            return "n/a"
        if self.kind == "count":
            return f"{figure:,.0f}"
        if self.kind == "ratio":
            return f"{figure:,.3f}"
        if 0 < figure < 0.0001:
            return "<0.0001"
        if 0.9999 < figure < 1:
            return ">0.9999"
        return f"{figure:.4f}"


METRICS = (
    Metric("tokens", "tokens", False, "count", lambda _r, n, _b: n.tokens),
    Metric(
        "bytes_per_token",
        "bytes per token",
        True,
        "ratio",
        lambda _r, n, _b: bytes_per_token(n.bytes, n.tokens),
    ),
    Metric(
        "characters_per_token",
        "characters per token",
        True,
        "ratio",
        lambda _r, n, _b: characters_per_token(n.characters, n.tokens),
    ),
    Metric("nsl", "NSL", False, "ratio", lambda _r, n, b: nsl(n.tokens, b.tokens)),
    Metric("fertility", "fertility", False, "ratio", lambda _r, n, _b: fertility(n)),
    Metric(
        "continued_words", "continued words", False, "share", lambda _r, n, _b: continued_words(n)
    ),
    Metric("strr", "STRR", True, "share", lambda _r, n, _b: strr(n)),
    Metric(
        "unk_rate",
        "UNK rate",
        False,
        "share",
        lambda r, n, _b: unk_rate(n.unknown, n.tokens, reads_everything=r.reads_everything),
    ),
    Metric(
        "round_trip",
        "round trip",
        True,
        "share",
        lambda _r, n, _b: round_trip(n.exact_lines, n.lines),
    ),
    Metric(
        "vocabulary_use",
        "vocabulary use",
        True,
        "share",
        lambda r, n, _b: vocabulary_use(len(n.id_counts), r.emittable),
        adds_up=False,
    ),
    Metric(
        "renyi_efficiency",
        "Rényi efficiency",
        True,
        "share",
        lambda r, n, _b: renyi_efficiency(n.id_counts.values(), r.emittable),
        adds_up=False,
    ),
    Metric(
        "shannon_efficiency",
        "Shannon efficiency",
        True,
        "share",
        lambda r, n, _b: shannon_efficiency(n.id_counts.values(), r.emittable),
        adds_up=False,
    ),
)


def metric_names() -> list[str]:
    """The names that a condition may use."""
    return [metric.name for metric in METRICS]
