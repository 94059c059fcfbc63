"""The growth of time as a picture, by matplotlib: small SVG, legible on light and on dark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.curves import series
from tests.bench.results import Measured
from tests.bench.rows import GIGATOKEN, SENTENCEPIECE, TOKCTL
from tests.bench.work.growth import CURVES

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
    """Writes the picture: one panel per curve, both axes logarithmic."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    with matplotlib.rc_context(STYLE):
        figure, panels = pyplot.subplots(2, 2, figsize=(9, 6.4), layout="constrained")
        for panel, key in zip(panels.flat, CURVES, strict=True):
            _panel(panel, measured, key)
        lines = {line.get_label(): line for panel in panels.flat for line in panel.lines}
        figure.legend(
            lines.values(), lines.keys(), loc="outside upper left", ncols=6, frameon=False
        )
        metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else None
        figure.savefig(path, transparent=True, metadata=metadata)
        pyplot.close(figure)


def _panel(panel: Any, measured: Sequence[Measured], key: str) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    unit, title = CURVES[key]
    found = series(measured, key)
    for name, curve in found.items():
        color, marker = LOOKS.get(name, (INK, "x"))
        ours = name == TOKCTL
        panel.plot(
            *zip(*curve, strict=True),
            color=color,
            marker=marker,
            markersize=7 if ours else 5,
            linewidth=2.6 if ours else 1.4,
            zorder=3 if ours else 2,
            label=name,
        )
    panel.set_title(title, loc="left", fontsize=11)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_ylabel("seconds per MB")
    panel.set_xlabel("ids in the vocabulary" if unit == "ids" else "bytes of text")
    panel.xaxis.set_major_locator(FixedLocator(sorted({at for c in found.values() for at, _ in c})))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _round(value)))
    panel.xaxis.set_minor_locator(FixedLocator([]))
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())
    values = [seconds for curve in found.values() for _, seconds in curve]
    if values:
        # A decade at least: a flat curve is to look flat.
        low, high = min(values) / 1.6, max(values) * 1.6
        panel.set_ylim(min(low, high / 10), high)
    panel.grid(True, which="major", color=INK, alpha=0.25, linewidth=0.6)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _round(value: float) -> str:
    """1k, 64k, 10M: short enough for an axis."""
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k"
