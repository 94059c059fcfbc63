"""NumPy's `.npy`: a header with the length, and the numbers.

The layout is version 1.0 of `numpy.lib.format`.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

from tokctl.idfiles.chunks import Chunk
from tokctl.idfiles.dtypes import Dtype
from tokctl.idfiles.writers.contract import Writer

_MAGIC = b"\x93NUMPY\x01\x00"

#: Bytes of the header; NumPy takes as many for an array like this, whatever its length.
_HEADER = 128


class NpyWriter(Writer):
    """A one-dimensional array of ids. `out` is empty, and can be written to at any place."""

    def __init__(self, out: BinaryIO, dtype: Dtype) -> None:
        super().__init__(dtype)
        self._out = out
        out.write(header(dtype.npy, 0))

    def write(self, chunk: Chunk) -> None:
        self._out.write(chunk.data)

    def finish(self) -> None:
        self._out.seek(0)
        self._out.write(header(self.dtype.npy, self.ids))
        self._out.seek(0, 2)


def header(descr: str, count: int) -> bytes:
    """The first bytes of a file of `count` numbers, `descr` as NumPy spells their type."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}"
    size = _HEADER - len(_MAGIC) - 2
    return _MAGIC + struct.pack("<H", size) + text.ljust(size - 1).encode() + b"\n"
