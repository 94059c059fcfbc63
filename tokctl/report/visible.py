"""Text of models and corpora, escaped so that terminals and files show it safely."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

#: Background colours of neighbouring tokens; distinct on light and dark themes.
BACKGROUNDS = ("#1f6f8b", "#8b5e1f", "#3f7f3f", "#7f3f7f", "#8b2f3f")
#: Separator between tokens.
BAR = "│"
#: Dotted circle, drawn under a combining mark that has no base character.
_CARRIER = "\u25cc"
#: Longest token shown whole, in characters; a token can be as long as a book.
LONGEST_NAME = 48


def visible(text: str) -> str:
    r"""Return `text` with spaces, line feeds and unprintable characters made visible.

    A space becomes `␣` and a line feed `⏎`. Other unprintable characters become escapes such as
    `\u200b`, directional controls among them. So the output has the order of the text, except where
    a terminal reorders letters of right-to-left scripts.
    """
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
    """Return `text` as `visible` does, with each stray combining mark on a dotted circle.

    Without the circle, a mark that has no base character would join the text before it.
    """
    shown = []
    carries = False
    for char in text:
        alone = not carries and unicodedata.category(char)[0] == "M" and char.isprintable()
        shown.append(_CARRIER + char if alone else _visible(char))
        carries = char.isprintable() and char != " "
    return "".join(shown)


def safe(text: str) -> str:
    """Return a sentence as `drawn` does, but keep its spaces."""
    return " ".join(map(drawn, text.split(" ")))


def readable(text: str) -> str:
    """Return a sentence as `visible` does, but keep its spaces."""
    return " ".join(map(visible, text.split(" ")))


def brief(token: str) -> str:
    """Return a token as `drawn` does; a very long one is cut and its length added."""
    if len(token) <= LONGEST_NAME:
        return drawn(token)
    return f"{drawn(token[: LONGEST_NAME - 12])}… ({len(token):,} long)"


def names(tokens: Iterable[str]) -> str:
    """Return the tokens separated by spaces, each escaped by `visible`."""
    return " ".join(map(visible, tokens))


def decoded(data: bytes) -> str:
    r"""Return `data` as text, with bytes that are not UTF-8 written as `\xe2`."""
    return data.decode("utf-8", "backslashreplace")
