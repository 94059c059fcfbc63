"""A Rich console on a given stream, and text that a terminal can show safely."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Container, Sequence
from typing import TextIO

from rich.console import Console
from rich.text import Text

#: Width of output that is not for a terminal: wide enough that no table is folded.
UNFOLDED = 160

#: Background colours of neighbouring tokens; they differ in light and dark themes alike.
BACKGROUNDS = ("#1f6f8b", "#8b5e1f", "#3f7f3f", "#7f3f7f", "#8b2f3f")


def console(stream: TextIO, *, color: bool, is_terminal: bool) -> Console:
    """A console that writes to `stream`; it colours only if `color`."""
    columns = os.environ.get("COLUMNS", "")
    width = (
        None if is_terminal else int(columns) if columns.isdigit() and columns != "0" else UNFOLDED
    )
    return Console(
        file=stream,
        force_terminal=color,
        color_system="auto" if color and is_terminal else "truecolor" if color else None,
        no_color=not color,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


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


#: Stands under a combining mark that has no letter of its own.
_CARRIER = "\u25cc"


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


#: Between tokens.
BAR = "│"


def segmentation(tokens: Sequence[str], marked: Container[int] = (), first: int = 0) -> Text:
    """Tokens side by side: coloured backgrounds, and a bar between them for readers
    (and terminals) without colour. Those whose places are `marked` stand out: bold and
    underlined, and in brackets. `first` is the number of the first one in its text, so that
    neighbours differ in colour across lines and columns."""
    text = Text()
    for place, token in enumerate(tokens):
        if place:
            text.append(BAR, style="dim")
        style = f"white on {BACKGROUNDS[(first + place) % len(BACKGROUNDS)]}"
        if place in marked:
            text.append(f"[{drawn(token)}]", style=f"bold underline {style}")
        else:
            text.append(drawn(token), style=style)
    return text
