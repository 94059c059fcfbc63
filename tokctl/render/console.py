"""A Rich console on a given stream, and text that a terminal can show safely."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
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


#: Stands under a combining mark that has no letter of its own.
_CARRIER = "\u25cc"


def visible(text: str) -> str:
    """The text with control characters, spaces that look like none, and what a terminal
    may not draw, made visible.

    A combining mark at the start, which would join what stands before the text, is drawn on
    a dotted circle. Directional controls are escaped, so that what is shown has the order of
    the text, but for letters of right-to-left scripts that a terminal turns round itself.
    """
    shown = []
    for place, char in enumerate(text):
        if char == " ":
            shown.append("␣")
        elif char == "\n":
            shown.append("⏎")
        elif not char.isprintable():
            shown.append(char.encode("unicode_escape", "surrogatepass").decode())
        elif unicodedata.category(char)[0] == "M" and not _carries(text[place - 1 : place]):
            shown.append(_CARRIER + char)
        else:
            shown.append(char)
    return "".join(shown)


def _carries(before: str) -> bool:
    """Is there something that a combining mark behind it can be drawn on?"""
    return bool(before) and before[-1].isprintable() and before[-1] != " "


#: Between tokens.
BAR = "│"


def segmentation(tokens: Sequence[str], first: int = 0) -> Text:
    """Tokens side by side: coloured backgrounds, and a bar between them for readers
    (and terminals) without colour. `first` is the number of the first one in its text, so
    that neighbours differ in colour across lines and columns."""
    text = Text()
    for place, token in enumerate(tokens, first):
        if place > first:
            text.append(BAR, style="dim")
        text.append(visible(token), style=f"white on {BACKGROUNDS[place % len(BACKGROUNDS)]}")
    return text
