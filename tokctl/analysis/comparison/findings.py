"""Conclusions from a comparison: sentences, and conditions that hold or fail."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tokctl.analysis.comparison.results import Comparison, SweepPoint
from tokctl.analysis.comparison.samples import is_one_token
from tokctl.analysis.metrics import MetricValue, Undefined, metric_names
from tokctl.core.errors import BadOption
from tokctl.core.humanize import listed, percent, times
from tokctl.tokenizer import Tokenizer


def findings_of(comparison: Comparison, models: Mapping[str, Tokenizer]) -> tuple[str, ...]:
    """Return sentences: which model keeps words whole, needs more tokens or loses text, and why."""
    found = [*_whole_words(comparison), *_tokens(comparison), *_criteria(comparison, models)]
    for name in models:
        found += _likelihood(comparison, name, models)
    return (*found, *_lost(comparison), *_unknown(comparison), *_dearest(comparison))


def _whole_words(comparison: Comparison) -> list[str]:
    """Return a sentence on whole words for each size of a sweep, or one for the models."""
    sizes = sorted({point.asked for point in comparison.sweep})
    found = []
    for size in sizes:
        points = [point for point in comparison.sweep if point.asked == size]
        ranked = _ranked({point.model: point.figures["strr"] for point in points})
        if ranked:
            short = {point.model: point for point in points if point.exhausted}
            kept = ", ".join(f"{name} {share}{_only(short.get(name))}" for name, share in ranked)
            found.append(f"Words kept whole at {size:,} ids: {kept}.")
    ranked = _ranked({model.name: model.total.figures["strr"] for model in comparison.models})
    if not sizes and len(ranked) > 1:
        found.append(f"Words kept whole: {_list(ranked)}.")
    return found


def _only(point: SweepPoint | None) -> str:
    """Return a note on the model's size if the training ended early."""
    return "" if point is None else f" (with {point.vocab_size:,}: the text gave no more)"


def _ranked(figures: Mapping[str, MetricValue]) -> list[tuple[str, str]]:
    """Return names and percentages in descending order; ties keep their order."""
    numbers = {name: f for name, f in figures.items() if not isinstance(f, Undefined)}
    names = sorted(numbers, key=lambda name: -numbers[name])
    return [(name, percent(numbers[name])) for name in names]


def _list(entries: Sequence[tuple[str, str]]) -> str:
    """Return names and values as a list in a sentence."""
    return ", ".join(f"{name} {value}" for name, value in entries)


def _tokens(comparison: Comparison) -> list[str]:
    """Return a sentence on how many more or fewer tokens than the baseline the models need."""
    phrases = []
    for model in comparison.models:
        figure = model.total.figures["nsl"]
        if model.name == comparison.baseline or isinstance(figure, Undefined):
            continue
        if figure == 1:
            phrases.append(f"{model.name} as many")
        else:
            more = "more" if figure > 1 else "fewer"
            phrases.append(f"{model.name} {percent(abs(figure - 1))} {more}")
    if not phrases:
        return []
    return [f"Tokens for the same text, against {comparison.baseline}: {', '.join(phrases)}."]


def _criteria(comparison: Comparison, models: Mapping[str, Tokenizer]) -> list[str]:
    """Return sentences on pairs of WordPiece models that differ only in their merge criterion."""
    by_score: dict[tuple[str, str], str] = {}
    for name, model in models.items():
        if model.merges and model.recipe.marker.is_continuation:
            by_score.setdefault((model.recipe.algorithm, model.recipe.score), name)
    tokens = {model.name: model.total.counts.tokens for model in comparison.models}
    found = []
    for (algorithm, score), name in by_score.items():
        other = by_score.get((algorithm, "count"))
        if score != "likelihood" or other is None or not tokens[other]:
            continue
        share = tokens[name] / tokens[other] - 1
        found.append(
            f"{name} and {other} differ in their criterion alone: by likelihood, which prefers "
            f"pairs of rare symbols, the text takes {percent(abs(share))} "
            f"{'more' if share > 0 else 'fewer'} tokens than by count, the criterion of BERT's "
            "vocabularies."
        )
    return found


#: A word is frequent if at least one of 1,000 words is this word.
_FREQUENT = 1000


def _likelihood(comparison: Comparison, name: str, models: Mapping[str, Tokenizer]) -> list[str]:
    """Return a sentence on why a WordPiece model splits frequent words.

    The example is the word with the highest weight that another model keeps whole.
    """
    model = models[name]
    if model.recipe.score != "likelihood" or not model.merges:
        return []
    for word in comparison.disagreements:
        cuts = {cut.model: cut for cut in word.segmentations}
        pieces = cuts[name].shown
        whole = [other for other, cut in cuts.items() if is_one_token(models[other], cut)]
        # No merge could have joined parts that the pre-tokenizer separates.
        together = len(set(model.encode(f" {word.word}").word_ids)) == 1
        frequent = word.count > 1 and word.count * _FREQUENT >= comparison.total.words
        if len(pieces) > 1 and whole and together and frequent:
            return [
                f"{name} splits even frequent words: {word.word}, {times(word.count)}, is "
                f"{' '.join(pieces)}, and one token in {listed(whole)}. It merges the pair with "
                "the highest count(ab) / (count(a) × count(b)): symbols that are everywhere "  # noqa: RUF001
                "make that small, so that they merge last."
            ]
    return []


def _lost(comparison: Comparison) -> list[str]:
    """Return a sentence on lines that are not decoded to the original."""
    lossy = {
        model.name: figure
        for model in comparison.models
        if not isinstance(figure := model.total.figures["round_trip"], Undefined) and figure < 1
    }
    if not lossy:
        return []
    exact = [model.name for model in comparison.models if model.name not in lossy]
    rest = f"; {listed(exact)}: all" if exact else ""
    return [f"Lines that come back exactly as they were: {_list(_ranked(lossy))}{rest}."]


def _unknown(comparison: Comparison) -> list[str]:
    """Return a sentence on unknown tokens."""
    unknown = {
        model.name: figure
        for model in comparison.models
        if not isinstance(figure := model.total.figures["unk_rate"], Undefined) and figure
    }
    return [f"Tokens that are unknown: {_list(_ranked(unknown))}."] if unknown else []


def _dearest(comparison: Comparison) -> list[str]:
    """Return a sentence on the most expensive language of each model."""
    languages = comparison.languages
    if languages is None or len(languages.languages) < 2:
        return []
    phrases = []
    for place, model in enumerate(comparison.models):
        parities = {
            language.name: figure
            for language in languages.languages
            if not isinstance(figure := language.figures[place]["parity"], Undefined)
        }
        if parities:
            name = max(parities, key=lambda name: parities[name])
            phrases.append(f"{name} in {model.name} ({parities[name]:.2f} times)")
    if not phrases:
        return []
    return [f"Dearest language, against {languages.reference}: {', '.join(phrases)}."]


# -- Conditions on metrics, as scripts write them: `nsl > 1.02` ----------------------------------

#: Names that conditions may use in addition to the metrics, if languages are named: the Gini
#: coefficient, and the highest parity of all languages.
OF_LANGUAGES = ("gini", "parity")
_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_FORM = re.compile(r"\s*(\w+)\s*(<=|>=|<|>)\s*(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*", re.ASCII)


@dataclass(frozen=True)
class Condition:
    """A condition on a model's metric over all texts, such as `nsl > 1.02`."""

    metric: str
    operator: str
    number: str

    def __str__(self) -> str:
        return f"{self.metric} {self.operator} {self.number}"

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse METRIC OP NUMBER, or raise TokctlError."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise BadOption(
                f"{text!r} is not a condition",
                "write METRIC OP NUMBER, where OP is one of < <= > >=, for example 'nsl > 1.02'",
                "bad-value",
            )
        condition = cls(*match.groups())
        names = [*metric_names(), *OF_LANGUAGES]
        if condition.metric not in names:
            close = difflib.get_close_matches(condition.metric, names, n=1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise BadOption(
                f"no metric is called {condition.metric!r}",
                f"{hint}choose one of: {', '.join(names)}",
                "unknown-name",
            )
        return condition

    def holds(self, figure: float) -> bool:
        """Return whether the condition is true for this value."""
        return bool(_OPERATORS[self.operator](figure, float(self.number)))

    def written(self, figure: float) -> str:
        """Return the value as text, with enough digits to show that the condition holds."""
        short = f"{figure:.6g}"
        return short if self.holds(float(short)) and figure < 1e6 else repr(figure)


def check(
    conditions: list[Condition], comparison: Comparison, exempt: str | None = None
) -> tuple[list[str], list[str]]:
    """Check conditions on all models of a comparison.

    Args:
        conditions: Conditions to check.
        comparison: Result of `compare`.
        exempt: Name of a model that is not checked.

    Returns:
        A phrase for each condition and model for which it holds, and one for each that can't be
        checked.
    """
    holding, unchecked = [], []
    for condition in conditions:
        for place, model in enumerate(comparison.models):
            figure = _figure(comparison, place, condition.metric)
            if model.name == exempt:
                continue
            if isinstance(figure, Undefined):
                unchecked.append(f"{condition} for {model.name}: it is n/a: {figure.reason}")
            elif condition.holds(figure):
                holding.append(f"{condition} for {model.name}: it is {condition.written(figure)}")
    return holding, unchecked


def _figure(comparison: Comparison, place: int, metric: str) -> MetricValue:
    """Return the value of a condition's metric for the model at index `place`."""
    if metric not in OF_LANGUAGES:
        return comparison.models[place].total.figures[metric]
    found = comparison.languages
    if found is None:
        return Undefined("no languages are named")
    if metric == "gini":
        return found.gini[place]
    parities = [language.figures[place]["parity"] for language in found.languages]
    known = [figure for figure in parities if not isinstance(figure, Undefined)]
    return max(known) if known else parities[0]
