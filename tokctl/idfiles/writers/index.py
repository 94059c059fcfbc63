"""Where documents end, or begin, as an `.npy` of 64-bit numbers beside the ids."""

from __future__ import annotations

from array import array
from typing import BinaryIO

from tokctl.idfiles.chunks import Chunk, little_endian
from tokctl.idfiles.writers.npy import header

_DESCR = "<i8"


class Index:
    """Of a whole file: 0, and where each document ends, as Arrow's lists have it. Of a shard: where
    each document begins that begins in it."""

    def __init__(self, out: BinaryIO, *, starts: bool = False, begun: bool = False) -> None:
        """`begun`: the ids begin inside a document."""
        self._out = out
        self._starts = starts
        self._open = begun
        self._ids = 0
        self.count = 0
        out.write(header(_DESCR, 0))
        if not starts:
            self._add(array("q", [0]))

    def add(self, chunk: Chunk) -> None:
        before = self._ids
        places = self._begun(chunk) if self._starts else list(chunk.ends)
        self._add(array("q", [before + place for place in places]))
        self._ids += chunk.count

    def _begun(self, chunk: Chunk) -> list[int]:
        ends = list(chunk.ends)
        goes_on = chunk.count > (ends[-1] if ends else 0)
        places = ends if ends and goes_on else ends[:-1]
        if not self._open and (ends or goes_on):
            places = [0, *places]
        self._open = goes_on or (self._open and not ends)
        return places

    def _add(self, numbers: array[int]) -> None:
        self._out.write(little_endian(numbers))
        self.count += len(numbers)

    def finish(self) -> None:
        self._out.seek(0)
        self._out.write(header(_DESCR, self.count))
        self._out.seek(0, 2)
