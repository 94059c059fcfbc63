"""The form `bin`: ids end to end and nothing else. The lines of `jsonl` are written alike."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from tokctl.core.errors import BadInput
from tokctl.idfiles.chunks import Chunk, FormFiles, IdFileWriter, IdPart
from tokctl.idfiles.dtypes import Dtype, numbers
from tokctl.idfiles.random_access import IdInput
from tokctl.sources.blocks import BlockStream


class RawWriter(IdFileWriter):
    """Writer of the forms `bin` and `jsonl`."""

    def __init__(self, output: FormFiles, dtype: Dtype) -> None:
        super().__init__(output, dtype)
        self._flush = output.is_stream

    def write(self, chunk: Chunk) -> None:
        """Write the bytes of a chunk as they are."""
        if chunk.data:
            self._out.write(chunk.data)
            if self._flush:
                self._out.flush()


def read_bin(source: IdInput) -> Iterator[IdPart]:
    """Yield the ids of a file without a header.

    Raises:
        TokctlError: the file does not hold a whole number of ids. Raised after the last id.
    """
    stream, name, dtype = source.stream, source.file.name, source.dtype
    position = yield from read_numbers(stream, name, dtype, 0)
    if remainder := stream.read(dtype.width):
        raise BadInput(
            f"{name}: {position + len(remainder)} bytes are not a whole number of ids of "
            f"{dtype.width} "
            "bytes each",
            "the file may be cut off, or written with another model: give the width of its ids "
            "with --dtype",
            "damaged",
        )


def read_numbers(
    stream: BlockStream, name: str, dtype: Dtype, start: int, end: int | None = None
) -> Generator[IdPart, None, int]:
    """Yield the numbers of a stream up to byte `end`, or up to its end.

    Bytes at the end that are too few for a number stay in the stream, and so do the bytes from
    `end` on.

    Args:
        stream: the bytes to read.
        name: name of the file in messages.
        dtype: type of the numbers.
        start: byte of the file where the stream is now.
        end: byte of the file where the numbers end; None: the end of the stream.

    Returns:
        The byte of the file after the last whole number.
    """
    width = dtype.width
    position, rest = start, b""
    for block in stream.rest():
        data = rest + block if rest else block
        beyond = b""
        if end is not None and position + len(data) >= end:
            data, beyond = data[: end - position], data[end - position :]
        whole_size = len(data) - len(data) % width
        rest = data[whole_size:] + beyond
        if whole_size:
            ids = numbers(memoryview(data)[:whole_size], dtype)
            yield IdPart(ids, lambda i, position=position: f"{name}: byte {position + i * width}")  # type: ignore[misc]
        position += whole_size
        if position == end:
            break
    stream.put_back(rest)
    return position
