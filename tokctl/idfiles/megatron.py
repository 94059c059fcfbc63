"""Megatron-LM's `.bin` and `.idx`, as its `IndexedDatasetBuilder` writes them.

The layout is the one of `megatron/core/datasets/indexed_dataset.py`. The `.bin` has the ids only.
The `.idx` has a header; the length of each sequence (32 bits); the byte of the `.bin` where each
sequence begins (64 bits); and the number of the first sequence of each document, followed by the
number of sequences (64 bits).
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from pathlib import Path

from tokctl.core.errors import BadInput, BadOption, Unsupported
from tokctl.idfiles.chunks import Chunk, FormFiles, IdFileWriter, IdPart
from tokctl.idfiles.dtypes import DTYPES, Dtype, little_endian
from tokctl.idfiles.random_access import IdInput, InputFile, RandomAccessFile, Window
from tokctl.idfiles.registry import BY_NAME

MAGIC = BY_NAME["megatron"].magic
_VERSION = 1
_HEADER = struct.Struct("<9sQBQQ")
_HINT = "copy or write it again: it is damaged, or the index of another file"

#: Largest length of a sequence: lengths are 32-bit numbers.
_MAX_IDS = 2**31 - 1

#: Numbers converted at a time.
_BLOCK = 1 << 16


class MegatronWriter(IdFileWriter):
    """Writer of a sequence for each document."""

    def __init__(self, output: FormFiles, dtype: Dtype) -> None:
        """Write ids and an index; raise TokctlError if there is one stream for both."""
        super().__init__(output, dtype)
        if len(output.files) < 2:
            raise BadOption(
                "Megatron's form has two files", "give their prefix: -o PREFIX", "missing-option"
            )
        self._idx = output.files[1]
        self._lengths = output.temporary()
        self._begin = 0  # ids before the document that has not ended

    def write(self, chunk: Chunk) -> None:
        """Write the ids of a chunk, and keep the lengths of the documents that end in it."""
        self._out.write(chunk.data)
        ids_before, begin = self.ids, self._begin
        lengths = array("i")
        for end in chunk.ends:
            if ids_before + end - begin > _MAX_IDS:
                break
            lengths.append(ids_before + end - begin)
            begin = ids_before + end
        if ids_before + chunk.count - begin > _MAX_IDS:
            raise Unsupported(
                f"a document has more than {_MAX_IDS:,} ids, which Megatron's index can't hold",
                "make each line a document with --lines, or take another form",
            )
        self._begin = begin
        self._lengths.write(lengths)

    def finish(self) -> None:
        """Write the index."""
        count, code = self.documents, self.dtype.megatron
        self._idx.write(_HEADER.pack(MAGIC, _VERSION, code, count, count + 1))
        for lengths in self._stored_lengths():
            self._idx.write(little_endian(lengths))
        offset = 0
        for lengths in self._stored_lengths():
            pointers = array("q")
            for length in lengths:
                pointers.append(offset)
                offset += length * self.dtype.width
            self._idx.write(little_endian(pointers))
        for first in range(0, count + 1, _BLOCK):
            numbers = array("q", range(first, min(first + _BLOCK, count + 1)))
            self._idx.write(little_endian(numbers))

    def _stored_lengths(self) -> Iterator[array[int]]:
        self._lengths.seek(0)
        while block := self._lengths.read(4 * _BLOCK):
            lengths = array("i")
            lengths.frombytes(block)
            yield lengths


def find_pair(path: str) -> tuple[str, str] | None:
    """Return the `.bin` and the `.idx` that a name means; None if one of them does not exist.

    Args:
        path: one of the two files, or the prefix of both.
    """
    stem = path
    for ending in (".bin", ".idx"):
        stem = stem.removesuffix(ending)
    names = (f"{stem}.bin", f"{stem}.idx")
    return names if all(Path(name).is_file() for name in names) else None


def is_index(path: str) -> bool:
    """Return whether a file begins with the signature of a Megatron index."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_megatron(source: IdInput) -> Iterator[IdPart]:
    """Yield the ids of each document, its sequences end to end.

    Args:
        source: one of the two files, or the prefix of both.

    Raises:
        TokctlError: one of the two files is missing or damaged, or they do not belong together.
    """
    name, meter = source.file.name, source.file.meter
    if source.path is None:
        raise BadOption(
            f"{name}: Megatron's ids are two files, a .bin and an .idx",
            "name them",
            "conflict",
        )
    names = find_pair(source.path)
    if names is None:
        raise BadInput(
            f"{name}: Megatron's ids are two files, a .bin and an .idx of the same name",
            "name either of them, or what both names begin with",
            "unreadable",
        )
    data, index = (InputFile(name, path=name, meter=meter) for name in names)
    with data.opened() as ids, index.opened() as idx:
        yield from _read_documents(ids, idx)


def _read_documents(ids: RandomAccessFile, idx: RandomAccessFile) -> Iterator[IdPart]:
    name = idx.name
    if idx.size < _HEADER.size or idx.read(0, len(MAGIC)) != MAGIC:
        raise BadInput(f"{name} is not an index of Megatron", _HINT, "damaged")
    _, version, code, sequences, documents = _HEADER.unpack(idx.read(0, _HEADER.size))
    if version != _VERSION:
        raise Unsupported(f"{name}: it is of version {version} of Megatron's index", _HINT)
    dtype = next((dtype for dtype in DTYPES.values() if dtype.megatron == code), None)
    if dtype is None:
        raise BadInput(
            f"{name}: its numbers are of kind {code}, which are not whole numbers", _HINT, "bad-ids"
        )
    index_size = _HEADER.size + 12 * sequences + 8 * documents
    if idx.size != index_size:
        raise BadInput(
            f"{name}: it has {idx.size:,} bytes, and {sequences:,} sequences and {documents:,} "
            f"ends of documents take {index_size:,}",
            "wait until it is written, or copy it again: it may be cut off",
            "damaged",
        )
    window = Window(ids, 0, ids.size // dtype.width, dtype)
    index_start, width = _HEADER.size, dtype.width
    lengths = idx.numbers(index_start, sequences, DTYPES["int32"])
    byte_starts = idx.numbers(index_start + 4 * sequences, sequences, DTYPES["int64"])
    document_starts = idx.numbers(index_start + 12 * sequences, documents, DTYPES["int64"])
    data_end = 0  # byte after the last sequence so far
    sequence_start = next(document_starts, 0)
    if sequence_start != 0:
        raise BadInput(
            f"{name}: its first document begins with sequence {sequence_start}", _HINT, "damaged"
        )
    for document, sequence_end in enumerate(document_starts, 1):
        if not sequence_start <= sequence_end <= sequences:
            raise BadInput(
                f"{name}: document {document} ends with sequence {sequence_end} of {sequences:,}, "
                f"and begins with {sequence_start}",
                _HINT,
                "damaged",
            )
        for sequence in range(sequence_start, sequence_end):
            length, byte_start = next(lengths), next(byte_starts)
            if (
                length < 0
                or byte_start < 0
                or byte_start % width
                or byte_start + length * width > ids.size
            ):
                raise BadInput(
                    f"{name}: sequence {1 + sequence} has {length:,} ids from byte {byte_start:,} "
                    f"on, and {ids.name} has {ids.size:,} bytes",
                    "copy it again: it may be cut off, or not belong to this .idx",
                    "damaged",
                )
            data_end = max(data_end, byte_start + length * width)
            first_id = byte_start // width
            unit, is_last = "sequence", sequence + 1 == sequence_end
            yield from window.parts(first_id, first_id + length, unit, 1 + sequence, ends=is_last)
        if sequence_start == sequence_end:
            yield from window.parts(0, 0, "document", document)
        sequence_start = sequence_end
    if sequence_start != sequences:
        raise BadInput(
            f"{name}: its documents end with sequence {sequence_start:,} of {sequences:,}",
            _HINT,
            "damaged",
        )
    if data_end != ids.size:
        raise BadInput(
            f"{name}: its sequences end at byte {data_end:,}, and {ids.name} has {ids.size:,} "
            "bytes",
            "the two do not belong together: take the .bin that was written with this .idx",
            "damaged",
        )
