"""Where text comes from: files and stdin, as documents of byte blocks."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tokctl import _native
from tokctl.errors import TokctlError

#: Bytes read at a time. Large enough for threads to share a block, small enough for
#: Ctrl-C and the progress bar, and for the processor's cache.
BLOCK_SIZE = 1 << 21

STDIN = "-"


@dataclass(frozen=True, eq=False, repr=False)
class Document:
    """One text: its name for messages, its size in bytes where known, its blocks.

    prompt: blocks come without waiting for anyone, so that another thread may ask for them.
    """

    name: str
    size: int | None
    blocks: Callable[[], Iterator[bytes]]
    prompt: bool = False


def documents(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
) -> list[Document]:
    """The documents that `paths` name, each checked before anything is read.

    `-` is stdin, the process's own unless another is given. Raises TokctlError for what is
    missing, is a folder or can't be read.
    """
    if sum(str(path) == STDIN for path in paths) > 1:
        raise TokctlError("stdin (-) is named twice", "it can be read only once")
    return [_stdin(stdin) if str(path) == STDIN else _file(path) for path in paths]


def _file(name: str | Path) -> Document:
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


def _stdin(stream: BinaryIO | None) -> Document:
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


def check_utf8(document: Document, errors: str) -> Iterator[bytes]:
    """The document's blocks, checked to be UTF-8.

    `errors` is `strict` (TokctlError that names file, line and byte) or `replace`
    (each maximal ill-formed sequence becomes U+FFFD, as the Unicode Standard advises).
    """
    if errors == "replace":
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for block in document.blocks():
            yield decoder.decode(block).encode()
        if rest := decoder.decode(b"", True):
            yield rest.encode()
        return
    check = _native.Utf8Check()
    for block in document.blocks():
        if place := check.feed(block):
            raise invalid_utf8(document.name, *place)
        yield block
    if place := check.end():
        raise invalid_utf8(document.name, *place)


def invalid_utf8(name: str, line: int, byte: int) -> TokctlError:
    """The error for text that a character-level model can't read; `byte` counts from 0."""
    return TokctlError(
        f"{name}: line {line}, byte {byte} is not UTF-8, and this model reads characters",
        "use --errors replace to put U+FFFD in its place, or a byte-level model",
    )


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _read_hint(error: Exception) -> str | None:
    if isinstance(error, FileNotFoundError):
        return f"there is no such file in {os.curdir} or at that path; check the spelling"
    if isinstance(error, PermissionError):
        return "check its permissions: ls -l"
    return None
