"""Ids between the encoder and the files: chunks to be written, and parts that were read."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from tokctl.idfiles.dtypes import Dtype, little_endian

if TYPE_CHECKING:
    from tokctl.idfiles.npy import Index


class SourceIndex(NamedTuple):
    """A source: its number among the sources, from 0, and in an archive that of the member."""

    source: int = 0
    member: int = 0


class ResumePoint(NamedTuple):
    """How far a source had been read when a chunk began: encoding can begin there again.

    Attributes:
        text: bytes of a document's text, as the encoder got it; from there on its ids do not
            depend on what was before.
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


FIRST_SOURCE = SourceIndex()
SOURCE_START = ResumePoint()


class StreamPosition(NamedTuple):
    """Where a stream of chunks can be resumed.

    Attributes:
        source: the source.
        resume: how far it had been read where encoding can begin again.
        documents: of this source, those that have ended.
        ids: of the document that has not ended.
    """

    source: SourceIndex = FIRST_SOURCE
    resume: ResumePoint = SOURCE_START
    documents: int = 0
    ids: int = 0

    @property
    def is_inside(self) -> bool:
        """Has a part of its source been taken?"""
        return bool(self.documents or self.ids or self.source.member)


STREAM_START = StreamPosition()


@dataclass(frozen=True)
class Chunk:
    """Ids that follow those of the chunk before.

    Attributes:
        data: the ids as little-endian numbers of `width` bytes each, end to end; or lines.
        count: how many ids there are.
        ends: for each document that ends here, how many of these ids stand before its end.
            A document may begin in an earlier chunk; an empty one ends where it begins.
        width: bytes per id; 0 where `data` is lines.
        byte_ends: of lines, where in `data` each document ends.
        source, resume: where the chunk comes from.
    """

    data: bytes | memoryview
    count: int
    ends: Sequence[int] = ()
    width: int = 2
    byte_ends: Sequence[int] = ()
    source: SourceIndex = FIRST_SOURCE
    resume: ResumePoint = SOURCE_START

    @classmethod
    def of(cls, documents: Iterable[Sequence[int]], dtype: Dtype) -> Chunk:
        """A chunk of whole documents, each as its ids."""
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
            lines = _shifted(self.byte_ends[end:last], -begin)
        return replace(
            self, data=view, count=stop - ids, ends=_shifted(ends, -ids), byte_ends=lines
        )


def _shifted(numbers: Sequence[int], by: int) -> Sequence[int]:
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


class IdFileWriter:
    """The base of the forms' writers: takes chunks, one after the other.

    Attributes:
        dtype: of the ids.
        ids, documents: written so far; a document counts when it ends.
        index: gets every chunk, too.
    """

    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype
        self.ids = 0
        self.documents = 0
        self.index: Index | None = None

    def add(self, chunk: Chunk) -> None:
        """Writes a chunk."""
        self.write(chunk)
        if self.index is not None:
            self.index.add(chunk)
        self.ids += chunk.count
        self.documents += len(chunk.ends)

    def write(self, chunk: Chunk) -> None:
        """Writes a chunk; `ids` and `documents` are still those before it."""
        raise NotImplementedError

    def finish(self) -> None:
        """Writes what is known only at the end."""

    def abandon(self) -> None:
        """Releases what is not finished; nothing more is written."""


class IdPart(NamedTuple):
    """Ids that were read, and follow those of the part before.

    Attributes:
        ids: whole numbers, as an object with the buffer protocol; not checked.
        place: for messages, where in the file an id stands, by its number in `ids` from 0.
        ends: a document ends after them. Where a file does not say where documents end, no
            part has it, and all ids are one row.
    """

    ids: Sequence[int]
    place: Callable[[int], str]
    ends: bool = False
