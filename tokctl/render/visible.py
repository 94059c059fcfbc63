"""Text of models and corpora as people can read it safely, on a terminal or anywhere else."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

#: Background colours of neighbouring tokens; they differ in light and dark themes alike.
BACKGROUNDS = ("#1f6f8b", "#8b5e1f", "#3f7f3f", "#7f3f7f", "#8b2f3f")
#: Between tokens.
BAR = "│"
#: Stands under a combining mark that has no letter of its own.
_CARRIER = "\u25cc"
#: Characters of a token that people are shown; a token can be a whole book long.
LONGEST_NAME = 48


def visible(text: str) -> str:
    """The text with control characters, spaces that look like none, and what a terminal
    may not draw, made visible. Directional controls are escaped, too: what is shown has the
    order of the text, but for letters of right-to-left scripts that a terminal turns round."""
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char == " ":
        return "␣"
    if char == "\n":
        return "⏎"
    if char.isprintable():
        return char
    return char.encode("unicode_escape", "surrogatepass").decode()


def drawn(text: str) -> str:
    """As `visible`, for people: a combining mark that has nothing to stand on, and would join
    what is in front of the text, is drawn on a dotted circle."""
    shown = []
    carries = False
    for char in text:
        alone = not carries and unicodedata.category(char)[0] == "M" and char.isprintable()
        shown.append(_CARRIER + char if alone else _visible(char))
        carries = char.isprintable() and char != " "
    return "".join(shown)


def safe(text: str) -> str:
    """A sentence as `drawn`; its spaces stay spaces."""
    return " ".join(map(drawn, text.split(" ")))


def readable(text: str) -> str:
    """A sentence as `visible`; its spaces stay spaces."""
    return " ".join(map(visible, text.split(" ")))


def brief(token: str) -> str:
    """A token for people: made visible, and cut where it is very long."""
    if len(token) <= LONGEST_NAME:
        return drawn(token)
    return f"{drawn(token[: LONGEST_NAME - 12])}… ({len(token):,} long)"


def names(tokens: Iterable[str]) -> str:
    """Tokens with a space between them; what would be mistaken for one is made visible."""
    return " ".join(map(visible, tokens))


def decoded(data: bytes) -> str:
    """Bytes as text; what is not UTF-8 in them as `\\xe2`."""
    return data.decode("utf-8", "backslashreplace")
