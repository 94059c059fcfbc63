"""Tokens, words and numbers as Textual's content. Nothing here is ever read as markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from unicodedata import combining

from textual.content import Content

from tokctl.render.visible import BACKGROUNDS, visible

#: What the step has just made: colour for those who see it, heavy bars for all.
_NEW = "bold black on #f2c14e"
#: Characters of a token that are shown.
LONGEST = 32
#: The bars between tokens, where a token holds them itself.
_BARS = str.maketrans({"│": "\\u2502", "┃": "\\u2503"})

Part = str | Content | tuple[str, str]


def lines(rows: Iterable[Content]) -> Content:
    """The rows, one below the other."""
    return Content("\n").join(list(rows))


def row(*parts: Part) -> Content:
    """A line of plain and styled text."""
    return Content.assemble(*parts)


def fitted(content: Content, width: int) -> Content:
    """A line, cut where the room ends."""
    return content.truncate(width, ellipsis=True) if content.cell_length > width else content


def plain(text: str) -> str:
    """What a terminal would obey made visible; spaces stay."""
    return " ".join(map(visible, text.split(" ")))


def named(token: str) -> str:
    """A token by name: nothing in it that a terminal obeys or that looks like the bar between
    tokens, and no longer than is readable. One that starts with a combining mark gets a circle
    to carry it."""
    text = visible(token if len(token) <= LONGEST else token[: LONGEST - 1]).translate(_BARS)
    if text and combining(text[0]):
        text = f"◌{text}"
    return text if len(token) <= LONGEST else f"{text}…"


def boxes(tokens: Sequence[str], made: Sequence[int] = (), more: int = 0) -> Content:
    """A word's tokens side by side, with bars between them; heavy bars are around those that a
    step has made. A token's colour covers its characters alone: what is coloured is the token."""
    new = set(made)
    parts: list[Part] = []
    for place, token in enumerate(tokens):
        heavy = place in new or place - 1 in new
        if place or place in new:
            parts.append(("┃", "bold") if heavy else ("│", "dim"))
        style = _NEW if place in new else f"white on {BACKGROUNDS[place % len(BACKGROUNDS)]}"
        parts.append((named(token), style))
    if tokens and len(tokens) - 1 in new:
        parts.append(("┃", "bold"))
    if more:
        parts.append((f" … {more:,} more", "dim"))
    return row(*parts)


def equation(left: str, right: str, token: str) -> Content:
    """`left + right → token`."""
    made = boxes([token], [0])
    return row(*boxes_alone(left, 0), " + ", *boxes_alone(right, 1), " → ", made)


def boxes_alone(token: str, place: int) -> tuple[tuple[str, str]]:
    """One token, in the colour of its place."""
    return ((named(token), f"white on {BACKGROUNDS[place]}"),)


def formula(count: int, left: int, right: int) -> str:
    """The likelihood score with its numbers: `3 / (5 * 6) = 1/10 ≈ 0.1`."""
    score = Fraction(count, left * right)
    text = f"{count:,} / ({left:,} * {right:,}) = "
    if score.denominator < 1000 and score.numerator < 1000:
        exact = score.denominator == 1
        return text + (str(score) if exact else f"{score} ≈ {float(score):.3g}")
    return f"{text}{float(score):.3g}"


def bar(part: float, width: int, marks: Iterable[float] = ()) -> Content:
    """A progress bar that is readable without colour, with ● at these parts of it."""
    full = round(max(0.0, min(1.0, part)) * width)
    marked = {min(width - 1, int(mark * width)) for mark in marks}
    cells = ["●" if at in marked else "█" if at < full else "░" for at in range(width)]
    return row(("".join(cells[:full]), "bold"), ("".join(cells[full:]), "dim"))
