"""Ids between the encoder and the files: chunks to write, and parts that were read."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO, NamedTuple, Protocol

from tokctl.idfiles.dtypes import Dtype, little_endian


class SourceIndex(NamedTuple):
    """Number of a source, from 0, and within an archive the number of the member, from 0."""

    source: int = 0
    member: int = 0


class ResumePoint(NamedTuple):
    """Point in a source where encoding can start again, as it was when a chunk began.

    Attributes:
        text: bytes of text that the encoder had received of the document. The ids after this point
            do not depend on the text before it.
        records: records read so far, for a source of records.
        documents: documents of the source that had ended.
        ids: ids of the document that had not ended.
        drawn: texts for which a random segmentation was drawn, over all sources.
    """

    text: int = 0
    records: int = 0
    documents: int = 0
    ids: int = 0
    drawn: int = 0


FIRST_SOURCE = SourceIndex()
SOURCE_START = ResumePoint()


class StreamPosition(NamedTuple):
    """Position in a stream of chunks from which the stream can be resumed.

    Attributes:
        source: the source that the position is in.
        resume: point at or before the position where encoding can start again.
        documents: documents of the source that have ended before the position.
        ids: ids before the position of the document that has not ended.
    """

    source: SourceIndex = FIRST_SOURCE
    resume: ResumePoint = SOURCE_START
    documents: int = 0
    ids: int = 0

    @property
    def is_inside(self) -> bool:
        """Whether a part of the source is before the position."""
        return bool(self.documents or self.ids or self.source.member)


STREAM_START = StreamPosition()


@dataclass(frozen=True)
class Chunk:
    """Ids that follow the ids of the chunk before.

    Attributes:
        data: the ids as little-endian numbers of `width` bytes each, end to end; or lines of text.
        count: number of ids.
        ends: for each document that ends in the chunk, the number of ids of the chunk before that
            end. A document may begin in an earlier chunk; an empty one ends where it begins.
        width: bytes per id; 0 if `data` is lines.
        byte_ends: for lines, the byte of `data` where each document ends.
        source: the source that the chunk comes from.
        resume: point in the source where encoding can start again for the ids of the chunk.
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
        """Return a chunk of whole documents, each given as its ids.

        Args:
            documents: the ids of each document.
            dtype: type of the ids; 2 or 4 bytes wide.

        Raises:
            OverflowError: an id is negative or does not fit the width.

        Example:
            Chunk.of([[1, 2], [3]], dtype_for("npy", 50_257)).ends  # array('q', [2, 3])
        """
        ids = array("H" if dtype.width == 2 else "I")
        ends = array("q")
        for document in documents:
            ids.extend(document)
            ends.append(len(ids))
        return cls(little_endian(ids), len(ids), ends, dtype.width)

    def part(
        self, start_id: int, start_end: int, stop_id: int | None = None, stop_end: int | None = None
    ) -> Chunk:
        """Return the part of the chunk from one position up to another.

        Args:
            start_id: number of ids before the part.
            start_end: number of document ends before the part.
            stop_id: number of ids before the end of the part; None: all.
            stop_end: number of document ends before the end of the part; None: all.
        """
        id_limit = self.count if stop_id is None else stop_id
        end_limit = len(self.ends) if stop_end is None else stop_end
        if (start_id, start_end, id_limit, end_limit) == (0, 0, self.count, len(self.ends)):
            return self
        ends = self.ends[start_end:end_limit]
        view = memoryview(self.data)
        if self.width:
            view, byte_ends = view[start_id * self.width : id_limit * self.width], self.byte_ends
        else:
            byte_start = self.byte_ends[start_end - 1] if start_end else 0
            view = view[byte_start : self.byte_ends[end_limit - 1] if end_limit else 0]
            byte_ends = _shift(self.byte_ends[start_end:end_limit], -byte_start)
        return replace(
            self,
            data=view,
            count=id_limit - start_id,
            ends=_shift(ends, -start_id),
            byte_ends=byte_ends,
        )


def _shift(numbers: Sequence[int], offset: int) -> Sequence[int]:
    return numbers if offset == 0 else array("q", [number + offset for number in numbers])


def skip_leading(chunks: Iterable[Chunk], documents: int, ids: int) -> Iterator[Chunk]:
    """Yield the chunks without the first documents, and without the first ids of the next document.

    Args:
        chunks: the chunks of a source.
        documents: number of documents to leave out.
        ids: number of ids to leave out of the document after them.
    """
    for chunk in chunks:
        ended = min(documents, len(chunk.ends))
        documents -= ended
        if documents:
            continue
        start = chunk.ends[ended - 1] if ended else 0
        skipped = min(ids, chunk.count - start)
        ids -= skipped
        yield chunk.part(start + skipped, ended)


class FormFiles(Protocol):
    """Files that a writer fills.

    Attributes:
        files: the files, empty and in the order of the form's endings; or a stream.
        is_stream: whether the data is for a stream, which can't be sought.
    """

    files: Sequence[BinaryIO]
    is_stream: bool

    def seekable(self) -> BinaryIO:
        """Return the first file, or a temporary one that is copied to the stream at the end."""

    def temporary(self) -> BinaryIO:
        """Return an unnamed temporary file, on the disk of the first file."""


class DocumentIndex(Protocol):
    """Writer of the positions of documents; `count` is the number of positions so far."""

    count: int

    def add(self, chunk: Chunk) -> None:
        """Write the positions of a chunk."""


class IdFileWriter:
    """Base class of the writers of all forms; takes one chunk after the other.

    Attributes:
        dtype: type of the ids.
        ids: number of ids written so far.
        documents: number of documents that have ended so far.
        index: writer of an index that gets every chunk, too; None: no index.
    """

    def __init__(self, output: FormFiles, dtype: Dtype) -> None:
        """Write ids of a type; subclasses take their files from `output`."""
        self.dtype = dtype
        self.ids = 0
        self.documents = 0
        self.index: DocumentIndex | None = None
        self._out = output.files[0]

    @classmethod
    def libraries(cls) -> dict[str, str]:
        """Return the versions of the libraries that decide the bytes.

        Raises:
            TokctlError: a library is missing.
        """
        return {}

    def add(self, chunk: Chunk) -> None:
        """Write a chunk to the file and to the index, and count it."""
        self.write(chunk)
        if self.index is not None:
            self.index.add(chunk)
        self.ids += chunk.count
        self.documents += len(chunk.ends)

    def write(self, chunk: Chunk) -> None:
        """Write a chunk to the file; `ids` and `documents` do not count it yet."""
        raise NotImplementedError

    def finish(self) -> None:
        """Write what depends on the whole file, such as a header with the final count."""

    def abandon(self) -> None:
        """Release an unfinished file; write nothing more."""


class IdPart(NamedTuple):
    """Ids read from a file, which follow the ids of the part before.

    Attributes:
        ids: whole numbers, as an object with the buffer protocol; their range is not checked.
        locate: function that returns where an id is in the file, for messages; its argument is the
            index of the id in `ids`.
        ends: whether a document ends after the ids. In a file that does not store the ends of
            documents it is False for all parts, and all ids are one row.
    """

    ids: Sequence[int]
    locate: Callable[[int], str]
    ends: bool = False
