"""Blocks as a file that can be read: forwards, or anywhere in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from io import FileIO
from typing import BinaryIO, cast

from tokctl.errors import TokctlError
from tokctl.sources.files import Place, unreadable


class Stream:
    """A file that can only be read on, made of blocks of any size.

    Attributes:
        place: bytes read so far.
        tail: the last eight of them.
    """

    closed = False
    mode = "rb"

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.place = 0
        self.tail = b""
        self._blocks = blocks
        self._block = b""
        self._start = 0  # of what is left of the block

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer at the end alone; all that is left for a negative number."""
        parts: list[bytes] = []
        missing = size
        while missing:
            if self._start == len(self._block) and not self._next():
                break
            end = len(self._block) if size < 0 else min(len(self._block), self._start + missing)
            parts.append(self._block[self._start : end])
            missing -= end - self._start if size > 0 else 0
            self._start = end
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        self.place += len(data)
        self.tail = (self.tail + data[-8:])[-8:]
        return data

    def some(self, size: int) -> bytes:
        """The bytes that are there, up to so many; none at the end alone."""
        if self._start == len(self._block):
            self._next()
        return self.read(min(size, len(self._block) - self._start))

    def peek(self, size: int) -> bytes:
        """The next bytes, up to so many, which stay to be read."""
        while len(self._block) - self._start < size:
            rest = self._block[self._start :]
            if not self._next():
                self._block, self._start = rest, 0
                break
            self._block = rest + self._block
        return self._block[self._start : self._start + size]

    def skip(self, size: int) -> int:
        """Reads on without keeping anything; how many bytes there were."""
        missing = size
        while missing and (self._start < len(self._block) or self._next()):
            step = min(missing, len(self._block) - self._start)
            self._start += step
            missing -= step
        self.place += size - missing
        return size - missing

    def put_back(self, data: bytes) -> None:
        """These bytes come next; they are not counted again."""
        self._block, self._start = data + self._block[self._start :], 0

    def rest(self) -> Iterator[bytes]:
        """All blocks that are left."""
        block, self._block, self._start = self._block[self._start :], b"", 0
        if block:
            yield block
        yield from self._blocks

    def skip_rest(self) -> None:
        """Reads to the end, so that what stands behind (a checksum) is looked at, too."""
        for _ in self.rest():
            pass

    def _next(self) -> bool:
        for block in self._blocks:
            if block:
                self._block, self._start = block, 0
                return True
        return False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def writable(self) -> bool:
        return False

    def flush(self) -> None:
        """Nothing: a file has it."""

    def close(self) -> None:
        close = getattr(self._blocks, "close", None)
        if close is not None:
            close()


@contextlib.contextmanager
def opened(place: Place) -> Iterator[BinaryIO]:
    """The regular file of a place, to be read anywhere; its size must still be what it was."""
    assert place.path is not None
    try:
        file = open(place.path, "rb", buffering=0)  # noqa: PTH123, SIM115
    except OSError as error:
        raise unreadable(place.name, error) from None
    with file:
        if file.seek(0, 2) < (place.size or 0):
            raise TokctlError(
                f"{place.name} became shorter since it was looked at first",
                "run it again when nothing writes to it",
            )
        file.seek(0)
        yield cast(BinaryIO, file)


@contextlib.contextmanager
def spooled(blocks: Iterable[bytes], name: str) -> Iterator[FileIO]:
    """A temporary file with all that comes, for a form that is read from its end; it is gone
    afterwards, whatever happens."""
    import tempfile

    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile(buffering=0))
            for block in blocks:
                _write(file, block)
        except OSError as error:
            raise TokctlError(
                f"can't copy {name} to a temporary file: {error.strerror or error}",
                "it is read from its end: give it as a file, or set TMPDIR to a larger disk",
            ) from None
        file.seek(0)
        yield file


def _write(file: FileIO, block: bytes) -> None:
    left = memoryview(block)
    while left:
        left = left[file.write(left) :]
