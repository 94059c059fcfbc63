"""`bin`: ids one after the other and nothing else. The lines of `jsonl` are written alike."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import BinaryIO

from tokctl.errors import TokctlError
from tokctl.idfiles.chunks import Chunk, IdFileWriter, IdPart
from tokctl.idfiles.dtypes import Dtype, numbers
from tokctl.sources.blocks import BlockStream


class RawWriter(IdFileWriter):
    """The forms `bin` and `jsonl`."""

    def __init__(self, out: BinaryIO, dtype: Dtype, *, flush: bool) -> None:
        """With `flush`, each chunk is passed on at once."""
        super().__init__(dtype)
        self._out = out
        self._flush = flush

    def write(self, chunk: Chunk) -> None:
        if chunk.data:
            self._out.write(chunk.data)
            if self._flush:
                self._out.flush()


def read_bin(stream: BlockStream, name: str, dtype: Dtype) -> Iterator[IdPart]:
    """The ids of a file without a header.

    Raises:
        TokctlError: at the end, where the bytes are not a whole number of ids.
    """
    done = yield from read_numbers(stream, name, dtype, 0)
    if left := stream.read(dtype.width):
        raise TokctlError(
            f"{name}: {done + len(left)} bytes are no whole number of ids of {dtype.width} bytes "
            "each",
            "is it cut off, or not what tokctl encode --as bin writes with this model? --dtype "
            "says how wide ids are",
        )


def read_numbers(
    stream: BlockStream, name: str, dtype: Dtype, start: int, end: int | None = None
) -> Generator[IdPart, None, int]:
    """The numbers up to byte `end`, or to the end of the stream, which is at byte `start`.

    A rest that is too short for a number stays in the stream, as does what stands behind `end`;
    returns the byte where that begins.
    """
    width = dtype.width
    done, rest = start, b""
    for block in stream.rest():
        data = rest + block if rest else block
        behind = b""
        if end is not None and done + len(data) >= end:
            data, behind = data[: end - done], data[end - done :]
        whole = len(data) - len(data) % width
        rest = data[whole:] + behind
        if whole:
            ids = numbers(memoryview(data)[:whole], dtype)
            yield IdPart(ids, lambda at, done=done: f"{name}: byte {done + at * width}")  # type: ignore[misc]
        done += whole
        if done == end:
            break
    stream.put_back(rest)
    return done
