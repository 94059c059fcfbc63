"""Pieces: the ids of a part of the sources, made by one process, before they are put into shards.

A piece is a file of frames and a table. A frame is a chunk of about a megabyte: its ids or lines;
then the ends of its documents (64-bit numbers); and for lines the bytes where these end. The table
has a row for each frame, with the SHA-256 of its bytes, and the piece is identified by the SHA-256
of its table. So a reader of a few frames can check exactly the bytes that it reads.
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from tokctl import _native
from tokctl.core.errors import BadInput
from tokctl.idfiles.chunks import Chunk
from tokctl.idfiles.dtypes import DTYPES, little_endian, numbers
from tokctl.idfiles.shard_journal import StoredPiece
from tokctl.idfiles.shard_stores import ShardStore
from tokctl.idfiles.stream import Encoder, NativeEncoder
from tokctl.model.parts import native_parts
from tokctl.sources import Document, Records, flat
from tokctl.sources.parts import FindSplit, SourcePart, TextPart, after_line_feed

if TYPE_CHECKING:
    from tokctl.tokenizer.documents import DocumentEncoder

#: Approximate number of bytes in a frame.
_FRAME = 1 << 20

#: Row of the table: bytes of ids or lines, number of ids, number of ends of documents, SHA-256.
_ROW = struct.Struct("<QQQ32s")

_OFFSETS = DTYPES["int64"]


class DamagedPieceError(BadInput):
    """Error for a piece that is missing or has changed since it was written.

    Attributes:
        piece: name of the file.
    """

    def __init__(self, folder: ShardStore, file: str, problem: str) -> None:
        super().__init__(
            f"{folder.file(file)} is damaged: {problem}",
            "repeat the command with --resume: the piece is made again",
            "damaged",
        )
        self.piece = file


def write_piece(folder: ShardStore, file: str, chunks: Iterable[Chunk], width: int) -> StoredPiece:
    """Write chunks as a piece, completely or not at all.

    Errors that occur while the chunks are made are passed on.

    Args:
        folder: folder of the pieces.
        file: name of the file.
        chunks: the ids or lines.
        width: bytes of an id; 0: the chunks hold lines.

    Raises:
        TokctlError: the file can't be written.
    """
    with folder.writer(file) as out:
        rows = [_write_frame(out, chunk) for chunk in _join_chunks(chunks, width)]
        table = b"".join(_ROW.pack(*row) for row in rows)
        out.write(table)
        size = sum(row.whole_size(width) for row in rows) + len(table)
    digest = hashlib.sha256(table).hexdigest()
    ids, documents = sum(row.ids for row in rows), sum(row.documents for row in rows)
    return StoredPiece(size, len(rows), digest, ids, documents)


class _FrameRow(NamedTuple):
    """Row of the table; see `_ROW`."""

    size: int
    ids: int
    documents: int
    sha256: bytes

    def whole_size(self, width: int) -> int:
        """Return the bytes of the frame, offsets included."""
        return self.size + self.documents * _OFFSETS.width * (1 if width else 2)


def _join_chunks(chunks: Iterable[Chunk], width: int) -> Iterator[Chunk]:
    """Yield the chunks joined to chunks of about the size of a frame."""
    data: list[bytes | memoryview] = []
    ends, byte_ends = array("q"), array("q")
    size = count = 0
    for chunk in chunks:
        ends.extend([end + count for end in chunk.ends] if count else chunk.ends)
        byte_ends.extend([end + size for end in chunk.byte_ends] if size else chunk.byte_ends)
        data.append(chunk.data)
        size, count = size + len(chunk.data), count + chunk.count
        if size + _OFFSETS.width * len(ends) >= _FRAME:
            yield Chunk(b"".join(data), count, ends, width, byte_ends)
            data, ends, byte_ends = [], array("q"), array("q")
            size = count = 0
    if count or ends:
        yield Chunk(b"".join(data), count, ends, width, byte_ends)


def _write_frame(out: BinaryIO, chunk: Chunk) -> _FrameRow:
    digest = hashlib.sha256()
    for data in (chunk.data, *(little_endian(array("q", ends)) for ends in _end_columns(chunk))):
        out.write(data)
        digest.update(data)
    return _FrameRow(len(chunk.data), chunk.count, len(chunk.ends), digest.digest())


def _end_columns(chunk: Chunk) -> Sequence[Sequence[int]]:
    return [chunk.ends] if chunk.width else [chunk.ends, chunk.byte_ends]


@dataclass(frozen=True)
class PlacedPiece:
    """A piece with its position among the ids of all sources.

    Attributes:
        folder: folder of the file.
        file: name of the file.
        piece: facts about the piece.
        width: bytes of an id; 0: the piece holds lines.
        first_id: number of ids of all sources before the piece.
    """

    folder: ShardStore
    file: str
    piece: StoredPiece
    width: int
    first_id: int

    @property
    def end(self) -> int:
        """Number of ids of all sources up to the end of the piece."""
        return self.first_id + self.piece.ids

    def frames(self, is_wanted: Callable[[int, int], bool]) -> Iterator[tuple[int, Chunk]]:
        """Yield the wanted frames, each with the number of ids before it; check their SHA-256.

        Args:
            is_wanted: function of two numbers of ids over all sources: before the frame, and up to
                its end.

        Raises:
            DamagedPieceError: the file is not as it was written.
        """
        try:
            with self.folder.reader(self.file) as file:
                offset, first_id = 0, self.first_id
                for row in self._read_table(file):
                    if is_wanted(first_id, first_id + row.ids):
                        file.seek(offset)
                        yield first_id, self._read_frame(file, row)
                    offset, first_id = offset + row.whole_size(self.width), first_id + row.ids
        except OSError as error:
            raise self._damage_error(error.strerror or str(error)) from None

    def _damage_error(self, problem: str) -> DamagedPieceError:
        return DamagedPieceError(self.folder, self.file, problem)

    def _read_table(self, file: BinaryIO) -> list[_FrameRow]:
        size = self.piece.frames * _ROW.size
        start = self.piece.bytes - size
        if file.seek(0, 2) != self.piece.bytes or file.seek(start) != start:
            raise self._damage_error(f"it had {self.piece.bytes:,} bytes")
        table = file.read(size)
        if hashlib.sha256(table).hexdigest() != self.piece.sha256:
            raise self._damage_error("its table has another checksum")
        return [_FrameRow(*row) for row in _ROW.iter_unpack(table)]

    def _read_frame(self, file: BinaryIO, row: _FrameRow) -> Chunk:
        data = file.read(row.whole_size(self.width))
        if hashlib.sha256(data).digest() != row.sha256:
            raise self._damage_error("a part of it has another checksum")
        view = memoryview(data)
        ends = numbers(view[row.size :], _OFFSETS)
        byte_ends: Sequence[int] = ()
        if not self.width:
            ends, byte_ends = ends[: row.documents], ends[row.documents :]
        return Chunk(view[: row.size], row.ids, ends, self.width, byte_ends)


class Slice:
    """Ids of all pieces from index `start` up to index `stop`, and the ends of their documents.

    An end of a document at `stop` is included. One at `start` belongs to the stretch before, unless
    `start` is 0.

    Attributes:
        continues_document: whether the first id continues a document; known once the first chunk
            was made.
    """

    def __init__(self, pieces: Sequence[PlacedPiece], start: int, stop: int) -> None:
        self.continues_document = start > 0
        self._pieces = pieces
        self._start, self._stop = start, stop

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks of the stretch; raise DamagedPieceError if a piece has changed."""

        def overlaps(first_id: int, last_end: int) -> bool:
            return first_id <= self._stop and last_end >= self._start

        for piece in self._pieces:
            for first_id, chunk in piece.frames(overlaps):
                start, stop = self._start - first_id, self._stop - first_id
                first_end = bisect_right(chunk.ends, start) if self._start else 0
                if first_end > bisect_left(chunk.ends, start):
                    self.continues_document = False
                last_end = bisect_right(chunk.ends, stop)
                part = chunk.part(max(start, 0), first_end, min(stop, chunk.count), last_end)
                if part.count or part.ends:
                    yield part


def shard_ends(pieces: Sequence[PlacedPiece], size: int) -> Iterator[int]:
    """Yield the ends of shards of whole documents, as numbers of ids.

    A shard ends with the document that reaches `size` ids. If the last document does, the end of
    all ids is among the results.

    Args:
        pieces: all pieces, in the order of the sources.
        size: number of ids of a shard.

    Raises:
        DamagedPieceError: a piece has changed.
    """
    target = size

    def reaches_target(_first_id: int, end: int) -> bool:
        return end >= target

    for piece in pieces:
        if piece.end < target:
            continue
        for first_id, chunk in piece.frames(reaches_target):
            index = 0
            while (index := bisect_left(chunk.ends, target - first_id, lo=index)) < len(chunk.ends):
                shard_end = first_id + chunk.ends[index]
                yield shard_end
                target = shard_end + size


# -- parts of sources to chunks -------------------------------------------------------------


def encode_part(part: SourcePart, encoder: Encoder) -> Iterator[Chunk]:
    """Yield the ids of a part of a source.

    Args:
        part: a source, or a part of it.
        encoder: encoder of the source.

    Raises:
        TokctlError: as `Encoder.chunks`; lines and rows are counted from the start of the part.
    """
    source = part.source
    if not part.boundaries:
        for whole_source in flat([source]):
            yield from encoder.chunks(whole_source)
        return
    assert isinstance(source, (Document, Records)) and source.splitter
    read_between = source.splitter().read
    if isinstance(source, Records):
        batches = partial(read_between, part.boundaries, part.number)
        yield from encoder.chunks(Records(source.name, None, batches, lambda: 0, unit=source.unit))
        return
    text: TextPart = read_between(part.boundaries, part.number, _border_finder(encoder.documents))
    document = Document(source.name, None, text.blocks)
    if encoder.documents.lines or text.closes:
        yield from encoder.chunks(document)
    else:
        assert isinstance(encoder, NativeEncoder)
        yield from encoder.open_chunks(document)


def _border_finder(documents: DocumentEncoder) -> FindSplit:
    if documents.lines:
        return after_line_feed
    parts = native_parts(documents.tokenizer.recipe.pre_tokenizers)
    return _native.Counter(parts, [], 1).cut
