"""The growth of time as a picture, by matplotlib: small SVG, legible on light and on dark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.tools.bench.curves import kinds, points
from tests.tools.bench.results import Measured
from tests.tools.bench.rows import GIGATOKEN, SENTENCEPIECE, TOKCTL
from tests.tools.bench.work.growth import CURVES, Curve

#: Middle tones: they stand out from white and from black alike.
INK = "#808890"
#: A contender's color and marker, the same in every panel; ours is the thick one.
LOOKS = {
    TOKCTL: ("#2f81f7", "o"),
    GIGATOKEN: ("#d9722b", "s"),
    "fastokens": ("#3c9a5f", "^"),
    "splintr": ("#a667d8", "D"),
    "rustbpe": ("#d0508a", "v"),
    SENTENCEPIECE: ("#b08a1e", "P"),
}
#: The kinds of text, in the order met.
DASHES = ("solid", "dashed", "dotted")
STYLE = {
    # Text stays text, in the reader's own font.
    "svg.fonttype": "none",
    # The same bytes for the same figures.
    "svg.hashsalt": "tokctl",
    "font.family": "sans-serif",
    "font.size": 10,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
}


def draw(measured: Sequence[Measured], path: Path) -> None:
    """Writes the picture: one panel per curve, both axes logarithmic; the legend has one, too."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    with matplotlib.rc_context(STYLE):
        figure, panels = pyplot.subplots(4, 2, figsize=(9, 12), layout="constrained")
        for panel, curve in zip(panels.flat, CURVES, strict=False):
            _panel(panel, measured, curve)
        lines = {line.get_label(): line for panel in panels.flat for line in panel.lines}
        *_, last = panels.flat
        last.set_axis_off()
        last.legend(
            lines.values(), lines.keys(), loc="center", frameon=False, ncols=2, handlelength=3.5
        )
        metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else None
        figure.savefig(path, transparent=True, metadata=metadata)
        pyplot.close(figure)


def _panel(panel: Any, measured: Sequence[Measured], curve: Curve) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    found = points(measured, curve)
    for (kind, name), by in found.items():
        color, marker = LOOKS.get(name, (INK, "x"))
        ours = name == TOKCTL
        panel.plot(
            list(by),
            list(by.values()),
            color=color,
            marker=marker,
            markersize=7 if ours else 5,
            linewidth=2.6 if ours else 1.4,
            linestyle=DASHES[kinds(found).index(kind) % len(DASHES)],
            zorder=3 if ours else 2,
            label=f"{name}, {kind}",
        )
    panel.set_title(curve.title, loc="left", fontsize=11)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_ylabel("seconds per MB")
    panel.set_xlabel("ids in the vocabulary" if curve.unit == "ids" else "bytes of text")
    panel.xaxis.set_major_locator(FixedLocator(sorted({at for by in found.values() for at in by})))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _round(value)))
    panel.xaxis.set_minor_locator(FixedLocator([]))
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())
    values = [seconds for by in found.values() for seconds in by.values()]
    if values:
        # A decade at least: a flat curve is to look flat.
        low, high = min(values) / 1.6, max(values) * 1.6
        panel.set_ylim(min(low, high / 10), high)
    panel.grid(True, which="major", color=INK, alpha=0.25, linewidth=0.6)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _round(value: float) -> str:
    """1k, 64k, 10M, 1G: short enough for an axis."""
    if value >= 1e9:
        return f"{value / 1e9:g}G"
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k"
