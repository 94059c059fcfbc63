"""Megatron-LM's `.bin` and `.idx`, as its `IndexedDatasetBuilder` writes them.

The layout is that of `megatron/core/datasets/indexed_dataset.py`: the `.bin` is the ids alone;
the `.idx` a header, the lengths of all sequences, where they begin in the `.bin`, and with which
sequence each document begins.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from typing import BinaryIO

from tokctl.errors import TokctlError
from tokctl.idfiles.chunks import Chunk, little_endian
from tokctl.idfiles.dtypes import Dtype
from tokctl.idfiles.writers.contract import Writer

_MAGIC = b"MMIDIDX\x00\x00"
_VERSION = 1

#: The longest sequence: lengths are 32-bit numbers there.
_LONGEST = 2**31 - 1

#: Numbers that are made at a time.
_BLOCK = 1 << 16


class MegatronWriter(Writer):
    """One sequence for each document."""

    def __init__(self, data: BinaryIO, idx: BinaryIO, spool: BinaryIO, dtype: Dtype) -> None:
        """`spool` is a temporary file."""
        super().__init__(dtype)
        self._data = data
        self._idx = idx
        self._lengths = spool
        self._begin = 0  # of the document that has not ended

    def write(self, chunk: Chunk) -> None:
        self._data.write(chunk.data)
        before, begin = self.ids, self._begin
        lengths = array("i")
        for end in chunk.ends:
            if before + end - begin > _LONGEST:
                break
            lengths.append(before + end - begin)
            begin = before + end
        if before + chunk.count - begin > _LONGEST:
            raise TokctlError(
                f"a document has more than {_LONGEST:,} ids, which Megatron's index can't hold",
                "make each line a document with --lines, or take another form",
            )
        self._begin = begin
        self._lengths.write(lengths)

    def finish(self) -> None:
        count, code = self.documents, self.dtype.megatron
        self._idx.write(_MAGIC + struct.pack("<QBQQ", _VERSION, code, count, count + 1))
        for lengths in self._read():
            self._idx.write(little_endian(lengths))
        place = 0
        for lengths in self._read():
            pointers = array("q")
            for length in lengths:
                pointers.append(place)
                place += length * self.dtype.width
            self._idx.write(little_endian(pointers))
        for first in range(0, count + 1, _BLOCK):
            numbers = array("q", range(first, min(first + _BLOCK, count + 1)))
            self._idx.write(little_endian(numbers))

    def _read(self) -> Iterator[array[int]]:
        self._lengths.seek(0)
        while block := self._lengths.read(4 * _BLOCK):
            lengths = array("i")
            lengths.frombytes(block)
            yield lengths
