"""Text of corpora and models for a page: nothing in it that is not seen."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from tokctl.render.console import drawn, visible

#: Characters of a token; one can be a whole book long.
LONGEST_TOKEN = 120
#: Characters of a sentence or of a name.
LONGEST_TEXT = 2_000


def token(text: str) -> str:
    """A token: spaces are drawn, and what has no picture is escaped, so that no character of
    it can turn the page around it (U+202E) or end an element, and a combining mark at its
    begin stands on a dotted circle, not on the token before."""
    return _cut(text, LONGEST_TOKEN, drawn)


def prose(text: str) -> str:
    """A sentence or a name: spaces stay spaces."""
    return _cut(text, LONGEST_TEXT, lambda part: " ".join(map(visible, part.split(" "))))


def _cut(text: str, longest: int, shown: Callable[[str], str]) -> str:
    if len(text) <= longest:
        return shown(text)
    return f"{shown(text[:longest])}… ({len(text):,} characters)"


def direction(text: str) -> str:
    """`rtl` where the first letter that has a direction goes from right to left, else `ltr`:
    the rule of `dir="auto"`, which does not look into the tokens of a sentence."""
    for char in text[:LONGEST_TEXT]:
        kind = unicodedata.bidirectional(char)
        if kind in ("R", "AL"):
            return "rtl"
        if kind == "L":
            return "ltr"
    return "ltr"


def hexadecimal(data: bytes) -> str:
    """Bytes as pairs of digits; of very many the first."""
    most = 48
    if len(data) <= most:
        return data.hex(" ")
    return f"{data[:most].hex(' ')} … ({len(data):,} bytes)"


def text_of(data: bytes) -> str:
    """The text of bytes; what is no UTF-8 in them as `\\xe2`."""
    return token(data.decode("utf-8", "backslashreplace"))
