"""A chart with everything around it: what it is called, what it says, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tokctl.errors import TokctlError
from tokctl.render.charts.converter import Converter
from tokctl.render.visible import visible


@dataclass(frozen=True)
class Look:
    """Colours, as CSS writes them.

    Attributes:
        background: behind everything.
        ink: text; quiet: axes and labels; grid: lines behind the data.
        series: of the models, in their order; where there are more models they come again,
            and the shapes and dashes, which are others in number, tell them apart.
    """

    background: str
    ink: str
    quiet: str
    grid: str
    series: tuple[str, ...]


#: For files. Every colour of a series has a contrast of 3 or more to white.
PAPER = Look(
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

#: For the page: colours that stand for the variables of its style sheet, see `VARIABLES`.
PAGE = Look(
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

#: One more and one less than there are colours, so that the triples repeat late.
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


#: Characters of a model's or a text's name in a chart.
_LONGEST = 60


@dataclass(frozen=True)
class Drawing:
    """A chart, before it is drawn.

    Attributes:
        name: for `--chart`.
        title: above it; about: what is to be seen, for those who do not see it, too.
        columns, rows: the figures, as a table for people.
        draw: the Altair chart, of a width in pixels, in a look.
    """

    name: str
    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    draw: Callable[[int, Look], Any]


def label(name: str) -> str:
    """A name for people: nothing in it that is not seen, and not too long."""
    if len(name) > _LONGEST:
        # What tells names apart is often at their ends.
        half = _LONGEST // 2
        name = f"{name[:half]}…{name[1 - half :]}"
    return " ".join(map(visible, name.split(" ")))


def labels(names: Sequence[str]) -> list[str]:
    """Names for people, numbered where two would look alike."""
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
#: What an element is without them; they are not inherited.
_SAY_NOTHING = {("opacity", "1"), ("transform", "translate(0,0)")}


def page_svg(converter: Converter, chart: Any, kind: str) -> str:
    """The SVG element of a chart that was drawn in the look `PAGE`.

    What points at a mark finds what to say in its `data-tip`. The whole is an image without
    a name of its own: the figure around it has that, and a table of the same numbers.

    Args:
        kind: its class.

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
    """Takes out what says or draws nothing, and what has no place in a page."""
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
        # Axes and legends have labels, too, that only readers of screens would need.
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


#: Endings of files that a chart can be written to.
ENDINGS = (".png", ".svg", ".pdf", ".json")
#: Pixels of the chart itself.
WIDTH = 640


def ending_of(path: str) -> str:
    """The kind of file that a name asks for; TokctlError if it is none of `ENDINGS`."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        what = f"{path} ends in {ending}" if ending else f"{path} has no ending"
        raise TokctlError(
            f"a chart can't be written so: {what}", f"choose one of {', '.join(ENDINGS)}"
        )
    return ending


def chart_bytes(drawing: Drawing, ending: str) -> bytes:
    """The file's contents. Nothing is fetched; text is set in the fonts of this machine.

    The same figures give the same bytes; but a PDF holds its fonts in another order each time,
    and is the same to look at.

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
        from tokctl import orjson

        options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
        return orjson.dumps(specification, option=options)
    with Converter() as converter:
        drawn = converter.convert(specification, ending[1:])
    return drawn + b"\n" if ending == ".svg" else drawn
