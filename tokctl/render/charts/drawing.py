"""A chart with everything around it: what it is called, what it says, and its figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tokctl.render.charts.look import Look
from tokctl.render.console import visible

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
    name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
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
