"""Files and stdin as documents of byte blocks."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tokctl.errors import TokctlError
from tokctl.sources.document import Document

#: Bytes read at a time. Large enough for threads to share a block, small enough for
#: Ctrl-C and the progress bar, and for the processor's cache.
BLOCK_SIZE = 1 << 21


def of_file(name: str | Path) -> Document:
    if not str(name):
        raise TokctlError("the name of a file is empty", "look for an unset variable")
    path = Path(name)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise TokctlError(f"{path} is a folder", f"name the files in it: {path}/*.txt")
        if stat.S_ISREG(status.st_mode):
            with path.open("rb"):
                pass
        elif not os.access(path, os.R_OK):  # a pipe can be opened only once
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        raise TokctlError(f"can't read {path}: {_reason(error)}", _read_hint(error)) from None
    size = status.st_size if stat.S_ISREG(status.st_mode) else None

    def blocks() -> Iterator[bytes]:
        try:
            file = path.open("rb", buffering=0)
        except OSError as error:
            raise TokctlError(f"can't read {path}: {_reason(error)}", _read_hint(error)) from None
        with file:
            yield from _named_blocks(str(path), file)

    return Document(str(path), size, blocks, prompt=size is not None)


def of_stdin(stream: BinaryIO | None) -> Document:
    source = sys.stdin.buffer if stream is None else stream
    return Document("stdin", None, lambda: _named_blocks("stdin", source))


def _named_blocks(name: str, stream: BinaryIO) -> Iterator[bytes]:
    try:
        yield from read_blocks(stream)
    except OSError as error:
        raise TokctlError(
            f"can't read {name} to its end: {_reason(error)}", "check the disk or the pipe"
        ) from None


def read_blocks(stream: BinaryIO, size: int = BLOCK_SIZE) -> Iterator[bytes]:
    """Blocks of up to `size` bytes, each as soon as it is there."""
    read = getattr(stream, "read1", stream.read)
    while block := read(size):
        yield block


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _read_hint(error: Exception) -> str | None:
    if isinstance(error, FileNotFoundError):
        return f"there is no such file in {os.curdir} or at that path; check the spelling"
    if isinstance(error, PermissionError):
        return "check its permissions: ls -l"
    return None
