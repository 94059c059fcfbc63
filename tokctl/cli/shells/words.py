"""Help in few words, as there is room for beside an option that is being typed."""

from __future__ import annotations

import re

#: Characters; longer descriptions push the next option off the screen.
_ROOM = 60


def brief(text: str) -> str:
    """The first part of a help text that says something by itself."""
    first = re.split(r"(?<=\w)(?:\.(?:\s|$)|;\s|:\s)", text, maxsplit=1)[0]
    if len(first) <= _ROOM:
        return first
    cut = first[:_ROOM].rsplit(" ", 1)[0].rstrip(",.(")
    return f"{cut} ..."
