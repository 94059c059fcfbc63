"""Text for roff, in ASCII: nothing in it is a request or an escape."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

#: Characters of a line of text in the source; escapes come on top.
_WIDTH = 72
#: Characters that roff, or the font of a terminal, would show as others.
_ESCAPED = {
    "\\": r"\(rs",
    "-": r"\-",
    "'": r"\(aq",
    "`": r"\(ga",
    '"': r"\(dq",
    "^": r"\(ha",
    "~": r"\(ti",
}


def text(plain: str) -> str:
    """A line of running text. Breaks in it are spaces."""
    line = "".join(map(_char, " ".join(plain.split("\n"))))
    # A full stop or an apostrophe at the start of a line is a request.
    return rf"\&{line}" if line[:1] == "." else line


def _char(char: str) -> str:
    if char in _ESCAPED:
        return _ESCAPED[char]
    return char if char.isascii() else rf"\[u{ord(char):04X}]"


def running(plain: str) -> Iterator[str]:
    """Running text, in lines as one reads them."""
    for line in textwrap.wrap(plain, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield text(line)


def word(plain: str) -> str:
    """An argument of a request, without spaces."""
    return text(plain)


def quoted(plain: str) -> str:
    """An argument of a request, with spaces."""
    return f'"{text(plain)}"'


def paragraphs(plain: str) -> Iterator[str]:
    """Paragraphs that are separated by empty lines."""
    for place, part in enumerate(plain.split("\n\n")):
        if place:
            yield ".PP"
        yield from running(part)


def literal(plain: str) -> Iterator[str]:
    """Lines that stay as they are."""
    yield ".nf"
    for line in plain.split("\n"):
        # Empty lines would be requests in some formatters.
        yield text(line) if line.strip() else r"\&"
    yield ".fi"
