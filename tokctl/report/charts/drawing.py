"""A chart with its title, description and table of numbers; its SVG for the page and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tokctl.core.errors import BadOption
from tokctl.report.charts.converter import Converter
from tokctl.report.visible import visible


@dataclass(frozen=True)
class Theme:
    """Colours of a chart, as CSS writes them.

    Attributes:
        background: colour behind everything.
        ink: colour of text.
        quiet: colour of axes and labels.
        grid: colour of the lines behind the data.
        series: colours of the models, in order. They repeat if there are more models; shapes and
            dashes, whose numbers differ, tell these models apart.
    """

    background: str
    ink: str
    quiet: str
    grid: str
    series: tuple[str, ...]


#: Look of files. Every series colour has a contrast ratio of at least 3 to white.
PAPER = Theme(
    background="#ffffff",
    ink="#1c1c21",
    quiet="#55555f",
    grid="#e3e3e8",
    series=(
        "#1f4ec0",
        "#bc801d",
        "#22a067",
        "#941568",
        "#675223",
        "#71218c",
        "#c84782",
        "#a1549f",
    ),
)

#: Look of the page: placeholder colours that stand for CSS variables, see `VARIABLES`.
PAGE = Theme(
    background="transparent",
    ink="#00fe01",
    quiet="#00fe02",
    grid="#00fe03",
    series=tuple(f"#00fe1{number}" for number in range(1, 9)),
)

VARIABLES = {
    PAGE.ink: "var(--ink)",
    PAGE.quiet: "var(--quiet)",
    PAGE.grid: "var(--grid)",
    **{color: f"var(--s{number})" for number, color in enumerate(PAGE.series, 1)},
}

#: Seven shapes and five dashes to eight colours: a triple repeats only after 280 models.
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
)
DASHES = ([1, 0], [6, 3], [2, 2], [9, 3, 2, 3], [12, 4])


#: Longest name of a model or text in a chart, in characters.
_LONGEST = 60


@dataclass(frozen=True)
class Drawing:
    """Chart that is not drawn yet.

    Attributes:
        name: name for `--chart`.
        title: title above the chart.
        about: description of the chart, also for readers who can't see it.
        columns: column names of the table with the chart's numbers.
        rows: rows of this table, as text for people.
        draw: returns the Altair chart for a width in pixels and a look.
    """

    name: str
    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    draw: Callable[[int, Theme], Any]


def label(name: str) -> str:
    """Return a name for people: invisible characters escaped, a long name cut in the middle."""
    if len(name) > _LONGEST:
        # Names often differ at their ends, so the middle is cut.
        half = _LONGEST // 2
        name = f"{name[:half]}…{name[1 - half :]}"
    return " ".join(map(visible, name.split(" ")))


def labels(names: Sequence[str]) -> list[str]:
    """Return names for people; a name that would look like an earlier one gets a number."""
    found: list[str] = []
    for name in map(label, names):
        same, number = name, 2
        while same in found:
            same, number = f"{name} ({number})", number + 1
        found.append(same)
    return found


_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = {"svg", "g", "path", "line", "rect", "text", "tspan"}
_ATTRIBUTES = {
    "d",
    "dx",
    "dy",
    "fill",
    "fill-opacity",
    "font-size",
    "font-weight",
    "height",
    "opacity",
    "stroke",
    "stroke-dasharray",
    "stroke-miterlimit",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
    "transform",
    "viewBox",
    "width",
    "x",
    "x1",
    "x2",
    "y",
    "y1",
    "y2",
}
#: Attributes with their default values; children don't inherit them.
_SAY_NOTHING = {("opacity", "1"), ("transform", "translate(0,0)")}


def page_svg(converter: Converter, chart: Any, kind: str) -> str:
    """Return the SVG element of a chart drawn with the look `PAGE`.

    Each mark has the text of its tooltip in `data-tip`. Screen readers skip the image
    (`aria-hidden`): the figure around it has a name and a table of the same numbers.

    Args:
        converter: process that draws the chart.
        chart: Altair chart.
        kind: CSS class of the element.

    Raises:
        TokctlError: the process that draws failed.
    """
    root = ElementTree.fromstring(converter.convert(chart.to_dict(), "svg"))
    _clean(root)
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    root.set("class", kind)
    root.set("aria-hidden", "true")
    ElementTree.register_namespace("", _SVG[1:-1])
    return ElementTree.tostring(root, encoding="unicode")


def _clean(root: ElementTree.Element) -> None:
    """Remove elements and attributes that draw nothing or don't belong on a page."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        tip = element.get("aria-label") if element.get("role") == "graphics-symbol" else None
        drawn = element.tag.removeprefix(_SVG)
        for name in list(element.attrib):
            if name not in _ATTRIBUTES or (name, element.attrib[name]) in _SAY_NOTHING:
                del element.attrib[name]
            elif name in ("fill", "stroke"):
                element.set(name, VARIABLES.get(element.attrib[name], element.attrib[name]))
        # Axes and legends have labels too, but only screen readers would need them.
        if tip and drawn == "path":
            element.set("data-tip", tip)
        for child in list(element):
            if _is_nothing(child):
                element.remove(child)
            else:
                waiting.append(child)


def _is_nothing(element: ElementTree.Element) -> bool:
    name = element.tag.removeprefix(_SVG) if isinstance(element.tag, str) else ""
    if name not in _ELEMENTS or element.get("display") == "none":
        return True
    painted = {element.get("fill"), element.get("stroke")} - {None, "none", "transparent"}
    return (name == "path" and not element.get("d")) or (name in ("path", "rect") and not painted)


#: File name extensions that a chart can be written to.
ENDINGS = (".png", ".svg", ".pdf", ".json")
#: Width of a chart file, in pixels; a PNG has `_SCALE` times as many.
WIDTH = 640


def ending_of(path: str) -> str:
    """Return the lower-case extension of `path`.

    Raises:
        TokctlError: the extension is not in `ENDINGS`.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        what = f"which ends in {ending}" if ending else "which has no ending"
        raise BadOption(
            f"can't write a chart to {path}, {what}",
            f"choose one of: {', '.join(ENDINGS)}",
            "bad-value",
        )
    return ending


def chart_bytes(drawing: Drawing, ending: str) -> bytes:
    """Return the contents of the chart's file.

    Drawing fetches nothing and uses the fonts of this machine. The same figures give the same
    bytes, except that a PDF lists its fonts in another order each time; it looks the same.

    Args:
        drawing: chart to draw.
        ending: one of `ENDINGS`.

    Raises:
        TokctlError: the process that draws failed.
    """
    chart = drawing.draw(WIDTH, PAPER).properties(
        title={
            "text": drawing.title,
            "anchor": "start",
            "fontSize": 15,
            "color": PAPER.ink,
            "offset": 14,
        },
        description=drawing.about,
    )
    specification = chart.to_dict()
    if ending == ".json":
        from tokctl.core import orjson

        options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
        return orjson.dumps(specification, option=options)
    with Converter() as converter:
        drawn = converter.convert(specification, ending[1:])
    return drawn + b"\n" if ending == ".svg" else drawn
