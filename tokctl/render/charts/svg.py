"""A chart as SVG for the page: its colours are the page's variables, and nothing is in it but
shapes and text."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from tokctl.render.charts.look import VARIABLES

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


def page_svg(chart: Any, kind: str) -> str:
    """The SVG element of a chart that was drawn in the look `PAGE`.

    What points at a mark finds what to say in its `data-tip`. The whole is an image without
    a name of its own: the figure around it has that, and a table of the same numbers.

    Args:
        kind: its class.
    """
    import vl_convert

    root = ElementTree.fromstring(vl_convert.vegalite_to_svg(chart.to_dict()))
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
            if name not in _ATTRIBUTES:
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
