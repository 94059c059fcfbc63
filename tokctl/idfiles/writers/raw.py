"""Ids, or lines, one behind the other and nothing else."""

from __future__ import annotations

from typing import BinaryIO

from tokctl.idfiles.chunks import Chunk
from tokctl.idfiles.dtypes import Dtype
from tokctl.idfiles.writers.contract import Writer


class RawWriter(Writer):
    """The forms `bin` and `jsonl`."""

    def __init__(self, out: BinaryIO, dtype: Dtype, *, at_once: bool) -> None:
        """With `at_once`, output comes as input comes."""
        super().__init__(dtype)
        self._out = out
        self._at_once = at_once

    def write(self, chunk: Chunk) -> None:
        if chunk.data:
            self._out.write(chunk.data)
            if self._at_once:
                self._out.flush()
