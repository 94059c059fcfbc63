"""What writers are given: some ids of a stream, and where documents end among them."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tokctl.idfiles.dtypes import Dtype


class Place(NamedTuple):
    """A source: its number among the sources, from 0, and in an archive that of the member."""

    source: int = 0
    member: int = 0


class Before(NamedTuple):
    """How far a source was read when a chunk began: encoding can begin there again.

    Attributes:
        text: bytes of a document's text, as the encoder was given it; from there on its ids do
            not depend on what was before.
        records: of a source of records, those that were read.
        documents: those that have ended in this source.
        ids: of the document that has not.
        drawn: texts that a segmentation was drawn for, in all sources.
    """

    text: int = 0
    records: int = 0
    documents: int = 0
    ids: int = 0
    drawn: int = 0


#: The first source, and the beginning of one.
FIRST = Place()
BEGIN = Before()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Ids that follow those of the chunk before.

    Attributes:
        data: the ids as little-endian numbers of `width` bytes each, end to end; or lines.
        count: how many ids there are.
        ends: for each document that ends here, how many of these ids stand before its end.
            A document may begin in an earlier chunk; an empty one ends where it begins.
        width: bytes of an id; 0 where `data` is lines.
        byte_ends: of lines, where in `data` each document ends.
        place, before: where the chunk comes from.
    """

    data: bytes | memoryview
    count: int
    ends: Sequence[int] = ()
    width: int = 2
    byte_ends: Sequence[int] = ()
    place: Place = FIRST
    before: Before = BEGIN

    @classmethod
    def of(cls, documents: Iterable[Sequence[int]], dtype: Dtype) -> Chunk:
        """Whole documents, each given as its ids."""
        ids = array("H" if dtype.width == 2 else "I")
        ends = array("q")
        for document in documents:
            ids.extend(document)
            ends.append(len(ids))
        return cls(little_endian(ids), len(ids), ends, dtype.width)

    def part(
        self, ids: int, end: int, to_ids: int | None = None, to_end: int | None = None
    ) -> Chunk:
        """From id `ids` and the end number `end` on, up to `to_ids` and `to_end`."""
        stop = self.count if to_ids is None else to_ids
        last = len(self.ends) if to_end is None else to_end
        if (ids, end, stop, last) == (0, 0, self.count, len(self.ends)):
            return self
        ends = self.ends[end:last]
        view = memoryview(self.data)
        if self.width:
            view, lines = view[ids * self.width : stop * self.width], self.byte_ends
        else:
            begin = self.byte_ends[end - 1] if end else 0
            view = view[begin : self.byte_ends[last - 1] if last else 0]
            lines = shifted(self.byte_ends[end:last], -begin)
        return replace(self, data=view, count=stop - ids, ends=shifted(ends, -ids), byte_ends=lines)


def shifted(numbers: Sequence[int], by: int) -> Sequence[int]:
    """The numbers, each with `by` added."""
    return numbers if by == 0 else array("q", [number + by for number in numbers])


def without(chunks: Iterable[Chunk], documents: int, ids: int) -> Iterator[Chunk]:
    """The chunks without their first documents, and without the first ids of the next one."""
    for chunk in chunks:
        ended = min(documents, len(chunk.ends))
        documents -= ended
        if documents:
            continue
        start = chunk.ends[ended - 1] if ended else 0
        taken = min(ids, chunk.count - start)
        ids -= taken
        yield chunk.part(start + taken, ended)


def little_endian(numbers: array[int]) -> bytes:
    """The numbers, each with its lowest byte first."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()
