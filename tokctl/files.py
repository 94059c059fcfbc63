"""Files that are whole or absent."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeGuard

from tokctl.errors import TokctlError


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write to, which replaces `path` when the block ends without an error.

    It grows beside the target under another name and is renamed when it is complete and
    on the disk, so that a stop at any moment leaves the old file or the new one. What is
    not a regular file (a pipe, `/dev/null`) is written to directly. A link's target is
    replaced, not the link.

    Raises:
        TokctlError: the file can't be written.
    """
    path = Path(path)
    try:
        status = _status(path)
        if status and stat.S_ISDIR(status.st_mode):
            raise TokctlError(f"can't write {path}: it is a folder", "name a file in it")
        if status and not stat.S_ISREG(status.st_mode):
            with path.open("wb") as device:
                yield device
            return
        target = Path(os.path.realpath(path))
        with _temporary(target) as (file, name):
            yield file
            file.flush()
            os.fsync(file.fileno())
            # A new file gets the usual rights, a replaced one keeps its own.
            name.chmod(stat.S_IMODE(status.st_mode) if status else 0o666 & ~umask())
            name.replace(target)
            with contextlib.suppress(OSError):
                _sync_folder(target.parent)
    except BrokenPipeError:
        raise  # the reader has gone: not an error of the writer
    except OSError as error:
        raise TokctlError(
            f"can't write {path}: {error.strerror or error}", "choose another place with -o PATH"
        ) from None


def _status(path: Path) -> os.stat_result | None:
    """What stands at `path`, links followed; None where nothing does."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except ValueError as error:  # a NUL in the name
        raise TokctlError(f"can't write {str(path)!r}: {error}") from None


#: True while a temporary file is being made, whose name is not known yet. What turns signals into
#: exceptions (`tokctl.cli.world`) waits until it is over: else the file would stay.
is_making = False


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[tuple[BinaryIO, Path]]:
    global is_making
    name = ""
    try:
        is_making = True
        descriptor, name = tempfile.mkstemp(
            prefix=f".{target.name[:80]}.", suffix=".tmp", dir=target.parent
        )
        is_making = False
        with os.fdopen(descriptor, "wb") as file:
            yield file, Path(name)
    finally:
        is_making = False
        if name:
            Path(name).unlink(missing_ok=True)


def umask() -> int:
    """The rights that new files and folders do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_plain_name(name: object) -> TypeGuard[str]:
    """Is it the name of something in a folder, and not a way out of it?"""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & {"/", "\0"}
