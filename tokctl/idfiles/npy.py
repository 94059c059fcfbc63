"""NumPy's `.npy`: a header with the type and the length, then the numbers.

`numpy.lib.format` describes the layout. tokctl writes version 1.0 and reads 1.0 to 3.0.
"""

from __future__ import annotations

import ast
import struct
from array import array
from collections.abc import Iterator
from typing import BinaryIO

from tokctl.core.errors import BadInput, Unsupported
from tokctl.idfiles.chunks import Chunk, FormFiles, IdFileWriter, IdPart
from tokctl.idfiles.dtypes import DTYPES, Dtype, little_endian
from tokctl.idfiles.random_access import IdInput
from tokctl.idfiles.raw import read_numbers
from tokctl.idfiles.registry import BY_NAME
from tokctl.sources.blocks import BlockStream

MAGIC = BY_NAME["npy"].magic

#: Bytes of the header that is written. NumPy's own header has this size for every one-dimensional
#: array of numbers.
_HEADER_SIZE = 128

#: Largest header that is read, in bytes.
_LONGEST_HEADER = 1 << 16

_HINT = "ids are a one-dimensional array of whole numbers: numpy.save(path, ids)"
_CUT_OFF_HINT = "wait until it is written, or copy it again: it may be cut off"


def header(dtype: Dtype, count: int) -> bytes:
    """Return the header of a file of `count` numbers."""
    text = f"{{'descr': '{dtype.npy}', 'fortran_order': False, 'shape': ({count},), }}"
    prefix = MAGIC + b"\x01\x00"
    size = _HEADER_SIZE - len(prefix) - 2
    return prefix + struct.pack("<H", size) + text.ljust(size - 1).encode() + b"\n"


class NpyWriter(IdFileWriter):
    """Writer of a one-dimensional array of ids."""

    def __init__(self, output: FormFiles, dtype: Dtype) -> None:
        super().__init__(output, dtype)
        self._out = output.seekable()
        self._out.write(header(dtype, 0))

    def write(self, chunk: Chunk) -> None:
        """Write the ids of a chunk."""
        self._out.write(chunk.data)

    def finish(self) -> None:
        """Replace the header by one with the final count."""
        self._out.seek(0)
        self._out.write(header(self.dtype, self.ids))
        self._out.seek(0, 2)


class Index:
    """Writer of an `.npy` of 64-bit numbers that says where documents are among the ids.

    For a whole file: 0, then the end of each document, like the offsets of Arrow's lists. For a
    shard: the start of each document that begins in the shard.
    """

    _DTYPE = DTYPES["int64"]

    def __init__(self, out: BinaryIO, *, starts: bool = False, begun: bool = False) -> None:
        """Write to `out`, which is empty and seekable.

        Args:
            out: the index file.
            starts: whether the index is for a shard, and so holds starts instead of ends.
            begun: whether the first ids of the shard continue a document of the shard before.
        """
        self._out = out
        self._starts = starts
        self._inside_document = begun
        self._ids = 0
        self.count = 0
        out.write(header(self._DTYPE, 0))
        if not starts:
            self._write(array("q", [0]))

    def add(self, chunk: Chunk) -> None:
        """Write the document positions of a chunk."""
        ids_before = self._ids
        positions = self._document_starts(chunk) if self._starts else chunk.ends
        self._write(array("q", [ids_before + position for position in positions]))
        self._ids += chunk.count

    def _document_starts(self, chunk: Chunk) -> list[int]:
        ends = list(chunk.ends)
        continues = chunk.count > (ends[-1] if ends else 0)
        starts = ends if ends and continues else ends[:-1]
        if not self._inside_document and (ends or continues):
            starts = [0, *starts]
        self._inside_document = continues or (self._inside_document and not ends)
        return starts

    def _write(self, numbers: array[int]) -> None:
        self._out.write(little_endian(numbers))
        self.count += len(numbers)

    def finish(self) -> None:
        """Replace the header by one with the final count."""
        self._out.seek(0)
        self._out.write(header(self._DTYPE, self.count))
        self._out.seek(0, 2)


def read_npy(source: IdInput) -> Iterator[IdPart]:
    """Yield the ids of a one-dimensional array of whole numbers.

    Raises:
        TokctlError: the file holds something else, is cut off, or has bytes after the array.
    """
    stream, name = source.stream, source.file.name
    dtype, count, start = _read_header(stream, name)
    end = start + count * dtype.width
    position = yield from read_numbers(stream, name, dtype, start, end)
    if position < end:
        ids = (position - start) // dtype.width
        raise BadInput(f"{name}: it ends after {ids:,} of {count:,} ids", _CUT_OFF_HINT, "damaged")
    if stream.read(1):
        raise BadInput(
            f"{name}: there is more data after the array, at byte {end}",
            "name each file: joined arrays are not one array",
            "damaged",
        )


def _read_header(stream: BlockStream, name: str) -> tuple[Dtype, int, int]:
    """Return the type of the numbers, their count, and the byte where the first one is."""
    prefix = stream.read(8)
    if not prefix.startswith(MAGIC) or len(prefix) < 8:
        raise BadInput(f"{name} is not a .npy file", "name its form with --from", "damaged")
    major = prefix[6]
    if major not in (1, 2, 3):
        raise Unsupported(f"{name}: it is of version {major} of the .npy format", _HINT)
    width = 2 if major == 1 else 4
    size = int.from_bytes(stream.read(width), "little")
    if size > _LONGEST_HEADER:
        raise BadInput(f"{name}: its header claims {size:,} bytes", _HINT, "damaged")
    text = stream.read(size)
    if len(text) < size:
        raise BadInput(f"{name}: it ends inside its header", _CUT_OFF_HINT, "damaged")
    try:
        fields = ast.literal_eval(text.decode("latin-1" if major < 3 else "utf-8").strip())
        descr, shape = fields["descr"], fields["shape"]
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
        raise BadInput(f"{name}: its header can't be read", _HINT, "damaged") from None
    dtype = _parse_descr(descr)
    if dtype is None:
        raise BadInput(f"{name} holds {descr!r}, which are not whole numbers", _HINT, "bad-ids")
    if not isinstance(shape, tuple) or len(shape) != 1:
        raise BadInput(
            f"{name} holds an array of shape {shape!r}, not a row of ids", _HINT, "bad-ids"
        )
    if type(shape[0]) is not int or not 0 <= shape[0] < 2**63:
        raise BadInput(f"{name}: its header claims {shape[0]!r} ids", _HINT, "damaged")
    return dtype, shape[0], 8 + width + size


def _parse_descr(descr: object) -> Dtype | None:
    """Return the type that a string such as `<u2` means; its first letter is the byte order."""
    if not isinstance(descr, str) or descr[:1] not in ("<", ">", "|", "="):
        return None
    for dtype in DTYPES.values():
        if dtype.npy[1:] == descr[1:]:
            return dtype._replace(big_endian=descr[0] == ">")
    return None
