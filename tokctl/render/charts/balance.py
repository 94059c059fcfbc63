"""Charts of a comparison: metrics relative to the baseline, texts, languages, the sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from tokctl.analysis.metrics import Absent, Figure, Metric
from tokctl.render.charts import marks
from tokctl.render.charts.drawing import Drawing, labels
from tokctl.render.charts.look import Look
from tokctl.render.charts.marks import Point

#: Where an axis of differences has ticks, on both sides of 0.
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000)
#: Differences beyond it say nothing more.
_FURTHEST = 10_000.0
#: In Vega's language: a sign before all numbers but 0.
_SIGNED = (
    "(datum.value > 0 ? '+' : datum.value < 0 ? '\u2212' : '') + format(abs(datum.value), ',')"
)


def better(metric: Metric, own: Figure, reference: Figure) -> float | None:
    """How much better than the reference a figure is, in percent of the reference; below 0 it
    is worse. None where one of them is absent or the reference is 0."""
    if isinstance(own, Absent) or isinstance(reference, Absent) or not reference:
        return None
    change = 100 * (own - reference) / abs(reference)
    return change if metric.higher_is_better else -change


def relative(
    models: Sequence[str],
    baseline: str,
    metrics: Sequence[Metric],
    figures: Sequence[Mapping[str, Figure]],
) -> Drawing | None:
    """Every metric of every model relative to the baseline's; None where nothing can be."""
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

    def draw(width: int, look: Look) -> Any:
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
    found: Sequence[tuple[str, Sequence[Figure]]],
) -> Drawing | None:
    """One figure per text or language and model: `found` has the name of each text, and the
    figures of the models. None where there is none."""
    names = labels(models)
    order = labels([text for text, _ in found])
    cells = [figures for _, figures in found]
    if not any(not isinstance(figure, Absent) for figures in cells for figure in figures):
        return None

    def draw(width: int, look: Look) -> Any:
        points = [
            Point(model, figure, text, f"{text}, {model}: {figure:.3f} {axis}")
            for text, figures in zip(order, cells, strict=True)
            for model, figure in zip(names, figures, strict=True)
            if not isinstance(figure, Absent)
        ]
        x = alt.X(
            "x:Q",
            title=axis,
            scale=alt.Scale(zero=False, nice=True, padding=10),
            axis=alt.Axis(tickCount=max(3, width // 90)),
        )
        return marks.rows(points, names, x, order, width=width, look=look)

    rows = tuple(
        (text, *("n/a" if isinstance(f, Absent) else f"{f:.3f}" for f in figures))
        for text, figures in zip(order, cells, strict=True)
    )
    return Drawing(name, title, about, ("", *names), rows, draw)


def sweep(found: Sequence[tuple[str, int, float]]) -> Drawing:
    """What a vocabulary size gives: (model, size, tokens of the text)."""
    models = list(dict.fromkeys(model for model, _, _ in found))
    names = dict(zip(models, labels(models), strict=True))

    def draw(width: int, look: Look) -> Any:
        points = [
            Point(names[m], size, tokens, f"{names[m]}: {size:,} ids, {tokens:,.0f} tokens")
            for m, size, tokens in found
        ]
        sizes = sorted({size for _, size, _ in found})
        x = alt.X(
            "x:Q",
            title="vocabulary size",
            scale=alt.Scale(type="log", nice=False, padding=8),
            axis=alt.Axis(values=sizes, format="~s", labelOverlap=True),
        )
        y = alt.Y(
            "y:Q",
            title="tokens",
            scale=alt.Scale(zero=False),
            axis=marks.counts(tokens for _, _, tokens in found),
        )
        return marks.lines(points, list(names.values()), x, y, width=width, look=look)

    rows = tuple((names[m], f"{size:,}", f"{tokens:,.0f}") for m, size, tokens in found)
    return Drawing(
        "sweep",
        "Tokens against vocabulary size",
        "How many tokens the texts take with a vocabulary of each size: where a curve flattens, "
        "more ids save little.",
        ("model", "vocabulary size", "tokens"),
        rows,
        draw,
    )
