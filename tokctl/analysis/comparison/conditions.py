"""Conditions on metrics, as a script states them: `nsl > 1.02`."""

from __future__ import annotations

import difflib
import operator
import re
from dataclasses import dataclass

from tokctl.analysis.comparison.results import Comparison
from tokctl.analysis.metrics import Absent, Figure, metric_names
from tokctl.errors import TokctlError

#: What a condition may use beside the metrics, where languages are named: the Gini coefficient,
#: and the highest parity of all languages.
OF_LANGUAGES = ("gini", "parity")
_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_FORM = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*", re.ASCII)


@dataclass(frozen=True)
class Condition:
    """What a model's figure over all texts is held against."""

    metric: str
    operator: str
    number: str

    def __str__(self) -> str:
        return f"{self.metric} {self.operator} {self.number}"

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Reads METRIC OP NUMBER; TokctlError where the text is anything else."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise TokctlError(
                f"{text!r} is no condition",
                "write METRIC OP NUMBER with an OP of < <= > >=, for instance: 'nsl > 1.02'",
            )
        condition = cls(*match.groups())
        names = [*metric_names(), *OF_LANGUAGES]
        if condition.metric not in names:
            close = difflib.get_close_matches(condition.metric, names, n=1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise TokctlError(
                f"no metric is called {condition.metric!r}",
                f"{hint}the metrics are: {', '.join(names)}",
            )
        return condition

    def holds(self, figure: float) -> bool:
        return bool(_OPERATORS[self.operator](figure, float(self.number)))

    def written(self, figure: float) -> str:
        """The figure, in as many digits as it takes to see that the condition holds."""
        short = f"{figure:.6g}"
        return short if self.holds(float(short)) and figure < 1e6 else repr(figure)


def check(
    conditions: list[Condition], comparison: Comparison, exempt: str | None = None
) -> tuple[list[str], list[str]]:
    """Which conditions hold, and which can't be checked: a phrase for each model.

    Args:
        exempt: the name of a model that is not checked.
    """
    holding, unchecked = [], []
    for condition in conditions:
        for place, model in enumerate(comparison.models):
            figure = _figure(comparison, place, condition.metric)
            if model.name == exempt:
                continue
            if isinstance(figure, Absent):
                unchecked.append(f"{condition} for {model.name}: it is n/a: {figure.reason}")
            elif condition.holds(figure):
                holding.append(f"{condition} for {model.name}: it is {condition.written(figure)}")
    return holding, unchecked


def _figure(comparison: Comparison, place: int, metric: str) -> Figure:
    """What a condition on the model at `place` is held against."""
    if metric not in OF_LANGUAGES:
        return comparison.models[place].total.figures[metric]
    found = comparison.languages
    if found is None:
        return Absent("no languages are named")
    if metric == "gini":
        return found.gini[place]
    parities = [language.figures[place]["parity"] for language in found.languages]
    known = [figure for figure in parities if not isinstance(figure, Absent)]
    return max(known) if known else parities[0]
