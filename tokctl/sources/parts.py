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
from tokctl.sources.document import Archive, Batch, Source, Splitter

#: Function that returns the first border in a stretch of bytes with any start; None if there is
#: none.
FindSplit = Callable[[bytes], int | None]

#: Bytes read first to find a border; the window grows fourfold until one is found.
_WINDOW = 1 << 16


class SourcePart(NamedTuple):
    """Part of a source that one process reads.

    Attributes:
        source: the source; on another machine, the same path must lead to the same file.
        boundaries: starts of all parts, as `Splitter.boundaries` returns them; empty: the source is
            read as a whole.
        number: index of the part, from 0.
        size: approximate number of bytes as stored; None if unknown.
    """

    source: Source
    boundaries: tuple[int, ...] = ()
    number: int = 0
    size: int | None = None

    @property
    def name(self) -> str:
        """Name of the source and position of the part, for messages."""
        if not self.boundaries or isinstance(self.source, Archive) or not self.source.splitter:
            return self.source.name
        start, stop = self.boundaries[self.number : self.number + 2]
        return f"{self.source.name}: {self.source.splitter().unit} {start:,} to {stop:,}"


def joint_name(parts: Sequence[SourcePart]) -> str:
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
    splitter = None if isinstance(source, Archive) else source.splitter
    boundaries = (
        tuple(splitter().boundaries(size))
        if splitter and source.size and source.size > size
        else ()
    )
    if len(boundaries) < 3:
        return [SourcePart(source, size=source.size)]
    part_size = (source.size or 0) // (len(boundaries) - 1)
    return [
        SourcePart(source, boundaries, number, part_size) for number in range(len(boundaries) - 1)
    ]


def text_splitter(data: ByteSource) -> Splitter:
    """Return how to divide a file that is one text."""

    def read(boundaries: Sequence[int], number: int, find: FindSplit) -> TextPart:
        start, stop = _part_range(data, boundaries, number, find)
        return TextPart(
            partial(_blocks_between, data, start, stop), start == 0, stop == boundaries[-1]
        )

    return Splitter(partial(_equal_boundaries, data), read)


def line_splitter(
    data: ByteSource, read_lines: Callable[[Iterator[bytes], bool], Iterator[Batch]]
) -> Splitter:
    """Return how to divide a file of lines.

    Args:
        data: the file.
        read_lines: function that makes batches of blocks; its second argument is whether they are
            the start of the file.
    """

    def read(boundaries: Sequence[int], number: int) -> Iterator[Batch]:
        start, stop = _part_range(data, boundaries, number, after_line_feed)
        return read_lines(_blocks_between(data, start, stop), start == 0)

    return Splitter(partial(_equal_boundaries, data), read)


def after_line_feed(data: bytes) -> int | None:
    """Return the index after the first line feed; None if the bytes have no line feed."""
    return data.find(b"\n") + 1 or None


def _equal_boundaries(data: ByteSource, size: int) -> list[int]:
    end = data.size or 0
    count = max(1, end // size)
    return [end * number // count for number in range(count)] + [end]


def _part_range(
    data: ByteSource, boundaries: Sequence[int], number: int, find: FindSplit
) -> tuple[int, int]:
    """Return the first byte of a part and the byte after it; both are equal for an empty part."""
    with opened_file(data) as file:

        def exact_boundary(index: int) -> int | None:
            boundary, end = boundaries[index : index + 2]
            if boundary == 0:
                return 0
            size = _WINDOW
            while True:
                file.seek(boundary)
                offset = find(file.read(min(size, end - boundary)))
                if offset is not None:
                    return boundary + offset
                if boundary + size >= end:
                    return None
                size *= 4

        start = exact_boundary(number)
        if start is None:
            return boundaries[number], boundaries[number]
        later_boundaries = map(exact_boundary, range(number + 1, len(boundaries) - 1))
        return start, next(
            (offset for offset in later_boundaries if offset is not None), boundaries[-1]
        )


def _blocks_between(data: ByteSource, start: int, stop: int) -> Iterator[bytes]:
    with opened_file(data) as file:
        file.seek(start)
        while start < stop and (block := file.read(min(BLOCK_SIZE, stop - start))):
            start += len(block)
            yield block
