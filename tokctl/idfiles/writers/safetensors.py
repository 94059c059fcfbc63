"""safetensors: a header in JSON, then the tensors, one behind the other without a hole.

The layout is that of the format's own description (`8 bytes: size of the header`, …), whose
readers want the header to begin with `{`, and take spaces at its end.
"""

from __future__ import annotations

import shutil
from array import array
from typing import Any, BinaryIO

from tokctl.idfiles.chunks import Chunk, little_endian
from tokctl.idfiles.dtypes import Dtype
from tokctl.idfiles.writers.contract import Writer

#: Bytes before the first tensor; room for the longest numbers.
_FRONT = 512


class SafetensorsWriter(Writer):
    """`input_ids`, and behind them `offsets`: 0, and where each document ends.

    Where 64-bit numbers would not begin at a multiple of 8, some zeros stand between, as a
    tensor `padding`: PyTorch can't read what is not aligned.
    """

    def __init__(self, out: BinaryIO, spool: BinaryIO, dtype: Dtype) -> None:
        """`out` is empty, and can be written to at any place; `spool` is a temporary file."""
        super().__init__(dtype)
        self._out = out
        self._offsets = spool
        spool.write(bytes(8))
        out.write(bytes(_FRONT))

    def write(self, chunk: Chunk) -> None:
        self._out.write(chunk.data)
        before = self.ids
        self._offsets.write(little_endian(array("q", [before + end for end in chunk.ends])))

    def finish(self) -> None:
        size = self.ids * self.dtype.width
        padding = -size % 8
        offsets = 8 * (self.documents + 1)
        tensors: dict[str, dict[str, Any]] = {
            "input_ids": _tensor(self.dtype.safetensors, self.ids, 0, size)
        }
        if padding:
            tensors["padding"] = _tensor("U8", padding, size, size + padding)
        begin = size + padding
        tensors["offsets"] = _tensor("I64", self.documents + 1, begin, begin + offsets)
        self._out.write(bytes(padding))
        self._offsets.seek(0)
        shutil.copyfileobj(self._offsets, self._out, 1 << 20)
        import orjson

        self._out.seek(0)
        self._out.write((_FRONT - 8).to_bytes(8, "little"))
        self._out.write(orjson.dumps(tensors).ljust(_FRONT - 8))
        self._out.seek(0, 2)


def _tensor(dtype: str, count: int, begin: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": [count], "data_offsets": [begin, end]}
