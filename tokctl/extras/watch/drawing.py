"""Tokens, words and numbers as Textual content, which is never parsed as markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from unicodedata import combining

from textual.content import Content

from tokctl.report.visible import BACKGROUNDS, visible

#: Style of a token that the step has made. Heavy bars mark the token without colour, too.
_NEW = "bold black on #f2c14e"
#: Characters of a token that are shown, at most.
LONGEST = 32
#: Escapes of characters in tokens that look like the bars between tokens.
_BARS = str.maketrans({"│": "\\u2502", "┃": "\\u2503"})

Part = str | Content | tuple[str, str]


def lines(rows: Iterable[Content]) -> Content:
    """Return the rows as lines, one below the other."""
    return Content("\n").join(list(rows))


def row(*parts: Part) -> Content:
    """Return a line of plain and styled parts."""
    return Content.assemble(*parts)


def fitted(content: Content, width: int) -> Content:
    """Return a line, cut with an ellipsis if it is longer than `width` cells."""
    return content.truncate(width, ellipsis=True) if content.cell_length > width else content


def plain(text: str) -> str:
    """Return text with control characters made visible, and with its spaces unchanged."""
    return " ".join(map(visible, text.split(" ")))


def named(token: str) -> str:
    """Return a token for display, safe for the terminal and at most `LONGEST` characters long.

    Control characters and characters that look like the bars between tokens are escaped. A
    combining mark at the start gets a dotted circle to stand on.
    """
    text = visible(token if len(token) <= LONGEST else token[: LONGEST - 1]).translate(_BARS)
    if text and combining(text[0]):
        text = f"◌{text}"
    return text if len(token) <= LONGEST else f"{text}…"


def boxes(tokens: Sequence[str], highlighted: Sequence[int] = (), omitted: int = 0) -> Content:
    """Return the tokens of a word side by side, with bars between them.

    A colour covers exactly the characters of its token.

    Args:
        tokens: the tokens in order.
        highlighted: the positions of tokens that the step made, which get heavy bars around them.
        omitted: the number of further tokens that are not shown.
    """
    highlighted_set = set(highlighted)
    parts: list[Part] = []
    for index, token in enumerate(tokens):
        heavy = index in highlighted_set or index - 1 in highlighted_set
        if index or index in highlighted_set:
            parts.append(("┃", "bold") if heavy else ("│", "dim"))
        style = (
            _NEW
            if index in highlighted_set
            else f"white on {BACKGROUNDS[index % len(BACKGROUNDS)]}"
        )
        parts.append((named(token), style))
    if tokens and len(tokens) - 1 in highlighted_set:
        parts.append(("┃", "bold"))
    if omitted:
        parts.append((f" … {omitted:,} more", "dim"))
    return row(*parts)


def equation(left: str, right: str, token: str) -> Content:
    """Return a merge as `left + right → token`."""
    merged_box = boxes([token], [0])
    return row(*boxes_alone(left, 0), " + ", *boxes_alone(right, 1), " → ", merged_box)


def boxes_alone(token: str, index: int) -> tuple[tuple[str, str]]:
    """Return one token in the colour of the given position, as a part for `row`."""
    return ((named(token), f"white on {BACKGROUNDS[index]}"),)


def formula(count: int, left: int, right: int) -> str:
    """Return the likelihood score with its counts: `3 / (5 * 6) = 1/10 ≈ 0.1`."""
    score = Fraction(count, left * right)
    text = f"{count:,} / ({left:,} * {right:,}) = "
    if score.denominator < 1000 and score.numerator < 1000:
        exact = score.denominator == 1
        return text + (str(score) if exact else f"{score} ≈ {float(score):.3g}")
    return f"{text}{float(score):.3g}"


def bar(part: float, width: int, marks: Iterable[float] = ()) -> Content:
    """Return a progress bar of `width` cells that is readable without colour.

    Args:
        part: the filled share, from 0 to 1.
        width: the cells of the bar.
        marks: the shares at which a ● stands.
    """
    filled = round(max(0.0, min(1.0, part)) * width)
    marked = {min(width - 1, int(mark * width)) for mark in marks}
    cells = ["●" if at in marked else "█" if at < filled else "░" for at in range(width)]
    return row(("".join(cells[:filled]), "bold"), ("".join(cells[filled:]), "dim"))
