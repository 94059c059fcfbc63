"""Charts of the results of `compare` and `inspect`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import altair as alt

from tokctl.analysis.comparison import Comparison
from tokctl.analysis.explain import Summary
from tokctl.analysis.explain.summary import ModelCurves, UseCurves
from tokctl.analysis.metrics import METRICS, Metric, MetricValue, Undefined
from tokctl.core.humanize import percent, plural
from tokctl.report.charts import COMPARE, INSPECT, marks
from tokctl.report.charts.drawing import Drawing, Theme, label, labels
from tokctl.report.charts.marks import BarMark, Point

#: Most texts that a chart shows one by one.
_MOST_TEXTS = 40


def compare_drawings(comparison: Comparison, uses: Mapping[str, UseCurves]) -> dict[str, Drawing]:
    """Return the charts of a comparison by name, the most useful first.

    Args:
        comparison: result of `compare`.
        uses: how often the texts use each model's tokens, by the model's name.
    """
    names = [model.name for model in comparison.models]
    found: list[Drawing | None] = [*_usage(uses)]
    points = [
        (point.model, point.vocab_size, tokens)
        for point in comparison.sweep
        if not isinstance(tokens := point.figures["tokens"], Undefined)
    ]
    if points:
        found.append(sweep(points))
    figures = [model.total.figures for model in comparison.models]
    found.append(relative(names, comparison.baseline, METRICS, figures))
    if len(comparison.texts) > 1:
        rows = [
            (text.name, [model.texts[n].figures["fertility"] for model in comparison.models])
            for n, text in enumerate(comparison.texts[:_MOST_TEXTS])
        ]
        about = "Tokens per word in each text: fewer (to the left) is cheaper."
        title = "Tokens per word, text by text"
        found.append(places("texts", title, about, "tokens per word", names, rows))
    if spoken := comparison.languages:
        axis = f"times the tokens of {label(spoken.reference)}"
        rows = [
            (entry.name, [one["parity"] for one in entry.figures]) for entry in spoken.languages
        ]
        about = "What the same text costs in each language: fewer (to the left) is cheaper."
        title = "What each language costs"
        found.append(places("languages", title, about, axis, names, rows))
    return _ordered(COMPARE, found)


def inspect_drawings(
    summary: Summary, curves: ModelCurves, use: UseCurves | None
) -> dict[str, Drawing]:
    """Return the charts of a model by name, the most useful first.

    Args:
        summary: facts about the model.
        curves: merges and scores of the model.
        use: how often the texts use its tokens; None without texts.
    """
    groups = {
        "by origin": summary.kinds,
        "by place in the word": summary.places,
        "by content": summary.contents,
    }
    found: list[Drawing | None] = [
        vocabulary_lengths(summary.unit, summary.lengths),
        kinds({name: counts for name, counts in groups.items() if counts}),
    ]
    scored = [(p.step, p.token, p.score) for p in curves.merges if p.score]
    counted = [(p.step, p.token, float(p.times)) for p in curves.merges if p.times]
    if scored or counted:
        found.append(merges(scored or counted, bool(scored)))
    if curves.scores:
        found.append(scores([(p.place, p.token, p.score) for p in curves.scores]))
    if summary.rounds:
        found.append(loss([(r.pieces, r.objective) for r in summary.rounds]))
    found += _usage({} if use is None else {"tokens": use})
    return _ordered(INSPECT, found)


def _usage(uses: Mapping[str, UseCurves]) -> list[Drawing]:
    if not any(use.frequencies for use in uses.values()):
        return []
    names = list(uses)
    return [
        lengths(names, [use.lengths for use in uses.values()]),
        frequencies(names, [use.frequencies for use in uses.values()]),
    ]


def _ordered(names: Mapping[str, str], found: list[Drawing | None]) -> dict[str, Drawing]:
    by_name = {drawing.name: drawing for drawing in found if drawing is not None}
    return {name: by_name[name] for name in names if name in by_name}


def _curves(
    models: Sequence[str], points: Sequence[Point], x: alt.X, y: alt.Y, *, dots: bool = True
) -> Callable[[int, Theme], Any]:
    """Return a function that draws one curve per model; `x` and `y` are the points' axes."""
    return lambda width, look: marks.lines(points, models, x, y, width=width, look=look, dots=dots)


def _logarithmic(title: str, values: Iterable[float], form: str = "~s") -> dict[str, Any]:
    """Return the options of a logarithmic axis over `values`."""
    scale = alt.Scale(type="log", nice=False)
    return {"title": title, "scale": scale, "axis": marks.decades(values, format=form)}


#: Share of the tokens whose lengths are shown one by one; longer tokens are grouped.
_SHOWN = 0.998
_FEWEST, _MOST = 10, 24


def lengths(models: Sequence[str], found: Sequence[Mapping[int, int]]) -> Drawing:
    """Return the chart of token lengths in a text.

    Args:
        models: names of the models.
        found: for each model, the number of tokens by length in characters.
    """
    names = labels(models)
    last = min(_MOST, max((_long_enough(counts) for counts in found), default=_FEWEST))
    shares = [_shares(counts, last) for counts in found]

    points = [
        Point(name, length, 100 * part, f"{name}: {percent(part, 2)} have {_said(length, last)}")
        for name, parts in zip(names, shares, strict=True)
        for length, part in enumerate(parts)
    ]
    x = alt.X(
        "x:Q",
        title=f"characters of the token ({last}: and more)",
        axis=alt.Axis(values=list(range(last + 1)), format="d", grid=False, labelOverlap=True),
        scale=alt.Scale(domain=[0, last], nice=False),
    )
    rows = tuple(
        (
            f"{length}{' and more' if length == last else ''}",
            *(percent(parts[length], 2) for parts in shares),
        )
        for length in range(last + 1)
    )
    return Drawing(
        "lengths",
        "How long the tokens of the text are",
        "Share of the tokens by length in characters; markers and a leading space are not "
        "counted. 0 is white space alone, or the rest of a character. A curve further to the "
        "right means longer tokens, and fewer of them.",
        ("characters", *names),
        rows,
        _curves(names, points, x, alt.Y("y:Q", title="% of all tokens")),
    )


def _long_enough(counts: Mapping[int, int]) -> int:
    """Return the length from which tokens are grouped: 99.8 % of them are shorter."""
    total, seen = sum(counts.values()), 0
    for length in sorted(counts):
        seen += counts[length]
        if seen >= _SHOWN * total:
            return max(_FEWEST, length + 1)
    return _FEWEST


def _shares(counts: Mapping[int, int], last: int) -> list[float]:
    total = sum(counts.values()) or 1
    exact = [counts.get(length, 0) / total for length in range(last)]
    return [*exact, sum(n for length, n in counts.items() if length >= last) / total]


def _said(length: int, last: int) -> str:
    return plural(length, "character") + (" or more" if length == last else "")


def frequencies(models: Sequence[str], found: Sequence[Sequence[tuple[int, int]]]) -> Drawing:
    """Return the chart of token frequency by rank.

    Args:
        models: names of the models.
        found: for each model, (rank, occurrences) pairs, the most frequent first.
    """
    names = labels(models)

    points = [
        Point(name, rank, count, f"{name}: the token of rank {rank:,} occurs {count:,} times")
        for name, curve in zip(names, found, strict=True)
        for rank, count in curve
    ]
    x = alt.X("x:Q", **_logarithmic("rank of the token", (float(p.x) for p in points)))
    y = alt.Y("y:Q", **_logarithmic("occurrences", (float(p.y) for p in points)))
    curves = [dict(curve) for curve in found]
    ranks = sorted({rank for curve in curves for rank in curve})
    rows = tuple(
        (f"{rank:,}", *(f"{curve[rank]:,}" if rank in curve else "" for curve in curves))
        for rank in ranks
    )
    return Drawing(
        "frequencies",
        "How often each token occurs",
        "Tokens by rank, the most frequent first, both axes logarithmic. Natural text gives "
        "nearly a straight line (Zipf's law); a steep end is vocabulary that the text hardly "
        "uses.",
        ("rank", *names),
        rows,
        _curves(names, points, x, y, dots=False),
    )


#: Ticks of an axis of differences, on both sides of 0.
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000)
#: Larger differences, in percent, are drawn at this value.
_FURTHEST = 10_000.0
#: Vega expression of a tick label: a sign before every number except 0.
_SIGNED = (
    "(datum.value > 0 ? '+' : datum.value < 0 ? '\u2212' : '') + format(abs(datum.value), ',')"
)


def better(metric: Metric, own: MetricValue, reference: MetricValue) -> float | None:
    """Return how much better `own` is than `reference`, in percent of the reference.

    A negative result means worse. The result is None if a figure is absent or the reference is 0.
    """
    if isinstance(own, Undefined) or isinstance(reference, Undefined) or not reference:
        return None
    change = 100 * (own - reference) / abs(reference)
    return change if metric.higher_is_better else -change


def relative(
    models: Sequence[str],
    baseline: str,
    metrics: Sequence[Metric],
    figures: Sequence[Mapping[str, MetricValue]],
) -> Drawing | None:
    """Return the chart of all metrics relative to the baseline; None if none can be compared.

    Args:
        models: names of the models.
        baseline: name of the model that the others are compared with.
        metrics: metrics, in the order of the rows.
        figures: for each model, its figures by metric name.
    """
    names = labels(models)
    place = list(models).index(baseline)
    found = [
        (name, metric, change)
        for metric in metrics
        for number, name in enumerate(names)
        if number != place
        and (change := better(metric, figures[number][metric.name], figures[place][metric.name]))
        is not None
    ]
    shown = [metric for metric in metrics if any(entry[1] is metric for entry in found)]
    if not shown:
        return None

    def draw(width: int, look: Theme) -> Any:
        points = [
            Point(
                name,
                max(-_FURTHEST, min(_FURTHEST, change)),
                metric.label,
                f"{name}, {metric.label}: {_better(change)} {names[place]}",
            )
            for name, metric, change in found
        ]
        most = max(5.0, *(abs(float(point.x)) for point in points)) * 1.05
        ticks = [tick for tick in _TICKS if tick <= most]
        x = alt.X(
            "x:Q",
            title="← worse · % to the baseline · better →",
            scale=alt.Scale(type="symlog", constant=2, domain=[-most, most], nice=False),
            axis=alt.Axis(
                values=[*(-tick for tick in ticks), 0, *ticks],
                labelExpr=_SIGNED,
                labelOverlap=True,
            ),
        )
        order = [metric.label for metric in shown]
        return marks.rows(points, names, x, order, width=width, look=look, rule=0)

    rows = tuple(
        (
            metric.label,
            *(
                next((f"{c:+.1f}%" for n, m, c in found if (n, m) == (name, metric)), "")
                for number, name in enumerate(names)
                if number != place
            ),
        )
        for metric in shown
    )
    return Drawing(
        "relative",
        f"Metrics relative to {names[place]}",
        "How much better (to the right) or worse each model is than the baseline, in percent "
        "of the baseline's figure.",
        ("metric", *(name for number, name in enumerate(names) if number != place)),
        rows,
        draw,
    )


def _better(change: float) -> str:
    if not change:
        return "the same as"
    return f"{abs(change):.1f}% {'better' if change > 0 else 'worse'} than"


def places(
    name: str,
    title: str,
    about: str,
    axis: str,
    models: Sequence[str],
    found: Sequence[tuple[str, Sequence[MetricValue]]],
) -> Drawing | None:
    """Return a chart with one row per text or language, and one figure per model in it.

    Args:
        name: name for `--chart`; without its final "s" it heads the first column of the table.
        title: title of the chart.
        about: description of the chart.
        axis: title of the axis of figures.
        models: names of the models.
        found: for each row, the name of the text or language, and the figures of the models.

    Returns:
        The chart; None if all figures are absent.
    """
    names = labels(models)
    order = labels([text for text, _ in found])
    cells = [figures for _, figures in found]
    if not any(not isinstance(figure, Undefined) for figures in cells for figure in figures):
        return None

    def draw(width: int, look: Theme) -> Any:
        points = [
            Point(model, figure, text, f"{text}, {model}: {figure:.3f} {axis}")
            for text, figures in zip(order, cells, strict=True)
            for model, figure in zip(names, figures, strict=True)
            if not isinstance(figure, Undefined)
        ]
        x = alt.X(
            "x:Q",
            title=axis,
            scale=alt.Scale(zero=False, nice=True, padding=10),
            axis=alt.Axis(tickCount=max(3, width // 90)),
        )
        return marks.rows(points, names, x, order, width=width, look=look)

    rows = tuple(
        (text, *("n/a" if isinstance(f, Undefined) else f"{f:.3f}" for f in figures))
        for text, figures in zip(order, cells, strict=True)
    )
    return Drawing(name, title, about, (name.removesuffix("s"), *names), rows, draw)


def sweep(found: Sequence[tuple[str, int, float]]) -> Drawing:
    """Return the chart of tokens by vocabulary size, from (model, size, tokens of the text)."""
    models = list(dict.fromkeys(model for model, _, _ in found))
    names = dict(zip(models, labels(models), strict=True))

    points = [
        Point(names[m], size, tokens, f"{names[m]}: {size:,} ids, {tokens:,.0f} tokens")
        for m, size, tokens in found
    ]
    x = alt.X(
        "x:Q",
        title="vocabulary size",
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(
            values=sorted({size for _, size, _ in found}), format="~s", labelOverlap=True
        ),
    )
    y = alt.Y(
        "y:Q",
        title="tokens",
        scale=alt.Scale(zero=False),
        axis=marks.counts(tokens for _, _, tokens in found),
    )
    rows = tuple((names[m], f"{size:,}", f"{tokens:,.0f}") for m, size, tokens in found)
    return Drawing(
        "sweep",
        "Tokens against vocabulary size",
        "How many tokens the texts take with a vocabulary of each size: where a curve flattens, "
        "more ids save little.",
        ("model", "vocabulary size", "tokens"),
        rows,
        _curves(list(names.values()), points, x, y),
    )


#: Greatest length with a bar of its own.
_EACH = 20


def vocabulary_lengths(unit: str, lengths: Mapping[int, int]) -> Drawing:
    """Return the chart of the vocabulary by token length.

    Args:
        unit: unit of the lengths, such as "bytes".
        lengths: number of tokens by length.
    """
    found: dict[str, int] = {}
    for length, count in lengths.items():
        name = str(length)
        if length > _EACH:
            # Longer tokens are grouped by powers of two, so that all bars fit.
            least = max(_EACH, 1 << (length - 1).bit_length() - 1)
            name = f"{least + 1:,}\N{EN DASH}{1 << (length - 1).bit_length():,}"
        found[name] = found.get(name, 0) + count

    bars = [
        BarMark(name, count, f"{count:,} tokens of {name} {unit}") for name, count in found.items()
    ]
    return Drawing(
        "vocabulary",
        "The vocabulary by length",
        f"How many tokens there are of each length in {unit}, markers left out.",
        (f"length in {unit}", "tokens"),
        tuple((name, f"{count:,}") for name, count in found.items()),
        lambda width, look: marks.columns(
            bars, f"length in {unit}", "tokens", width=width, look=look
        ),
    )


def kinds(groups: Mapping[str, Mapping[str, int]]) -> Drawing:
    """Return the chart of tokens by kind, from the count of each kind in each group."""
    found = [
        BarMark(label(name), count, f"{label(name)}: {count:,} tokens", group)
        for group, counts in groups.items()
        for name, count in counts.items()
    ]

    return Drawing(
        "kinds",
        "What the vocabulary consists of",
        "Tokens by origin, by position in a word, and by kind of character.",
        ("by", "kind", "tokens"),
        tuple((bar.group, bar.label, f"{bar.number:,}") for bar in found),
        # Leave room for the names beside the bars.
        lambda width, look: marks.bars(found, width=max(160, width - 120), look=look),
    )


def merges(curve: Sequence[tuple[int, str, float]], scores: bool) -> Drawing:
    """Return the chart of each merge's count or score, from (step, token, count or score)."""
    what = "score of the pair" if scores else "occurrences of the pair"

    points = [
        Point("", step, value, f"step {step:,} makes {label(token)}: {_number(value, scores)}")
        for step, token, value in curve
    ]
    x = alt.X("x:Q", **_logarithmic("step of the training", (step for step, _, _ in curve)))
    values = (value for _, _, value in curve)
    y = alt.Y("y:Q", **_logarithmic(what, values, ".0e" if scores else "~s"))
    return Drawing(
        "merges",
        f"The {'score' if scores else 'count'} of each merge",
        f"The {what} at the step that merged it, both axes logarithmic"
        + ("." if scores else "; what is merged late is rare."),
        ("step", "token", what),
        tuple((f"{step:,}", label(token), _number(value, scores)) for step, token, value in curve),
        _curves([""], points, x, y, dots=False),
    )


def _number(value: float, is_score: bool) -> str:
    return f"{value:.4g}" if is_score else f"{value:,.0f}"


def scores(curve: Sequence[tuple[int, str, float]]) -> Drawing:
    """Return the chart of Unigram scores, from (rank by score, piece, log probability)."""
    points = [
        Point("", place, score, f"place {place:,}, {label(token)}: {score:.4f}")
        for place, token, score in curve
    ]
    x = alt.X("x:Q", **_logarithmic("place by score", (place for place, _, _ in curve)))
    y = alt.Y("y:Q", title="log probability", scale=alt.Scale(zero=False))
    return Drawing(
        "scores",
        "The scores of the pieces",
        "The natural log probability of the pieces, the highest first; places are logarithmic.",
        ("place", "piece", "log probability"),
        tuple((f"{place:,}", label(token), f"{score:.4f}") for place, token, score in curve),
        _curves([""], points, x, y, dots=False),
    )


def loss(rounds: Sequence[tuple[int, float]]) -> Drawing:
    """Return the chart of Unigram loss, from (pieces, mean negative log-likelihood) per round."""
    numbered = list(enumerate(rounds, 1))

    points = [
        Point("", number, objective, f"round {number}: {pieces:,} pieces, {objective:.4f} nats")
        for number, (pieces, objective) in numbered
    ]
    x = alt.X(
        "x:Q",
        title="round of the training",
        axis=alt.Axis(values=[n for n, _ in numbered], format="d", labelOverlap=True),
        scale=alt.Scale(zero=False, nice=False, padding=8),
    )
    y = alt.Y("y:Q", title="nats per pre-token", scale=alt.Scale(zero=False))
    return Drawing(
        "loss",
        "The loss after each round",
        "The mean negative log-likelihood of a pre-token, in nats: it rises as pieces are "
        "dropped, and little where few are missed.",
        ("round", "pieces", "nats per pre-token"),
        tuple((str(n), f"{pieces:,}", f"{objective:.4f}") for n, (pieces, objective) in numbered),
        _curves([""], points, x, y),
    )
