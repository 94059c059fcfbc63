"""Numbers and names, formatted for sentences."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence


def plural(count: int, thing: str, things: str | None = None) -> str:
    """Return `1 word` or `2 words`; `things` gives a plural that is not formed with `s`."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def times(count: int) -> str:
    """Return how often something happened: `never`, `once`, `twice`, `3 times`."""
    words = ("never", "once", "twice")
    return words[count] if count < len(words) else f"{count:,} times"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return at least one name as a list in words: `a`, `a and b`, `a, b and c`."""
    *first, end = names
    return f"{', '.join(first)} {last} {end}" if first else end


def percent(share: float, digits: int = 1) -> str:
    """Return a share as a percentage; small and large shares read `<0.1%` and `>99.9%`.

    A share above 0 is never rounded to 0%, and a share below 1 never to 100%.
    """
    least = 10**-digits
    rounded = round(100 * share, digits)
    if share > 0 and not rounded:
        return f"<{least:.{digits}f}%"
    if share < 1 and rounded >= 100:
        return f">{100 - least:.{digits}f}%"
    return f"{rounded:,.{digits}f}%"


def unspaced(token: str) -> str:
    """Return a token without white space and control characters, which are escaped as in Python.

    A space separates the tokens of a line, and a terminal would obey control characters.
    """
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


#: Addresses, which are the same on every machine.
_ADDRESS = re.compile(r"hf:|\w+://")


def file_names(paths: Sequence[str]) -> list[str]:
    """Return short names of files: each with as few folders as tell the files apart.

    Pages that tokctl writes thus don't show the folders of the machine. Addresses stay whole.
    """
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
