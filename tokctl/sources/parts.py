"""A source in parts, for several processes that read at the same time: stretches of a text, lines,
row groups of a table.

Each part finds by itself where it begins: at the first border after its place, if there is one
before the next place. So a part needs nothing of the others, and together they have everything
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tokctl.sources.blocks import BLOCK_SIZE, ByteSource, opened_file
from tokctl.sources.document import Archive, Batch, Places, Source

#: The first border in a stretch of bytes, which starts anywhere; None where there is none.
FindBorder = Callable[[bytes], int | None]

#: Bytes that are looked at first, to find a border; then four times as many, and so on.
_WINDOW = 1 << 16


class SourcePart(NamedTuple):
    """What one process reads of a source.

    Attributes:
        source: which may lie on another machine, where the same path leads to the same file.
        places, number: as `Places.between` takes them; no places: the source is read as a whole.
        size: bytes, about, as they lie there; None if that is not known.
    """

    source: Source
    places: tuple[int, ...] = ()
    number: int = 0
    size: int | None = None

    @property
    def name(self) -> str:
        """The source, and where the part is in it, for people."""
        if not self.places or isinstance(self.source, Archive) or not self.source.places:
            return self.source.name
        start, stop = self.places[self.number : self.number + 2]
        return f"{self.source.name}: {self.source.places().unit} {start:,} to {stop:,}"


def named(parts: Sequence[SourcePart]) -> str:
    """What one process reads, in a few words."""
    return parts[0].name + (f" and {len(parts) - 1:,} more" if len(parts) > 1 else "")


class TextPart(NamedTuple):
    """A stretch of a document: its blocks, and whether the document begins and ends with it."""

    blocks: Callable[[], Iterator[bytes]]
    opens: bool
    closes: bool


def parts_of(source: Source, size: int) -> list[SourcePart]:
    """The source in parts of about `size` bytes; one where it can't be read in parts."""
    places = None if isinstance(source, Archive) else source.places
    found = tuple(places().of(size)) if places and source.size and source.size > size else ()
    if len(found) < 3:
        return [SourcePart(source, size=source.size)]
    each = (source.size or 0) // (len(found) - 1)
    return [SourcePart(source, found, number, each) for number in range(len(found) - 1)]


def text_places(data: ByteSource) -> Places:
    """Those of a file that is one text."""

    def between(places: Sequence[int], number: int, find: FindBorder) -> TextPart:
        start, stop = _borders(data, places, number, find)
        return TextPart(partial(_blocks, data, start, stop), start == 0, stop == places[-1])

    return Places(partial(_multiples, data), between)


def line_places(
    data: ByteSource, read: Callable[[Iterator[bytes], bool], Iterator[Batch]]
) -> Places:
    """Those of a file of lines, which `read` makes documents of; it is told if they open it."""

    def between(places: Sequence[int], number: int) -> Iterator[Batch]:
        start, stop = _borders(data, places, number, behind_line_feed)
        return read(_blocks(data, start, stop), start == 0)

    return Places(partial(_multiples, data), between)


def behind_line_feed(stretch: bytes) -> int | None:
    return stretch.find(b"\n") + 1 or None


def _multiples(data: ByteSource, size: int) -> list[int]:
    end = data.size or 0
    count = max(1, end // size)
    return [end * number // count for number in range(count)] + [end]


def _borders(
    data: ByteSource, places: Sequence[int], number: int, find: FindBorder
) -> tuple[int, int]:
    """Where the part begins and ends; at the same byte where another one has all of it."""
    with opened_file(data) as file:

        def border(of: int) -> int | None:
            place, end = places[of : of + 2]
            if place == 0:
                return 0
            size = _WINDOW
            while True:
                file.seek(place)
                found = find(file.read(min(size, end - place)))
                if found is not None:
                    return place + found
                if place + size >= end:
                    return None
                size *= 4

        start = border(number)
        if start is None:
            return places[number], places[number]
        later = map(border, range(number + 1, len(places) - 1))
        return start, next((found for found in later if found is not None), places[-1])


def _blocks(data: ByteSource, start: int, stop: int) -> Iterator[bytes]:
    with opened_file(data) as file:
        file.seek(start)
        while start < stop and (block := file.read(min(BLOCK_SIZE, stop - start))):
            start += len(block)
            yield block
