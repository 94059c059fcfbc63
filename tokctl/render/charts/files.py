"""A chart as a file: PNG, SVG, PDF, or its Vega-Lite specification as JSON."""

from __future__ import annotations

from pathlib import Path

from tokctl.errors import TokctlError
from tokctl.render.charts.drawing import Drawing
from tokctl.render.charts.look import PAPER

#: Endings of files that a chart can be written to.
ENDINGS = (".png", ".svg", ".pdf", ".json")
#: Pixels of the chart itself; a PNG has twice as many, for sharp screens.
WIDTH = 640
_SCALE = 2


def ending_of(path: str) -> str:
    """The kind of file that a name asks for; TokctlError where it is none of `ENDINGS`."""
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
    """
    import vl_convert

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
        import orjson

        options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
        return orjson.dumps(specification, option=options)
    if ending == ".svg":
        return (vl_convert.vegalite_to_svg(specification) + "\n").encode()
    if ending == ".pdf":
        return bytes(vl_convert.vegalite_to_pdf(specification))
    return bytes(vl_convert.vegalite_to_png(specification, scale=_SCALE))
