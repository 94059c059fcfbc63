"""Documents that end with a token of their own."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from tokctl.idfiles.readers.contract import Part


def separated(parts: Iterable[Part], last: int) -> Iterator[Part]:
    """The parts, cut behind each id that is `last`: a document ends there, without that id."""
    between = False  # nothing has come since a document ended
    for part in parts:
        view: Any = memoryview(part.ids)  # type: ignore[arg-type]
        begin = 0
        for place in _places(view, last):
            yield Part(view[begin:place], partial(_place, part, begin), ends=True)
            begin, between = place + 1, True
        rest = view[begin:]
        if len(rest) or (part.ends and not between):
            yield Part(rest, partial(_place, part, begin), part.ends)
            between = part.ends
        elif part.ends:
            between = True


def _place(part: Part, begin: int, at: int) -> str:
    return part.place(begin + at)


def _places(view: Any, wanted: int) -> Iterator[int]:
    """Where a number stands, from the front to the back; found without an object for each."""
    try:
        pattern = struct.pack(f"={view.format}", wanted)
    except struct.error:  # numbers of so few bits can't be it
        return
    if not len(view):
        return
    width = view.itemsize
    # Looking ahead finds every place: what only looks like it may overlap with the next one.
    for found in re.finditer(b"(?=" + re.escape(pattern) + b")", view.cast("B")):
        if found.start() % width == 0:
            yield found.start() // width
