"""What Unix and Windows do differently: locks, the removal of open files, rights, terminals.

Everything else in tokctl calls these functions, and asks for no system by its name.

On Windows an open file can be neither renamed nor removed, by nobody. So there a file that grows is
safe from other processes by being open, and is closed just before it gets its name.
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
    """Does a file have that name? OSError if nothing has it."""
    return os.path.samestat(name.lstat(), status)


if sys.platform == "win32":
    import msvcrt

    CAN_MOVE_OPEN_FILES = False
    NOT_STARTED = (1, 9009)
    NO_WINDOW = 0x08000000  # CREATE_NO_WINDOW
    TERMINAL = "CONIN$"

    def open_new(name: Path) -> int:
        """A descriptor of a file that was not there; FileExistsError if it was."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_BINARY | os.O_NOINHERIT
        return os.open(name, flags, 0o600)

    def make_folder(name: Path) -> None:
        """A new folder. (From 3.12.4 on, Python would make one of mode 0o700 private for good.)"""
        name.mkdir()

    def open_folder(name: Path) -> int:
        """A descriptor to `lock` a folder with: that of a file beside it, as folders can't be
        opened here. The system deletes it with the last descriptor, however the process ends."""
        if not name.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(name))
        beside = name.absolute().with_name(f".{name.absolute().name[:80]}.tokctl-lock")
        flags = os.O_RDWR | os.O_CREAT | os.O_TEMPORARY | os.O_BINARY | os.O_NOINHERIT
        return os.open(beside, flags, 0o600)

    def lock(descriptor: int) -> None:
        """Locks it until it is closed; BlockingIOError if another process has it."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK)) from error

    def sweep(name: Path) -> bool:
        """Removes a hidden file or folder whose process is gone; was anything there?"""
        if not os.path.lexists(name):
            return False
        with contextlib.suppress(OSError):  # somebody works on it, or it can't be removed
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
        """Has what the descriptor locks that name? A folder that is locked can't be another."""
        return name.is_dir() or is_at(name, os.fstat(descriptor))

    def may_be_open(error: OSError) -> bool:
        """Can it be that a file was not replaced as some program has it open?"""
        return isinstance(error, PermissionError)

    def is_closed_pipe(error: OSError) -> bool:
        """Has the reader of a pipe gone? C's library makes EINVAL of the system's ERROR_NO_DATA."""
        unnamed = error.filename is None and error.errno == errno.EINVAL
        return unnamed or isinstance(error, BrokenPipeError)

    def set_mode(descriptor: int, mode: int) -> None:
        """A file has the rights of its folder here."""

    def sync(path: Path) -> None:
        """Brings a file to the disk; of folders the system takes care itself."""
        if path.is_dir():
            return
        descriptor = os.open(path, os.O_RDWR | os.O_BINARY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read_at(file: FileIO, size: int, start: int) -> bytes:
        """Up to `size` bytes from a place on. The file's own position moves."""
        file.seek(start)
        return file.read(size)

    def is_non_blocking(_number: int) -> bool:
        """A stream gives nothing only at its end here."""
        return False

    def wait_for_input(_number: int) -> None:
        """Nothing is non-blocking."""

    def later(seconds: float, handler: Callable[..., None]) -> None:
        """Calls a signal handler in the main thread, after a while. There is no alarm here, and
        nothing sends SIGBREAK but Ctrl-Break, which ends a process in any case."""
        import signal
        import threading

        signal.signal(signal.SIGBREAK, handler)
        timer = threading.Timer(seconds, signal.raise_signal, [signal.SIGBREAK])
        timer.daemon = True
        timer.start()

    def end_group(process: subprocess.Popen[bytes]) -> None:
        """Ends a process; what it has started goes on."""
        with contextlib.suppress(OSError):
            process.kill()

    def ended_by(_number: int) -> AbstractContextManager[None]:
        """No signal comes from a pipe."""
        return contextlib.nullcontext()

    def write_no_core() -> None:
        """This system writes no core files."""

    def real_path(path: str) -> str:
        """The path without links, and in one case: two names of a file are equal then."""
        return os.path.realpath(path).lower()

else:
    import fcntl

    #: Can a file that is open be renamed and removed?
    CAN_MOVE_OPEN_FILES = True
    #: How the shell ends where a command is not there, or can't be run.
    NOT_STARTED = (126, 127)
    #: The flag of a child process that opens no window.
    NO_WINDOW = 0
    #: The terminal of this process, where stdin is something else.
    TERMINAL = "/dev/tty"

    def open_new(name: Path) -> int:
        """A descriptor of a file that was not there; FileExistsError if it was."""
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)

    def make_folder(name: Path) -> None:
        """A new folder that nobody else may open."""
        name.mkdir(0o700)

    def open_folder(name: Path) -> int:
        """A descriptor to `lock` a folder with: its own. Such a lock leaves no file behind."""
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY)

    def lock(descriptor: int) -> None:
        """Locks it until it is closed; BlockingIOError if another process has it."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def sweep(name: Path) -> bool:
        """Removes a hidden file or folder whose process is gone; was anything there?"""
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
            pass  # somebody works on it, or it can't be removed
        finally:
            os.close(descriptor)
        return True

    def is_held(name: Path, descriptor: int) -> bool:
        """Has what the descriptor locks that name?"""
        return is_at(name, os.fstat(descriptor))

    def may_be_open(_error: OSError) -> bool:
        """Who has a file open keeps the old one."""
        return False

    def is_closed_pipe(error: OSError) -> bool:
        """Has the reader of a pipe gone?"""
        return isinstance(error, BrokenPipeError)

    def set_mode(descriptor: int, mode: int) -> None:
        """Gives a file its rights."""
        os.fchmod(descriptor, mode)

    def sync(path: Path) -> None:
        """Brings a file, or the names in a folder, to the disk."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def read_at(file: FileIO, size: int, start: int) -> bytes:
        """Up to `size` bytes from a place on."""
        return os.pread(file.fileno(), size, start)

    def is_non_blocking(number: int) -> bool:
        """Does it give nothing where nothing is there yet, as it does at its end?"""
        return not os.get_blocking(number)

    def wait_for_input(number: int) -> None:
        """Waits until there is something to read, or the end."""
        import select

        poll = select.poll()
        poll.register(number, select.POLLIN)
        poll.poll()

    def later(seconds: float, handler: Callable[..., None]) -> None:
        """Calls a signal handler in the main thread, after a while."""
        import signal

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def end_group(process: subprocess.Popen[bytes]) -> None:
        """Ends a process that leads a session, and what it has started."""
        import signal

        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)

    @contextlib.contextmanager
    def ended_by(number: int) -> Iterator[None]:
        """End this process at once if the pipe it reads is closed meanwhile, whatever it does.

        The signal comes from the system, and by default ends the process on Linux. macOS ignores
        it by default: there the process ends when it reads on.
        """
        flags = fcntl.fcntl(number, fcntl.F_GETFL)
        fcntl.fcntl(number, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(number, fcntl.F_SETFL, flags | os.O_ASYNC)
        try:
            yield
        finally:
            fcntl.fcntl(number, fcntl.F_SETFL, flags)

    def write_no_core() -> None:
        """Leave no core file if this process is aborted."""
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, most))

    def real_path(path: str) -> str:
        """The path without links: two names of a file are equal then. On macOS a name has more than
        one case, and more than one way to write an accent."""
        real = os.path.realpath(path)
        if sys.platform != "darwin":
            return real
        from unicodedata import normalize

        return normalize("NFD", real).casefold()
