"""The three kinds of charts: lines with points, dots in rows, bars.

Colour is never the only difference: each model also has its own shape and dash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice
from math import ceil, floor, log10
from typing import Any, NamedTuple

import altair as alt

from tokctl.report.charts.drawing import DASHES, SHAPES, Theme

#: Widest legend entry (symbol and model name), in pixels; gap between two entries, which also
#: leaves room for a reader's wider font.
_LEGEND, _SPARE = 230, 30
_ROW = 24
#: Height of a row for each model in it, in pixels.
_BESIDE = 10


class Point(NamedTuple):
    """Mark of one model in a chart: its position and its tooltip."""

    model: str
    x: float | str
    y: float | str
    tip: str


class BarMark(NamedTuple):
    """Bar of a chart; bars of a group are drawn together under the group's name."""

    label: str
    number: float
    tip: str
    group: str = ""


def lines(
    points: Sequence[Point],
    models: Sequence[str],
    x: alt.X,
    y: alt.Y,
    *,
    width: int,
    look: Theme,
    dots: bool = True,
) -> Any:
    """Return a chart with one curve per model; `x` and `y` are the axes of the points' fields."""
    base = _chart(points, width, round(min(320, max(220, width * 0.45))))
    curve = base.mark_line(aria=False, strokeWidth=2, strokeJoin="round").encode(
        x=x,
        y=y,
        color=_color(models, look, _legend(points, models, width)),
        strokeDash=alt.StrokeDash(
            "model:N", scale=_scale(models, cycle(DASHES)), sort=list(models), legend=None
        ),
    )
    legend = _legend(points, models, width)
    marks = _points(base, models, look, legend, size=46 if dots else 18).encode(x=x, y=y)
    return configured(curve + marks, look)


def rows(
    points: Sequence[Point],
    models: Sequence[str],
    x: alt.X,
    labels: Sequence[str],
    *,
    width: int,
    look: Theme,
    rule: float | None = None,
) -> Any:
    """Return a chart with a row per label and a mark per model in it.

    Args:
        points: marks; the field `y` of each is the label of its row.
        models: names of the models; the order sets their colours and shapes.
        x: axis of the field `x`.
        labels: labels of the rows, from top to bottom.
        width: width of the chart in pixels.
        look: colours.
        rule: where a line crosses all rows; None draws no line.
    """
    row = max(_ROW, _BESIDE * len(models))
    base = _chart(points, width, row * len(labels))
    y = alt.Y(
        "y:N",
        sort=list(labels),
        title=None,
        scale=alt.Scale(domain=list(labels)),
        axis=alt.Axis(
            grid=True, bandPosition=0, domain=False, ticks=False, **_labels(round(width * 0.42))
        ),
    )
    legend = _legend(points, models, width)
    # Models have separate lines within a row, so that equal figures don't hide each other.
    shown = {point.model for point in points}
    order = [model for model in models if model in shown]
    apart = alt.YOffset("model:N", sort=order, scale=alt.Scale(domain=order))
    marks = _points(base, models, look, legend, size=70).encode(x=x, y=y, yOffset=apart)
    if rule is not None:
        line = _over([{"x": rule}]).mark_rule(aria=False, color=look.quiet, strokeWidth=1.5)
        marks = line.encode(x=alt.X("x:Q")) + marks
    return configured(marks, look)


def bars(found: Sequence[BarMark], *, width: int, look: Theme, labels: str | None = None) -> Any:
    """Return horizontal bars, group by group, with their numbers after them.

    `labels` is the title of the axis with the names of the bars.
    """
    values = [
        {"y": bar.label, "x": bar.number, "tip": bar.tip, "group": bar.group, "at": place}
        for place, bar in enumerate(found)
    ]
    base = _over(values)
    y = alt.Y(
        "y:N",
        sort=alt.EncodingSortField(field="at", op="min", order="ascending"),
        title=labels,
        axis=alt.Axis(domain=False, ticks=False, **_labels(round(width * 0.42))),
    )
    # Leave room for the number after the longest bar.
    most = max((bar.number for bar in found), default=1) * 1.12
    # No axis: the numbers stand beside the bars.
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, most], nice=False), axis=None)
    drawn = base.mark_bar(color=look.series[0]).encode(x=x, y=y, description="tip:N")
    numbers = base.mark_text(aria=False, align="left", dx=5, color=look.quiet).encode(
        x=x, y=y, text=alt.Text("x:Q", format=",")
    )
    chart: Any = (drawn + numbers).properties(width=width, height=alt.Step(_ROW - 4))
    grouped = any(bar.group for bar in found)
    if grouped:
        groups = list(dict.fromkeys(bar.group for bar in found))
        header = alt.Header(
            labelOrient="top", labelAnchor="start", labelFontWeight="bold", labelPadding=4
        )
        chart = chart.facet(
            row=alt.Row("group:N", sort=groups, title=None, header=header), spacing=16
        ).resolve_scale(y="independent")
    return configured(chart, look, grouped)


def columns(
    found: Sequence[BarMark], x_title: str, y_title: str, *, width: int, look: Theme
) -> Any:
    """Return upright bars in the given order, for counts by length."""
    values = [{"x": bar.label, "y": bar.number, "tip": bar.tip} for bar in found]
    x = alt.X(
        "x:N",
        sort=[bar.label for bar in found],
        title=x_title,
        axis=alt.Axis(labelAngle=0, labelOverlap=True, labelSeparation=8, ticks=False),
    )
    chart = (
        _over(values)
        .mark_bar(color=look.series[0])
        .encode(
            x=x,
            y=alt.Y("y:Q", title=y_title, axis=counts(bar.number for bar in found)),
            description="tip:N",
        )
        .properties(width=width, height=round(min(280, max(200, width * 0.4))))
    )
    return configured(chart, look)


def _chart(points: Sequence[Point], width: int, height: int) -> Any:
    values = [point._asdict() for point in points]
    return _over(values).properties(width=width, height=height)


def counts(values: Iterable[float]) -> alt.Axis:
    """Return an axis of counts; from 100,000 on it has prefixes, such as `200k`."""
    form = "~s" if max(values, default=0) >= 100_000 else ",d"
    return alt.Axis(format=form, tickMinStep=1)


def _over(values: Sequence[Mapping[str, Any]]) -> Any:
    return alt.Chart(alt.Data(values=list(values)))  # type: ignore[no-untyped-call]


def decades(values: Iterable[float], **axis: Any) -> alt.Axis:
    """Return the axis of a logarithmic scale over `values`, with a tick at each power of ten.

    An axis that would have fewer than two such ticks gets about four ordinary ones.
    """
    found = [value for value in values if value > 0]
    low, high = (min(found), max(found)) if found else (1, 1)
    ticks = [10.0**n for n in range(floor(log10(low)), ceil(log10(high)) + 1)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    if len(ticks) > 1:
        return alt.Axis(values=ticks, **axis)
    return alt.Axis(tickCount=4, labelOverlap=True, **axis)


#: Width of a character in pixels: of the widest, and of most.
_WIDEST, _USUAL = 18, 7


def _labels(limit: int) -> dict[str, Any]:
    """Return axis or legend options for labels at most `limit` pixels wide.

    A longer label is cut in the middle, since names often differ at their ends. If the result is
    still too long, Vega cuts between any two UTF-16 units, and fails on half a surrogate pair. So a
    label that may be cut shows each character of two units as a box.
    """
    halves = "/[\\uD800-\\uDBFF][\\uDC00-\\uDFFF]/g"
    boxed = f"replace(datum.label, {halves}, '□')"
    most = limit // _USUAL
    middle = f"slice({boxed}, 0, {most // 2}) + '…' + slice({boxed}, {1 - most // 2})"
    shown = (
        f"length(datum.label) > {most} ? {middle} : "
        f"length(datum.label) > {limit // _WIDEST} ? {boxed} : datum.label"
    )
    return {"labelLimit": limit, "labelExpr": shown}


def _legend(points: Sequence[Point], models: Sequence[str], width: int) -> Any:
    """Return a legend above the chart for the models that have points; None for a single model."""
    if len(models) < 2:
        return None
    shown = {point.model for point in points}
    column = min(_LEGEND, _SPARE + 8 * max(map(len, models)) + 20)
    return alt.Legend(
        orient="top",
        title=None,
        values=[model for model in models if model in shown],
        # The legend spans the columns to the right of the row labels.
        columns=max(1, min(len(models), round(width * 0.6) // column)),
        columnPadding=_SPARE,
        **_labels(_LEGEND - 30 - _SPARE),
        symbolSize=90,
    )


def _points(base: Any, models: Sequence[str], look: Theme, legend: Any, size: int) -> Any:
    """Return the points, with a shape for each model."""
    return base.mark_point(filled=True, opacity=1, size=size).encode(
        color=_color(models, look, legend),
        shape=alt.Shape(
            "model:N", scale=_scale(models, cycle(SHAPES)), sort=list(models), legend=legend
        ),
        description="tip:N",
    )


def _color(models: Sequence[str], look: Theme, legend: Any) -> alt.Color:
    scale = _scale(models, cycle(look.series))
    return alt.Color("model:N", scale=scale, sort=list(models), legend=legend)


def _scale(models: Sequence[str], values: Any) -> alt.Scale:
    """Return a scale that maps all models to `values` in order, also models without data."""
    return alt.Scale(domain=list(models), range=list(islice(values, len(models))))


#: The width includes axes and padding.
_FIT = alt.AutoSizeParams(type="fit-x", contains="padding")


def configured(chart: Any, look: Theme, is_many: bool = False) -> Any:
    """Return the chart with the colours and fonts of `look`.

    Args:
        chart: Altair chart.
        look: colours.
        is_many: whether the chart has several facets, each of which takes the full width.
    """
    return (
        chart.configure(
            background=look.background,
            font="sans-serif",
            padding=6,
            **({} if is_many else {"autosize": _FIT}),
        )
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=look.quiet,
            titleColor=look.ink,
            gridColor=look.grid,
            domainColor=look.quiet,
            tickColor=look.quiet,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            titlePadding=8,
            labelPadding=5,
        )
        .configure_legend(
            labelColor=look.ink, labelFontSize=12, symbolStrokeWidth=0, padding=0, offset=10
        )
        .configure_header(labelColor=look.ink, labelFontSize=12)
        .configure_text(fontSize=11)
    )
