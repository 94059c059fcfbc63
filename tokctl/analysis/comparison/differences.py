"""What a model does better or worse than the baseline."""

from __future__ import annotations

from dataclasses import dataclass

from tokctl.analysis.metrics import Absent, Figure, Metric


@dataclass(frozen=True)
class Difference:
    """One figure against the baseline's.

    Attributes:
        amount: of counts and ratios the figure over the baseline's, less 1; of shares the
            figure less the baseline's.
        relative: which of the two it is.
        better: whether that is better; None where both are equal.
    """

    amount: float
    relative: bool
    better: bool | None


def difference(metric: Metric, figure: Figure, baseline: Figure) -> Difference | Absent:
    """Absent where one of the two figures is, and where the baseline's is 0."""
    for one in (figure, baseline):
        if isinstance(one, Absent):
            return one
    assert not isinstance(figure, Absent) and not isinstance(baseline, Absent)
    better = None if figure == baseline else (figure > baseline) == metric.higher_is_better
    if metric.kind == "share":
        return Difference(figure - baseline, False, better)
    if not baseline:
        return Absent("the baseline's is 0")
    return Difference(figure / baseline - 1, True, better)
