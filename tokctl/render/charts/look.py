"""How charts look: on paper, and on a page whose colours follow the reader's theme."""

from __future__ import annotations

from dataclasses import dataclass


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
        "#1f5fa8",
        "#b5470b",
        "#1d7a4b",
        "#8a3ea8",
        "#b3264a",
        "#6b5b10",
        "#0f7487",
        "#5c5c66",
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
