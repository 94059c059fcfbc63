"""Access to the bytes of a file of ids: from front to back, or at any position."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from typing import TYPE_CHECKING

from tokctl.core import systems
from tokctl.core.errors import BadInput, TokctlError
from tokctl.core.files import note_read
from tokctl.idfiles.dtypes import Dtype, numbers

if TYPE_CHECKING:
    from tokctl.idfiles.chunks import IdPart
    from tokctl.sources.blocks import BlockStream

#: Bytes read at a time.
BLOCK = 1 << 21


@dataclass
class ByteMeter:
    """Counter of the bytes read.

    Attributes:
        bytes_read: number of bytes.
    """

    bytes_read: int = 0

    def watch(self, blocks: Iterator[bytes], tell: Callable[[], int] | None) -> Iterator[bytes]:
        """Yield the blocks, and count their bytes.

        Args:
            blocks: the bytes of a file.
            tell: function that returns the bytes read of the file itself, which may be compressed;
                None: the blocks are counted instead.
        """
        bytes_before = self.bytes_read
        for block in blocks:
            self.bytes_read = bytes_before + tell() if tell else self.bytes_read + len(block)
            yield block


def _no_blocks() -> Iterator[bytes]:
    return iter(())


@dataclass(frozen=True)
class InputFile:
    """A file or a stream of ids.

    Attributes:
        name: name in messages.
        blocks: function that returns the decompressed bytes.
        path: file with random access that has the same bytes as `blocks`; None for a stream.
        meter: counter of the bytes read.
    """

    name: str
    blocks: Callable[[], Iterator[bytes]] = _no_blocks
    path: str | None = None
    meter: ByteMeter = field(default_factory=ByteMeter)

    @contextmanager
    def opened(self) -> Iterator[RandomAccessFile]:
        """Open the file with random access; a stream is copied to a temporary file first."""
        if self.path is not None:
            note_read(self.path)
            try:
                file = open(self.path, "rb", buffering=0)  # noqa: PTH123, SIM115
            except OSError as error:
                raise _read_error(self.path, error) from None
            with file:
                yield RandomAccessFile(self.name, file, self.meter)
            return
        from tokctl.sources.blocks import spooled

        with spooled(self.blocks(), self.name) as copy:
            yield RandomAccessFile(self.name, copy, ByteMeter())


@dataclass(frozen=True)
class IdInput:
    """A file of ids, with all that a reader of a form may need.

    Attributes:
        file: the file, for forms that need random access; its name is for messages.
        stream: the bytes of the file, for forms that are read from front to back.
        path: the file as named on the command line; None for stdin.
        dtype: type of the numbers of the form `bin`.
        field: column or tensor that holds the ids; None: the one that encode writes.
    """

    file: InputFile
    stream: BlockStream
    path: str | None
    dtype: Dtype
    field: str | None = None


class RandomAccessFile:
    """A file that can be read at any position.

    Attributes:
        name: name in messages.
        meter: counter of the bytes read.
        file: the open file, for libraries that read it themselves.
        size: size in bytes.
    """

    def __init__(self, name: str, file: FileIO, meter: ByteMeter) -> None:
        self.name = name
        self.meter = meter
        self.file = file
        self.size = os.fstat(file.fileno()).st_size

    def read(self, start: int, size: int) -> bytes:
        """Return `size` bytes from byte `start` on.

        Args:
            start: position in the file.
            size: number of bytes.

        Raises:
            TokctlError: the file has become shorter, or can't be read.
        """
        parts = []
        try:
            while size:
                part = systems.read_at(self.file, min(size, BLOCK), start)
                if not part:
                    raise BadInput(
                        f"{self.name}: it ends at byte {start}, before its header is complete",
                        "wait until it is written, or copy it again: it may be cut off",
                        "damaged",
                    )
                parts.append(part)
                start, size = start + len(part), size - len(part)
        except OSError as error:
            raise _read_error(self.name, error) from None
        return b"".join(parts)

    def numbers(self, start: int, count: int, dtype: Dtype) -> Iterator[int]:
        """Yield `count` numbers from byte `start` on, reading a block at a time."""
        size = count * dtype.width
        step = BLOCK // dtype.width * dtype.width
        for offset in range(0, size, step):
            self.meter.bytes_read += min(step, size - offset)
            yield from numbers(self.read(start + offset, min(step, size - offset)), dtype)


def _read_error(name: str, error: OSError) -> TokctlError:
    return BadInput(
        f"can't read {name}: {error.strerror or error}",
        "check the file and its permissions",
        "unreadable",
    )


class Window:
    """Numbers of a file, read from front to back: one block serves many documents."""

    def __init__(self, file: RandomAccessFile, start: int, count: int, dtype: Dtype) -> None:
        """Set the range of a file that holds the numbers.

        Args:
            file: the file.
            start: byte of the first number.
            count: number of numbers.
            dtype: type of the numbers.
        """
        self._file = file
        self._start = start
        self.count = count
        self._dtype = dtype
        self._begin = 0  # index of the first number in `_data`
        self._data = memoryview(b"")

    def parts(
        self, begin: int, end: int, unit: str, number: int, *, ends: bool = True
    ) -> Iterator[IdPart]:
        """Yield the numbers from index `begin` up to index `end`.

        Args:
            begin: index of the first number.
            end: index after the last number.
            unit: name of the range in messages, such as `document`.
            number: number of the range in messages, from 1.
            ends: whether a document ends after the numbers.
        """
        from tokctl.idfiles.chunks import IdPart

        name, width = self._file.name, self._dtype.width
        position = begin
        while True:
            stop = self._fill(position, end)
            data = self._data[(position - self._begin) * width : (stop - self._begin) * width]
            numbers_before = position - begin
            yield IdPart(
                numbers(data, self._dtype),
                lambda index, numbers_before=numbers_before: (
                    f"{name}: {unit} {number}, number {1 + numbers_before + index}"
                ),  # type: ignore[misc]
                ends=ends and stop == end,
            )
            if stop == end:
                return
            position = stop

    def _fill(self, position: int, end: int) -> int:
        """Return the index up to which `_data` has the numbers from `position` to `end`.

        If the number at `position` is not in `_data`, the next block is read.
        """
        width = self._dtype.width
        filled_end = self._begin + len(self._data) // width
        if position == end or (self._begin <= position and end <= filled_end):
            return end
        if not self._begin <= position < filled_end:
            size = min(BLOCK // width, self.count - position)
            self._begin = position
            self._data = memoryview(self._file.read(self._start + position * width, size * width))
            filled_end = position + size
            self._file.meter.bytes_read += size * width
        return min(end, filled_end)

    def documents(self, offsets: Iterable[int]) -> Iterator[IdPart]:
        """Yield documents of which each begins where the one before ends, as in Arrow's lists.

        Args:
            offsets: start of the first document, then the end of each document.

        Raises:
            TokctlError: an offset is outside the numbers or before the previous one.
        """
        begin = None
        for number, end in enumerate(offsets):
            if not (begin or 0) <= end <= self.count:
                raise BadInput(
                    f"{self._file.name}: offset {number} is {end}, which is not a position in "
                    f"{self.count:,} ids after the one before",
                    "write it again with its ids: it is damaged, or belongs to other ids",
                    "damaged",
                )
            if begin is not None:
                yield from self.parts(begin, end, "document", number)
            begin = end
