"""The charts that a result has."""

from __future__ import annotations

from collections.abc import Mapping

from tokctl.analysis.comparison import Comparison
from tokctl.analysis.explain import Summary
from tokctl.analysis.explain.summary import ModelCurves, UseCurves
from tokctl.analysis.metrics import METRICS, Absent
from tokctl.render.charts import COMPARE, INSPECT, balance, usage, vocabulary
from tokctl.render.charts.drawing import Drawing, label

#: Texts that a chart shows one by one: the first ones.
_MOST_TEXTS = 40


def compare_drawings(comparison: Comparison, uses: Mapping[str, UseCurves]) -> dict[str, Drawing]:
    """The charts of a comparison by name, the most useful first.

    Args:
        uses: how the texts use each model's tokens, by the model's name.
    """
    names = [model.name for model in comparison.models]
    found: list[Drawing | None] = [*_usage(uses)]
    points = [
        (point.model, point.vocab_size, tokens)
        for point in comparison.sweep
        if not isinstance(tokens := point.figures["tokens"], Absent)
    ]
    if points:
        found.append(balance.sweep(points))
    figures = [model.total.figures for model in comparison.models]
    found.append(balance.relative(names, comparison.baseline, METRICS, figures))
    if len(comparison.texts) > 1:
        rows = [
            (text.name, [model.texts[n].figures["fertility"] for model in comparison.models])
            for n, text in enumerate(comparison.texts[:_MOST_TEXTS])
        ]
        about = "Tokens per word in each text: fewer (to the left) is cheaper."
        title = "Tokens per word, text by text"
        found.append(balance.places("texts", title, about, "tokens per word", names, rows))
    if spoken := comparison.languages:
        axis = f"times the tokens of {label(spoken.reference)}"
        rows = [
            (entry.name, [one["parity"] for one in entry.figures]) for entry in spoken.languages
        ]
        about = "What the same text costs in each language: fewer (to the left) is cheaper."
        title = "What each language costs"
        found.append(balance.places("languages", title, about, axis, names, rows))
    return _ordered(COMPARE, found)


def inspect_drawings(
    summary: Summary, curves: ModelCurves, use: UseCurves | None
) -> dict[str, Drawing]:
    """The charts of a model by name; `use` is how texts use its tokens, where there are any."""
    groups = {
        "by origin": summary.kinds,
        "by place in the word": summary.places,
        "by content": summary.contents,
    }
    found: list[Drawing | None] = [
        vocabulary.vocabulary_lengths(summary.unit, summary.lengths),
        vocabulary.kinds({name: counts for name, counts in groups.items() if counts}),
    ]
    scored = [(p.step, p.token, p.score) for p in curves.merges if p.score]
    counted = [(p.step, p.token, float(p.times)) for p in curves.merges if p.times]
    if scored or counted:
        found.append(vocabulary.merges(scored or counted, bool(scored)))
    if curves.scores:
        found.append(vocabulary.scores([(p.place, p.token, p.score) for p in curves.scores]))
    if summary.rounds:
        found.append(vocabulary.loss([(r.pieces, r.objective) for r in summary.rounds]))
    found += _usage({} if use is None else {"tokens": use})
    return _ordered(INSPECT, found)


def _usage(uses: Mapping[str, UseCurves]) -> list[Drawing]:
    if not any(use.frequencies for use in uses.values()):
        return []
    names = list(uses)
    return [
        usage.lengths(names, [use.lengths for use in uses.values()]),
        usage.frequencies(names, [use.frequencies for use in uses.values()]),
    ]


def _ordered(names: Mapping[str, str], found: list[Drawing | None]) -> dict[str, Drawing]:
    by_name = {drawing.name: drawing for drawing in found if drawing is not None}
    return {name: by_name[name] for name in names if name in by_name}
