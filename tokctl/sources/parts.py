"""Parts of a source, for several processes that read in parallel: text, lines, or row groups.

Each part finds its own start: the first border after its nominal start, if that border is before
the nominal start of the next part. So a part needs no other part, and together they have everything
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tokctl.sources.blocks import BLOCK_SIZE, ByteSource, opened_file
from tokctl.sources.document import Archive, Batch, Places, Source

#: Function that returns the first border in a stretch of bytes with any start; None if there is
#: none.
FindBorder = Callable[[bytes], int | None]

#: Bytes read first to find a border; the window grows fourfold until one is found.
_WINDOW = 1 << 16


class SourcePart(NamedTuple):
    """Part of a source that one process reads.

    Attributes:
        source: the source; on another machine, the same path must lead to the same file.
        places: starts of all parts, as `Places.of` returns them; empty: the source is read as a
            whole.
        number: index of the part, from 0.
        size: approximate number of bytes as stored; None if unknown.
    """

    source: Source
    places: tuple[int, ...] = ()
    number: int = 0
    size: int | None = None

    @property
    def name(self) -> str:
        """Name of the source and position of the part, for messages."""
        if not self.places or isinstance(self.source, Archive) or not self.source.places:
            return self.source.name
        start, stop = self.places[self.number : self.number + 2]
        return f"{self.source.name}: {self.source.places().unit} {start:,} to {stop:,}"


def named(parts: Sequence[SourcePart]) -> str:
    """Return a short name for the parts that one process reads."""
    return parts[0].name + (f" and {len(parts) - 1:,} more" if len(parts) > 1 else "")


class TextPart(NamedTuple):
    """Part of a document.

    Attributes:
        blocks: function that returns the text.
        opens: whether the document begins with the part.
        closes: whether the document ends with the part.
    """

    blocks: Callable[[], Iterator[bytes]]
    opens: bool
    closes: bool


def parts_of(source: Source, size: int) -> list[SourcePart]:
    """Return the source in parts of about `size` bytes; one part if it can't be divided."""
    places = None if isinstance(source, Archive) else source.places
    found = tuple(places().of(size)) if places and source.size and source.size > size else ()
    if len(found) < 3:
        return [SourcePart(source, size=source.size)]
    each = (source.size or 0) // (len(found) - 1)
    return [SourcePart(source, found, number, each) for number in range(len(found) - 1)]


def text_places(data: ByteSource) -> Places:
    """Return how to divide a file that is one text."""

    def between(places: Sequence[int], number: int, find: FindBorder) -> TextPart:
        start, stop = _borders(data, places, number, find)
        return TextPart(partial(_blocks, data, start, stop), start == 0, stop == places[-1])

    return Places(partial(_multiples, data), between)


def line_places(
    data: ByteSource, read: Callable[[Iterator[bytes], bool], Iterator[Batch]]
) -> Places:
    """Return how to divide a file of lines.

    Args:
        data: the file.
        read: function that makes batches of blocks; its second argument is whether they are the
            start of the file.
    """

    def between(places: Sequence[int], number: int) -> Iterator[Batch]:
        start, stop = _borders(data, places, number, behind_line_feed)
        return read(_blocks(data, start, stop), start == 0)

    return Places(partial(_multiples, data), between)


def behind_line_feed(stretch: bytes) -> int | None:
    """Return the index after the first line feed; None if the bytes have no line feed."""
    return stretch.find(b"\n") + 1 or None


def _multiples(data: ByteSource, size: int) -> list[int]:
    end = data.size or 0
    count = max(1, end // size)
    return [end * number // count for number in range(count)] + [end]


def _borders(
    data: ByteSource, places: Sequence[int], number: int, find: FindBorder
) -> tuple[int, int]:
    """Return the first byte of a part and the byte after it; both are equal for an empty part."""
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
