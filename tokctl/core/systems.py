"""Differences between Unix and Windows: locks, open files, permissions, terminals, signals.

All other modules call these functions, and never ask which system they run on.

On Windows no process can rename or remove an open file. So a hidden file that is being written is
safe from other processes while it is open, and is closed just before it gets its final name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from contextlib import AbstractContextManager

__all__ = [
    "CAN_MOVE_OPEN_FILES",
    "NOT_STARTED",
    "NO_WINDOW",
    "TERMINAL",
    "end_group",
    "ended_by",
    "is_at",
    "is_closed_pipe",
    "is_held",
    "is_non_blocking",
    "later",
    "lock",
    "make_folder",
    "may_be_open",
    "open_folder",
    "open_new",
    "read_at",
    "real_path",
    "set_mode",
    "sweep",
    "sync",
    "wait_for_input",
    "write_no_core",
]


def is_at(name: Path, status: os.stat_result) -> bool:
    """Return whether `name` is the file with this status.

    Raises:
        OSError: no file has the name.
    """
    return os.path.samestat(name.lstat(), status)


if sys.platform == "win32":
    import msvcrt

    CAN_MOVE_OPEN_FILES = False
    NOT_STARTED = (1, 9009)
    NO_WINDOW = 0x08000000  # CREATE_NO_WINDOW
    TERMINAL = "CONIN$"

    def open_new(name: Path) -> int:
        """Create a file, and return its descriptor.

        Raises:
            FileExistsError: the file exists.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_BINARY | os.O_NOINHERIT
        return os.open(name, flags, 0o600)

    def make_folder(name: Path) -> None:
        """Create a folder. A mode of 0o700 would make it private for good from Python 3.12.4 on."""
        name.mkdir()

    def open_folder(name: Path) -> int:
        """Return a descriptor for locking the folder.

        Windows can't open folders, so the descriptor is of a file next to the folder. The system
        deletes that file when its last descriptor is closed, in whatever way the process ends.
        """
        if not name.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(name))
        beside = name.absolute().with_name(f".{name.absolute().name[:80]}.tokctl-lock")
        flags = os.O_RDWR | os.O_CREAT | os.O_TEMPORARY | os.O_BINARY | os.O_NOINHERIT
        return os.open(beside, flags, 0o600)

    def lock(descriptor: int) -> None:
        """Lock a file until its descriptor is closed.

        Raises:
            BlockingIOError: another process has locked the file.
        """
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK)) from error

    def sweep(name: Path) -> bool:
        """Remove a hidden file or folder whose process is gone; return whether it existed."""
        if not os.path.lexists(name):
            return False
        with contextlib.suppress(OSError):  # another process uses it, or it can't be removed
            if name.is_dir():
                descriptor = open_folder(name)
                try:
                    lock(descriptor)
                    shutil.rmtree(name)
                finally:
                    os.close(descriptor)
            else:
                name.unlink()
        return True

    def is_held(name: Path, descriptor: int) -> bool:
        """Return whether the descriptor locks `name`. Nobody can replace a locked folder."""
        return name.is_dir() or is_at(name, os.fstat(descriptor))

    def may_be_open(error: OSError) -> bool:
        """Return whether the error can mean that another program has the file open."""
        return isinstance(error, PermissionError)

    def is_closed_pipe(error: OSError) -> bool:
        """Return whether a pipe's reader has gone; C's library reports ERROR_NO_DATA as EINVAL."""
        unnamed = error.filename is None and error.errno == errno.EINVAL
        return unnamed or isinstance(error, BrokenPipeError)

    def set_mode(descriptor: int, mode: int) -> None:
        """Do nothing: on Windows a file has the permissions of its folder."""

    def sync(path: Path) -> None:
        """Wait until a file is on the disk; do nothing for folders, which Windows syncs itself."""
        if path.is_dir():
            return
        descriptor = os.open(path, os.O_RDWR | os.O_BINARY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read_at(file: FileIO, size: int, start: int) -> bytes:
        """Read up to `size` bytes from offset `start`, which moves the file's own position."""
        file.seek(start)
        return file.read(size)

    def is_non_blocking(_number: int) -> bool:
        """Return False: on Windows a stream returns no bytes only at its end."""
        return False

    def wait_for_input(_number: int) -> None:
        """Do nothing, because no stream is non-blocking."""

    def later(seconds: float, handler: Callable[..., None]) -> None:
        """Call a signal handler in the main thread after some seconds.

        Windows has no alarm signal. Only Ctrl-Break sends SIGBREAK, and it ends a process anyway.
        """
        import signal
        import threading

        signal.signal(signal.SIGBREAK, handler)
        timer = threading.Timer(seconds, signal.raise_signal, [signal.SIGBREAK])
        timer.daemon = True
        timer.start()

    def end_group(process: subprocess.Popen[bytes]) -> None:
        """Kill a process, but not the processes that it has started."""
        with contextlib.suppress(OSError):
            process.kill()

    def ended_by(_number: int) -> AbstractContextManager[None]:
        """Return a context that does nothing: on Windows a closed pipe sends no signal."""
        return contextlib.nullcontext()

    def write_no_core() -> None:
        """Do nothing: Windows writes no core files."""

    def real_path(path: str) -> str:
        """Return the path without links, in lower case, so that all names of a file are equal."""
        return os.path.realpath(path).lower()

else:
    import fcntl

    #: Whether an open file can be renamed and removed.
    CAN_MOVE_OPEN_FILES = True
    #: Exit codes of a shell whose command does not exist or can't be run.
    NOT_STARTED = (126, 127)
    #: The creation flag that keeps a child process from opening a window.
    NO_WINDOW = 0
    #: The file of this process's terminal, for when stdin is not the terminal.
    TERMINAL = "/dev/tty"

    def open_new(name: Path) -> int:
        """Create a file, and return its descriptor.

        Raises:
            FileExistsError: the file exists.
        """
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)

    def make_folder(name: Path) -> None:
        """Create a folder that other users can't open."""
        name.mkdir(0o700)

    def open_folder(name: Path) -> int:
        """Return a descriptor of the folder, for `lock`. This lock leaves no file behind."""
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY)

    def lock(descriptor: int) -> None:
        """Lock a file or folder until its descriptor is closed.

        Raises:
            BlockingIOError: another process has locked it.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def sweep(name: Path) -> bool:
        """Remove a hidden file or folder whose process is gone; return whether it existed."""
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            status = os.fstat(descriptor)
            lock(descriptor)
            if status.st_uid == os.geteuid() and is_at(name, status):
                if stat.S_ISDIR(status.st_mode):
                    shutil.rmtree(name)
                elif stat.S_ISREG(status.st_mode):
                    name.unlink()
        except OSError:
            pass  # another process uses it, or it can't be removed
        finally:
            os.close(descriptor)
        return True

    def is_held(name: Path, descriptor: int) -> bool:
        """Return whether the file or folder that the descriptor locks has this name."""
        return is_at(name, os.fstat(descriptor))

    def may_be_open(_error: OSError) -> bool:
        """Return False: an open file can be replaced, and its readers keep the old one."""
        return False

    def is_closed_pipe(error: OSError) -> bool:
        """Return whether the reader of a pipe has gone."""
        return isinstance(error, BrokenPipeError)

    def set_mode(descriptor: int, mode: int) -> None:
        """Set the permissions of a file."""
        os.fchmod(descriptor, mode)

    def sync(path: Path) -> None:
        """Wait until a file, or the names in a folder, are on the disk."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read_at(file: FileIO, size: int, start: int) -> bytes:
        """Read up to `size` bytes from offset `start`."""
        return os.pread(file.fileno(), size, start)

    def is_non_blocking(number: int) -> bool:
        """Return whether a read returns no bytes when none have arrived yet, as at the end."""
        return not os.get_blocking(number)

    def wait_for_input(number: int) -> None:
        """Wait until there is something to read, or the stream ends."""
        import select

        poll = select.poll()
        poll.register(number, select.POLLIN)
        poll.poll()

    def later(seconds: float, handler: Callable[..., None]) -> None:
        """Call a signal handler in the main thread after some seconds."""
        import signal

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def end_group(process: subprocess.Popen[bytes]) -> None:
        """Kill a process that leads a session, and the processes that it has started."""
        import signal

        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    @contextlib.contextmanager
    def ended_by(number: int) -> Iterator[None]:
        """End this process as soon as the pipe with descriptor `number` is closed.

        The system sends SIGIO, whose default action ends the process on Linux. On macOS the signal
        is ignored by default, and the process ends at its next read.
        """
        flags = fcntl.fcntl(number, fcntl.F_GETFL)
        fcntl.fcntl(number, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(number, fcntl.F_SETFL, flags | os.O_ASYNC)
        try:
            yield
        finally:
            fcntl.fcntl(number, fcntl.F_SETFL, flags)

    def write_no_core() -> None:
        """Keep this process from leaving a core file if it is aborted."""
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, most))

    def real_path(path: str) -> str:
        """Return the path without links, so that all names of a file are equal.

        On macOS names that differ only in case, or in the normal form of an accent, are equal, too.
        """
        real = os.path.realpath(path)
        if sys.platform != "darwin":
            return real
        from unicodedata import normalize

        return normalize("NFD", real).casefold()
