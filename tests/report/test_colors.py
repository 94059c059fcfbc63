"""The colours of models and tokens, as the colour-blind see them. None stands alone: models have
shapes and dashes, tokens have outlines."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations
from math import dist

import pytest

from tests.report.made import contrast
from tokctl.report.charts.drawing import PAPER

Matrix = tuple[tuple[float, float, float], ...]

#: What is seen of linear RGB: Machado, Oliveira and Fernandes, "A Physiologically-based Model for
#: Simulation of Color Vision Deficiency" (2009), severity 1.0.
SIGHT: dict[str, Matrix] = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
#: Linear sRGB to CIE XYZ, each divided by the white of D65.
XYZ: Matrix = (
    (0.433953, 0.376219, 0.189828),
    (0.212673, 0.715152, 0.072175),
    (0.017756, 0.109470, 0.872774),
)


def times(matrix: Matrix, vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def lab(color: str, sight: Matrix) -> tuple[float, float, float]:
    """CIE L*a*b* of what is seen of a colour."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    seen = [min(1.0, max(0.0, p)) for p in times(sight, linear)]
    x, y, z = (
        t ** (1 / 3) if t > 216 / 24389 else t * 841 / 108 + 4 / 29 for t in times(XYZ, seen)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def apart(one: str, other: str) -> float:
    """How far two colours are apart for those who see least of it: CIE 1976, where 2.3 is just
    noticed."""
    return min(dist(lab(one, sight), lab(other, sight)) for sight in SIGHT.values())


def palette(theme: str) -> dict[str, str]:
    sheet = (files("tokctl.extras.page") / "templates" / "page.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", sheet)
    return {name: light if theme == "light" else dark for name, light, dark in pairs}


THEMES = pytest.mark.parametrize("theme", ["light", "dark"])


def test_the_measure() -> None:
    assert lab("#ffffff", SIGHT["all"]) == pytest.approx((100, 0, 0), abs=0.01)
    # Bruce Lindbloom's calculator has these for sRGB red.
    assert lab("#ff0000", SIGHT["all"]) == pytest.approx((53.24, 80.09, 67.20), abs=0.05)
    # A red and a green of the same lightness are one colour to most who are colour-blind.
    assert (
        apart("#c05030", "#7a7a20")
        < 12
        < dist(*(lab(c, SIGHT["all"]) for c in ("#c05030", "#7a7a20")))
    )


@THEMES
def test_neighbouring_tokens_can_be_told_apart(theme: str) -> None:
    colors = palette(theme)
    tokens = [colors[f"t{n}"] for n in range(1, 5)]
    for one, next_ in zip(tokens, [*tokens[1:], tokens[0]], strict=True):
        assert apart(one, next_) >= 20, (one, next_)
    for one, other in combinations(tokens, 2):
        assert apart(one, other) >= 12, (one, other)
    for color in tokens:
        assert contrast(colors["ink"], color) >= 7, color
    # The outline is seen where the colour is not.
    for behind in ("paper", "card"):
        assert contrast(colors["edge"], colors[behind]) >= 3


@THEMES
def test_models_can_be_told_apart(theme: str) -> None:
    colors = palette(theme)
    series = [colors[f"s{n}"] for n in range(1, 9)]
    for one, other in combinations(series, 2):
        assert apart(one, other) >= 16, (one, other)
    for one, other in combinations(series[:4], 2):
        assert apart(one, other) >= 30, (one, other)
    for color in series:
        assert contrast(color, colors["paper"]) >= 3
    if theme == "light":
        assert series == list(PAPER.series)
