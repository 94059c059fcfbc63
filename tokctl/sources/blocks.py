"""Blocks of bytes from files and stdin, and a stream that is read forwards or ahead."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from tokctl.core import systems
from tokctl.core.errors import BadInput, BadOption, TokctlError
from tokctl.core.files import note_read

#: Bytes read at a time. Large enough for threads to share a block; small enough for Ctrl-C, for the
#: progress bar and for the processor's cache.
BLOCK_SIZE = 1 << 21

#: Number of first bytes that distinguish all formats.
HEAD = 512

COMPRESSION_SUFFIXES = (".gz", ".zst", ".xz", ".lzma", ".bz2")

#: Blocks that a thread reads ahead.
_AHEAD = 2

T = TypeVar("T")


class ByteSource:
    """Source of bytes as stored: of any format, possibly compressed.

    Attributes:
        name: name in messages.
        size: size in bytes; None if unknown.
        path: path of a regular file on this machine, which can be reopened and read at any
            position; else None.
        head: first bytes, if they have been read; else None.
        prompt: whether bytes come without waiting for a person or a program.
        is_rereadable: whether the bytes can be read more than once.
        may_block: whether even the first bytes can be late, possibly after other sources were read.
        done: number of bytes read so far.
    """

    def __init__(
        self,
        name: str,
        open_blocks: Callable[[], Iterator[bytes]],
        *,
        size: int | None = None,
        path: str | None = None,
        head: bytes | None = None,
        prompt: bool = False,
        is_rereadable: bool = False,
        may_block: bool = False,
    ) -> None:
        self.name = name
        self.size = size
        self.path = path
        self.head = head
        self.prompt = prompt
        self.is_rereadable = is_rereadable
        self.may_block = may_block
        self.done = 0
        self._open_blocks = open_blocks

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes, from the start if they can be read again."""
        if self.is_rereadable:
            self.done = 0
        for block in self._open_blocks():
            self.done += len(block)
            yield block

    def tell(self) -> int:
        """Return the number of bytes read so far."""
        return self.done


def file_source(name: str | Path) -> ByteSource:
    """Return a file, a pipe or a device as a source, after a check that it exists and is readable.

    At most the first bytes of a regular file are read.

    Args:
        name: path of the file.

    Raises:
        TokctlError: the file is missing, is a folder, or can't be read.
    """
    if not str(name):
        raise BadOption(
            "the name of a file is empty", "check the command for an unset variable", "bad-value"
        )
    path = str(name)
    try:
        status = os.stat(path)  # noqa: PTH116  (for 10,000 files, Path takes twice as long)
        if stat.S_ISDIR(status.st_mode):
            raise BadInput(
                f"{path} is a folder", f"name the files in it: {path}/*.txt", "unreadable"
            )
        # A pipe can be opened only once.
        if not stat.S_ISREG(status.st_mode) and not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    note_read(path, status)
    if not stat.S_ISREG(status.st_mode):
        return ByteSource(path, lambda: _file_blocks(path, 0), may_block=True)
    size = status.st_size
    return ByteSource(
        path,
        lambda: _file_blocks(path, size),
        size=size,
        path=path,
        head=_first_bytes(path),
        prompt=True,
        is_rereadable=True,
    )


def stdin_source(stream: BinaryIO | None) -> ByteSource:
    """Return stdin, or the stream in its place, as a source; nothing is read yet."""
    source = sys.stdin.buffer if stream is None else stream
    with contextlib.suppress(OSError, ValueError):  # the stream has no file descriptor
        note_read("-", os.fstat(source.fileno()))
    return ByteSource("stdin", lambda: _named_blocks("stdin", source))


def _first_bytes(path: str) -> bytes:
    """Return the first bytes of a regular file; this also shows that it can be read."""
    with _open_file(path) as file:
        return next(_named_blocks(path, file, HEAD), b"")


def _open_file(path: str) -> FileIO:
    try:
        return open(path, "rb", buffering=0)  # noqa: PTH123  (see above)
    except OSError as error:
        raise unreadable(path, error) from None


def _file_blocks(path: str, size: int) -> Iterator[bytes]:
    """Yield the blocks of a file that had `size` bytes when it was first examined.

    Data that was added since is read, too. A file that became shorter is an error, because the
    missing part is unknown.
    """
    bytes_read = 0
    with _open_file(path) as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            size = max(size, status.st_size)
        for block in _named_blocks(path, file):
            bytes_read += len(block)
            yield block
    if bytes_read < size:
        raise BadInput(
            f"{path} became shorter while it was read: {bytes_read} of {size} bytes came",
            "repeat the command when nothing writes to the file",
            "unreadable",
        )


def _named_blocks(name: str, stream: BinaryIO | FileIO, size: int = BLOCK_SIZE) -> Iterator[bytes]:
    try:
        yield from read_blocks(stream, size)
    except OSError as error:
        raise BadInput(
            f"can't read {name} to its end: {_reason(error)}",
            "check the disk or the pipe",
            "unreadable",
        ) from None


def without_compression_suffix(name: str) -> str:
    """Return the name in lower case, without the extensions of compression."""
    name = name.lower()
    for ending in COMPRESSION_SUFFIXES:
        name = name.removesuffix(ending)
    return name


def read_blocks(stream: BinaryIO | FileIO, size: int = BLOCK_SIZE) -> Iterator[bytes]:
    """Yield blocks of up to `size` bytes, each as soon as it is available.

    Args:
        stream: a binary stream, which may be non-blocking.
        size: largest number of bytes in a block.
    """
    read = getattr(stream, "read1", stream.read)
    while block := read(size) or _later_block(stream, size):
        yield block


def _later_block(stream: BinaryIO | FileIO, size: int) -> bytes:
    """Return the next bytes after an empty read; empty at the end of the stream.

    A stream can be non-blocking: a process that shares the pipe or the terminal may have set this
    at any time. Such a stream returns nothing both when no data is available yet and at its end,
    and its buffer does not tell the two cases apart.
    """
    raw = getattr(stream, "raw", stream)
    try:
        number = raw.fileno()
        # At a terminal, another read would need a second end-of-file key.
        if not systems.is_non_blocking(number):
            return b""
    except (AttributeError, OSError):  # the stream is in memory
        return b""
    while (block := raw.read(size)) is None:
        systems.wait_for_input(number)
    return bytes(block)


def unreadable(path: str, error: Exception) -> TokctlError:
    """Return the error for a file that can't be opened."""
    return BadInput(f"can't read {path}: {_reason(error)}", _read_hint(path, error), "unreadable")


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _read_hint(path: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        missing = f"there is no such file in {os.curdir} or at that path"
        if path.isdigit() or (" " in path and not Path(path).suffix):
            from shlex import quote

            return f"{missing}; a text itself is piped in: echo {quote(path)} | tokctl …"
        return f"{missing}; check the spelling"
    if isinstance(error, PermissionError):
        return "check its permissions: ls -l"
    return "check the file and its permissions"


class BlockStream:
    """Forward-only file made of blocks of any size.

    Attributes:
        position: number of bytes read so far.
        tail: the last eight of these bytes.
    """

    closed = False
    mode = "rb"

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.position = 0
        self.tail = b""
        self._blocks = blocks
        self._block = b""
        self._offset = 0  # index of the first unread byte of the block

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes, or fewer at the end; all remaining bytes if `size` is negative."""
        parts: list[bytes] = []
        missing = size
        while missing:
            if self._offset == len(self._block) and not self._next_block():
                break
            end = len(self._block) if size < 0 else min(len(self._block), self._offset + missing)
            parts.append(self._block[self._offset : end])
            missing -= end - self._offset if size > 0 else 0
            self._offset = end
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        self.position += len(data)
        self.tail = (self.tail + data[-8:])[-8:]
        return data

    def some(self, size: int) -> bytes:
        """Return the bytes available without waiting, at most `size`; empty only at the end."""
        if self._offset == len(self._block):
            self._next_block()
        return self.read(min(size, len(self._block) - self._offset))

    def peek(self, size: int) -> bytes:
        """Return up to `size` next bytes without consuming them."""
        while len(self._block) - self._offset < size:
            rest = self._block[self._offset :]
            if not self._next_block():
                self._block, self._offset = rest, 0
                break
            self._block = rest + self._block
        return self._block[self._offset : self._offset + size]

    def skip(self, size: int) -> int:
        """Skip up to `size` bytes, and return how many were skipped."""
        missing = size
        while missing and (self._offset < len(self._block) or self._next_block()):
            step = min(missing, len(self._block) - self._offset)
            self._offset += step
            missing -= step
        self.position += size - missing
        return size - missing

    def put_back(self, data: bytes) -> None:
        """Put bytes before the unread ones; `position` does not change."""
        self._block, self._offset = data + self._block[self._offset :], 0

    def rest(self) -> Iterator[bytes]:
        """Yield all remaining blocks."""
        block, self._block, self._offset = self._block[self._offset :], b"", 0
        if block:
            yield block
        yield from self._blocks

    def skip_rest(self) -> None:
        """Read to the end, so that data at the end (a checksum) is checked, too."""
        for _ in self.rest():
            pass

    def _next_block(self) -> bool:
        for block in self._blocks:
            if block:
                self._block, self._offset = block, 0
                return True
        return False

    def readable(self) -> bool:
        """Return whether the stream can be read: always."""
        return True

    def seekable(self) -> bool:
        """Return whether the position can be set: never."""
        return False

    def writable(self) -> bool:
        """Return whether the stream can be written: never."""
        return False

    def flush(self) -> None:
        """Do nothing; required of a file."""

    def close(self) -> None:
        """Close the source of the blocks if it can be closed."""
        close = getattr(self._blocks, "close", None)
        if close is not None:
            close()


@contextlib.contextmanager
def opened_file(data: ByteSource) -> Iterator[BinaryIO]:
    """Open a regular file for reading at any position.

    Args:
        data: a source with a path.

    Raises:
        TokctlError: the file can't be opened, or has become shorter since it was first examined.
    """
    assert data.path is not None
    try:
        file = open(data.path, "rb", buffering=0)  # noqa: PTH123, SIM115
    except OSError as error:
        raise unreadable(data.name, error) from None
    with file:
        if file.seek(0, 2) < (data.size or 0):
            raise BadInput(
                f"{data.name} became shorter after it was first examined",
                "repeat the command when nothing writes to the file",
                "unreadable",
            )
        file.seek(0)
        yield cast(BinaryIO, file)


@contextlib.contextmanager
def spooled(blocks: Iterable[bytes], name: str) -> Iterator[FileIO]:
    """Open a temporary file with a copy of the blocks, for a format that is read from its end.

    The file is removed when the block of the context manager ends.

    Args:
        blocks: the bytes to copy.
        name: name of the source in messages.

    Raises:
        TokctlError: the temporary file can't be written.
    """
    import tempfile

    with contextlib.ExitStack() as stack:
        try:
            # On Windows, TemporaryFile returns a wrapper around the file.
            file: Any = stack.enter_context(tempfile.TemporaryFile(buffering=0))
            for block in blocks:
                _write_all(file, block)
        except OSError as error:
            raise BadInput(
                f"can't copy {name} to a temporary file: {error.strerror or error}",
                "give a file, or set TMPDIR to a larger disk: the data is read from its end",
                "unreadable",
            ) from None
        file.seek(0)
        yield file


def _write_all(file: FileIO, block: bytes) -> None:
    rest = memoryview(block)
    while rest:
        rest = rest[file.write(rest) :]


def read_ahead(blocks: Iterable[T]) -> Generator[T, None, None]:
    """Yield the same blocks in the same order, read by another thread.

    Errors of reading are raised in this thread.

    Args:
        blocks: blocks that come without waiting: a thread that waits can't be stopped.
    """
    from queue import SimpleQueue
    from threading import Thread

    #: True: one more block may be read; False: no more blocks are wanted.
    permits: SimpleQueue[bool] = SimpleQueue()
    ready: SimpleQueue[tuple[T] | BaseException | None] = SimpleQueue()

    def read() -> None:
        try:
            for block in blocks:
                ready.put((block,))
                if not permits.get():
                    return
            ready.put(None)
        except BaseException as error:
            ready.put(error)

    for _ in range(_AHEAD - 1):
        permits.put(True)
    thread = Thread(target=read, name="tokctl-read-ahead", daemon=True)
    thread.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            permits.put(True)
            yield item[0]
    finally:
        permits.put(False)
        thread.join()


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks, cut so that each except the last ends with a line feed.

    A line over many blocks is joined once, so the time is linear in the length of the line.

    Args:
        blocks: the bytes of a text.
    """
    pending: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end == 0:
            pending.append(block)
            continue
        yield b"".join((*pending, block[:end])) if pending or end < len(block) else block
        pending = [block[end:]] if end < len(block) else []
    if pending:
        yield b"".join(pending)
