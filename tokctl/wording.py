"""Numbers and names in sentences."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence


def plural(count: int, thing: str, things: str | None = None) -> str:
    """`1 word`, `2 words`; `things` where that is not a plain `s`."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def times(count: int) -> str:
    """How often: `never`, `once`, `twice`, `3 times`."""
    words = ("never", "once", "twice")
    return words[count] if count < len(words) else f"{count:,} times"


def listed(names: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`. There is one name at the least."""
    *first, end = names
    return f"{', '.join(first)} {last} {end}" if first else end


def percent(share: float, digits: int = 1) -> str:
    """A share for people, never rounded to nothing or, below 1, to all."""
    least = 10**-digits
    rounded = round(100 * share, digits)
    if share > 0 and not rounded:
        return f"<{least:.{digits}f}%"
    if share < 1 and rounded >= 100:
        return f">{100 - least:.{digits}f}%"
    return f"{rounded:,.{digits}f}%"


def unspaced(token: str) -> str:
    """A token as one word of a line: white space and control characters are escaped as in Python,
    as a space stands between tokens only, and a terminal obeys some of the others."""
    if token.isprintable() and " " not in token:
        return token
    from unicodedata import category

    return "".join(
        "\\x20"
        if char == " "
        else char.encode("unicode_escape").decode()
        if char.isspace() or category(char) == "Cc"
        else char
        for char in token
    )


#: What names the same on every machine.
_ADDRESS = re.compile(r"hf:|\w+://")


def file_names(paths: Sequence[str]) -> list[str]:
    """What files are called where people read of them: not by the folders of the machine that made
    the page, but for as many as tell two of them apart."""
    parts = [
        [path] if _ADDRESS.match(path) else list(filter(None, path.split("/"))) or [path]
        for path in (path.replace(os.sep, "/") for path in paths)
    ]
    shown = []
    for own in parts:
        many = 1
        while many < len(own) and any(
            other[-many:] == own[-many:] for other in parts if other != own
        ):
            many += 1
        shown.append("/".join(own[-many:]))
    return shown
