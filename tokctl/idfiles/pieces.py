"""Pieces: the ids of a part of the sources, which one process made, on their way to shards.

A piece is a file of frames and a table. A frame is a chunk of about a megabyte: its ids or lines,
then where documents end in it (64-bit numbers), and of lines where these bytes end. The table has
a row for each frame, with the SHA-256 of its bytes; the piece is known by the SHA-256 of its
table. So whoever reads a stretch of a piece has checked what it read, and reads nothing else.
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
from tokctl.errors import TokctlError
from tokctl.idfiles.chunks import Chunk
from tokctl.idfiles.dtypes import DTYPES, little_endian, numbers
from tokctl.idfiles.places import Place
from tokctl.idfiles.writer import Encoder, NativeEncoder
from tokctl.model.parts import native_parts
from tokctl.sources import Document, Records, flat
from tokctl.sources.parts import FindBorder, SourcePart, TextPart, behind_line_feed

if TYPE_CHECKING:
    from tokctl.tokenizer.documents import DocumentEncoder

#: Bytes of ids or lines in a frame, about.
_FRAME = 1 << 20

#: Of a frame: bytes of ids or lines, ids, documents that end, SHA-256.
_ROW = struct.Struct("<QQQ32s")

_OFFSETS = DTYPES["int64"]


class StoredPiece(NamedTuple):
    """What is known of a piece that was written.

    Attributes:
        bytes: of its file.
        frames: how many.
        sha256: of its table.
        ids, documents: in it; a document counts where it ends.
    """

    bytes: int
    frames: int
    sha256: str
    ids: int
    documents: int


class DamagedPieceError(TokctlError):
    """A piece is not there any more as it was written.

    Attributes:
        piece: the name of its file.
    """

    def __init__(self, folder: Place, file: str, problem: str) -> None:
        super().__init__(
            f"{folder.file(file)} is damaged: {problem}",
            "repeat the command with --resume: it is made again",
        )
        self.piece = file


def write_piece(folder: Place, file: str, chunks: Iterable[Chunk], width: int) -> StoredPiece:
    """Writes chunks, of ids of `width` bytes or of lines (0), as a piece; whole or not at all.

    Raises:
        TokctlError: the file can't be written; or what making the chunks raises.
    """
    with folder.writer(file) as out:
        rows = [_write_frame(out, chunk) for chunk in _joined(chunks, width)]
        table = b"".join(_ROW.pack(*row) for row in rows)
        out.write(table)
        size = sum(row.whole_size(width) for row in rows) + len(table)
    digest = hashlib.sha256(table).hexdigest()
    ids, documents = sum(row.ids for row in rows), sum(row.documents for row in rows)
    return StoredPiece(size, len(rows), digest, ids, documents)


class _FrameRow(NamedTuple):
    """Of the table: see `_ROW`."""

    size: int
    ids: int
    documents: int
    sha256: bytes

    def whole_size(self, width: int) -> int:
        """Bytes of the frame, offsets included."""
        return self.size + self.documents * _OFFSETS.width * (1 if width else 2)


def _joined(chunks: Iterable[Chunk], width: int) -> Iterator[Chunk]:
    """The same in chunks of about the size of a frame."""
    data: list[bytes | memoryview] = []
    ends, lines = array("q"), array("q")
    size = count = 0
    for chunk in chunks:
        ends.extend([end + count for end in chunk.ends] if count else chunk.ends)
        lines.extend([end + size for end in chunk.byte_ends] if size else chunk.byte_ends)
        data.append(chunk.data)
        size, count = size + len(chunk.data), count + chunk.count
        if size + _OFFSETS.width * len(ends) >= _FRAME:
            yield Chunk(b"".join(data), count, ends, width, lines)
            data, ends, lines = [], array("q"), array("q")
            size = count = 0
    if count or ends:
        yield Chunk(b"".join(data), count, ends, width, lines)


def _write_frame(out: BinaryIO, chunk: Chunk) -> _FrameRow:
    digest = hashlib.sha256()
    for data in (chunk.data, *(little_endian(array("q", each)) for each in _offsets(chunk))):
        out.write(data)
        digest.update(data)
    return _FrameRow(len(chunk.data), chunk.count, len(chunk.ends), digest.digest())


def _offsets(chunk: Chunk) -> Sequence[Sequence[int]]:
    return [chunk.ends] if chunk.width else [chunk.ends, chunk.byte_ends]


@dataclass(frozen=True)
class PlacedPiece:
    """A piece, and where it stands.

    Attributes:
        folder, file: that it lies in, and its name there.
        width: bytes of an id; 0: it holds lines.
        first: ids before it, of all sources.
    """

    folder: Place
    file: str
    piece: StoredPiece
    width: int
    first: int

    @property
    def end(self) -> int:
        return self.first + self.piece.ids

    def frames(self, wanted: Callable[[int, int], bool]) -> Iterator[tuple[int, Chunk]]:
        """The frames, checked, that are wanted by the number of their first id and of the one
        after the last, among those of all sources; each with the number of its first id.

        Raises:
            DamagedPieceError: it is not what was written.
        """
        try:
            with self.folder.reader(self.file) as file:
                place, first = 0, self.first
                for row in self._table(file):
                    if wanted(first, first + row.ids):
                        file.seek(place)
                        yield first, self._read(file, row)
                    place, first = place + row.whole_size(self.width), first + row.ids
        except OSError as error:
            raise self._damaged(error.strerror or str(error)) from None

    def _damaged(self, problem: str) -> DamagedPieceError:
        return DamagedPieceError(self.folder, self.file, problem)

    def _table(self, file: BinaryIO) -> list[_FrameRow]:
        size = self.piece.frames * _ROW.size
        start = self.piece.bytes - size
        if file.seek(0, 2) != self.piece.bytes or file.seek(start) != start:
            raise self._damaged(f"it had {self.piece.bytes:,} bytes")
        table = file.read(size)
        if hashlib.sha256(table).hexdigest() != self.piece.sha256:
            raise self._damaged("its table has another checksum")
        return [_FrameRow(*row) for row in _ROW.iter_unpack(table)]

    def _read(self, file: BinaryIO, row: _FrameRow) -> Chunk:
        data = file.read(row.whole_size(self.width))
        if hashlib.sha256(data).digest() != row.sha256:
            raise self._damaged("a part of it has another checksum")
        view = memoryview(data)
        ends = numbers(view[row.size :], _OFFSETS)
        lines: Sequence[int] = ()
        if not self.width:
            ends, lines = ends[: row.documents], ends[row.documents :]
        return Chunk(view[: row.size], row.ids, ends, self.width, lines)


class Stretch:
    """The ids from number `start` up to number `stop` of all pieces, and the ends of documents
    after them: those at `start` belong to what is before, if that is anything.

    Attributes:
        begun: a document goes on with the first id; known when the first chunk has come.
    """

    def __init__(self, pieces: Sequence[PlacedPiece], start: int, stop: int) -> None:
        self.begun = start > 0
        self._pieces = pieces
        self._start, self._stop = start, stop

    def chunks(self) -> Iterator[Chunk]:
        """Its chunks; DamagedPieceError if a piece is not what was written."""

        def wanted(first: int, end: int) -> bool:
            return first <= self._stop and end >= self._start

        for piece in self._pieces:
            for first, whole in piece.frames(wanted):
                start, stop = self._start - first, self._stop - first
                begin = bisect_right(whole.ends, start) if self._start else 0
                if begin > bisect_left(whole.ends, start):
                    self.begun = False
                end = bisect_right(whole.ends, stop)
                part = whole.part(max(start, 0), begin, min(stop, whole.count), end)
                if part.count or part.ends:
                    yield part


def borders(pieces: Sequence[PlacedPiece], size: int) -> Iterator[int]:
    """Where shards of whole documents end, each with the document that reaches `size` ids; where
    the ids end, too, if the last one does. Raises DamagedPieceError."""
    target = size

    def wanted(_first: int, end: int) -> bool:
        return end >= target

    for piece in pieces:
        if piece.end < target:
            continue
        for first, chunk in piece.frames(wanted):
            at = 0
            while (at := bisect_left(chunk.ends, target - first, lo=at)) < len(chunk.ends):
                border = first + chunk.ends[at]
                yield border
                target = border + size


# -- from a part of a source to chunks ------------------------------------------------------


def chunks_of(part: SourcePart, encoder: Encoder) -> Iterator[Chunk]:
    """The ids of a part, as its source has them.

    Raises:
        TokctlError: as `Encoder.chunks`; its lines and rows are counted from where the part
            begins.
    """
    source = part.source
    if not part.places:
        for one in flat([source]):
            yield from encoder.chunks(one)
        return
    assert isinstance(source, (Document, Records)) and source.places
    between = source.places().between
    if isinstance(source, Records):
        batches = partial(between, part.places, part.number)
        yield from encoder.chunks(Records(source.name, None, batches, lambda: 0, unit=source.unit))
        return
    text: TextPart = between(part.places, part.number, _border(encoder.documents))
    document = Document(source.name, None, text.blocks)
    if encoder.documents.lines or text.closes:
        yield from encoder.chunks(document)
    else:
        assert isinstance(encoder, NativeEncoder)
        yield from encoder.open_chunks(document)


def _border(documents: DocumentEncoder) -> FindBorder:
    if documents.lines:
        return behind_line_feed
    parts = native_parts(documents.tokenizer.recipe.pre_tokenizers)
    return _native.Counter(parts, [], 1).cut
