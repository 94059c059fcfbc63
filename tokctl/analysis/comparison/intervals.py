"""How far figures move with the lines that happen to be in a text: the bootstrap over lines.

Efron (1979); percentile intervals as in Efron and Tibshirani (1993), chapter 13. The lines of
all texts together are drawn with replacement, as many as there are, 1,000 times; each time every
figure is computed anew, by its own formula, from the sums over the lines drawn. All models get
the same lines each time, so that a figure relative to the baseline (NSL), and the difference of
two models' figures, are of pairs: what moves both models leaves the difference alone.

The lines drawn follow from `SEED` by the rule of `native/core/src/measure/resample.rs`:
resample number r has the generator SplitMix64 (Steele, Lea and Flood 2014) with the number r of
SplitMix64(`SEED`) as its seed, and draws line (n * next) >> 64 of n lines. So intervals are the
same in every run, on any number of threads.

A document's end ends a line; the lines of a document that counts n times stand there n times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tokctl import _native
from tokctl.analysis.comparison.measuring import Measurement
from tokctl.analysis.metrics import METRICS, Absent, Counts, Figure, Range
from tokctl.errors import TokctlError

RESAMPLES = 1000
SEED = 1979
#: The places of the interval's ends among the sorted figures, from 1: 2.5 % and 97.5 %.
LOW, HIGH = 25, 975

#: What a resample can't say anything about.
_NO_SUM = Absent(
    "it is no sum over lines: a resample leaves lines out, and has fewer ids whatever the noise"
)
_ONE_LINE = Absent("the text has fewer than two lines to draw from")


@dataclass(frozen=True)
class Interval:
    """Where a figure lies in 95 % of the resamples."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Of a difference: is it more than noise?"""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class ModelIntervals:
    """The intervals of one model, by the name of the metric; absent ones with the reason.

    Attributes:
        figures: of the figures themselves.
        differences: of the model's figure less the baseline's; empty for the baseline.
    """

    figures: Mapping[str, Interval | Absent]
    differences: Mapping[str, Interval | Absent]


def intervals(
    measured: Mapping[str, Sequence[Measurement]],
    ranges: Mapping[str, Range],
    baseline: str,
    threads: int,
) -> dict[str, ModelIntervals]:
    """The intervals of every model over all texts together.

    Args:
        measured: for each model its texts, which are the same for all; measured with `lines`.
            One text of each gives the intervals of that text.
        ranges: what each model can make of text (`tokctl.analysis.metrics.range_of`).
        baseline: the name of the model that NSL and differences are relative to.
        threads: the result does not depend on it.
    """
    found = _figures(measured, ranges, baseline, threads)
    reference = found[baseline]
    return {
        name: ModelIntervals(
            {metric: _interval(figures) for metric, figures in own.items()},
            {
                metric: _interval(_differences(figures, reference[metric]))
                for metric, figures in own.items()
                if name != baseline
            },
        )
        for name, own in found.items()
    }


#: The figures of each resample; or why there are none.
_Resampled = list[Figure] | Absent


def _figures(
    measured: Mapping[str, Sequence[Measurement]],
    ranges: Mapping[str, Range],
    baseline: str,
    threads: int,
) -> dict[str, dict[str, _Resampled]]:
    first = measured[baseline]
    if sum(text.counts.lines for text in first) < 2:
        return {name: dict.fromkeys((m.name for m in METRICS), _ONE_LINE) for name in measured}
    natives = [[text.native for text in texts] for texts in measured.values()]
    try:
        sums = _native.resample_lines(natives, RESAMPLES, SEED, threads)
    except _native.CoreError as error:
        raise TokctlError(
            f"there are no intervals: {error.args[0]}",
            "leave --intervals out, or give smaller counts",
        ) from None
    rule = first[0].counts.word_rule
    counts = {
        name: [Counts.of(row, {}, rule) for row in rows]
        for name, rows in zip(measured, sums, strict=True)
    }
    found: dict[str, dict[str, _Resampled]] = {}
    for name, own in counts.items():
        reach, both = ranges[name], list(zip(own, counts[baseline], strict=True))
        found[name] = {
            metric.name: [metric.figure(reach, *pair) for pair in both]
            if metric.adds_up
            else _NO_SUM
            for metric in METRICS
        }
    return found


def _differences(own: _Resampled, reference: _Resampled) -> _Resampled:
    if isinstance(own, Absent) or isinstance(reference, Absent):
        return own if isinstance(own, Absent) else reference
    return [_difference(one, other) for one, other in zip(own, reference, strict=True)]


def _difference(figure: Figure, reference: Figure) -> Figure:
    if isinstance(figure, Absent):
        return figure
    return reference if isinstance(reference, Absent) else figure - reference


def _interval(figures: _Resampled) -> Interval | Absent:
    if isinstance(figures, Absent):
        return figures
    known = sorted(figure for figure in figures if not isinstance(figure, Absent))
    if len(known) == len(figures):
        return Interval(known[LOW - 1], known[HIGH - 1])
    reason = next(figure.reason for figure in figures if isinstance(figure, Absent))
    if not known:
        return Absent(reason)
    missing = len(figures) - len(known)
    return Absent(f"in {missing:,} of {len(figures):,} resamples there is no figure: {reason}")
