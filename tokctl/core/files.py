"""Atomic output: files that are whole or absent, and groups of files that are replaced together."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeGuard

from tokctl.core import systems
from tokctl.core.errors import BadInput, BadOption, TokctlError
from tokctl.core.signals import held


class FilesRead:
    """The files that a task reads, recorded so that no output of the task replaces one of them.

    Inside a `watched` block, the functions that open files for reading record them here, and
    `WholeFiles` checks here before it writes. Files are identified by device and inode, so a link
    and its target are the same file.
    """

    def __init__(self) -> None:
        #: The name of each file by (device, inode); `-` is stdin.
        self._paths: dict[tuple[int, int], str] = {}

    def read(self, path: str, status: os.stat_result | None = None) -> None:
        """Record a file that is read. Only regular files are recorded: others can't be replaced."""
        status = status or status_at(path)
        if status is not None and stat.S_ISREG(status.st_mode):
            self._paths.setdefault((status.st_dev, status.st_ino), path)

    def check(self, path: str | Path) -> None:
        """Check that writing to `path` replaces no recorded file.

        Raises:
            TokctlError: the file at `path` was recorded, under this name or another.
        """
        status = status_at(path)
        found = status and self._paths.get((status.st_dev, status.st_ino))
        # A temporary file that was read may be gone, and a new file may have its inode number.
        if status and found and (found == "-" or os.path.samestat(status, os.stat(found))):  # noqa: PTH116
            raise self.refuse(str(path), found)

    def refuse(self, path: str, found: str) -> TokctlError:
        """Return the error for an output that is the file `found`."""
        read = "" if found == path else f", {found}"
        return BadOption(
            f"can't write {path}: it is one of the files to read{read}",
            "choose another place",
            "output-taken",
        )


_watching: ContextVar[tuple[FilesRead, ...]] = ContextVar("_watching", default=())


@contextlib.contextmanager
def watched(work: FilesRead | None = None) -> Iterator[FilesRead]:
    """Record all files that the block opens for reading, and refuse to write over one of them.

    Args:
        work: where the files are recorded; None: in a new record. The block gets this object.
    """
    work = FilesRead() if work is None else work
    token = _watching.set((*_watching.get(), work))
    try:
        yield work
    finally:
        _watching.reset(token)


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Record no files in this block, which reads an older output that may be replaced later."""
    token = _watching.set(())
    try:
        yield
    finally:
        _watching.reset(token)


def note_read(path: str | Path, status: os.stat_result | None = None) -> None:
    """Record in all open `watched` blocks that a file is read.

    Args:
        path: the path of the file; `-` is stdin.
        status: the status of the file; None: that of the file at `path`.
    """
    for work in _watching.get():
        work.read(str(path), status)


def check_unread(path: str | Path) -> None:
    """Check that no open `watched` block has recorded the file at `path`.

    Raises:
        TokctlError: the file was recorded.
    """
    for work in _watching.get():
        work.check(path)


def status_at(path: str | Path) -> os.stat_result | None:
    """Return the status of the file at `path`, links followed; None if it can't be read."""
    try:
        return os.stat(path)  # noqa: PTH116  (for 10,000 texts, Path takes twice as long)
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` when the block ends without an error.

    The data goes to a hidden file in the folder of the target, which is renamed when it is complete
    and on the disk. A stop at any moment leaves the old file or the new one. If `path` is not a
    regular file (a pipe, `/dev/null`), the data is written to it directly. If `path` is a link, the
    target of the link is replaced. Hidden files that killed processes left are removed.

    Raises:
        TokctlError: the file can't be written.

    Example:
        with whole_file("a.json") as file:
            file.write(b"{}")
    """
    with whole_files() as together:
        yield together.open(path)


@contextlib.contextmanager
def whole_files() -> Iterator[WholeFiles]:
    """Write files that belong together, and replace their targets when the block ends.

    The file that is opened first gets its name last, and an old file of that name loses the name
    first. Each step is on the disk before the next one. So the first file is never next to files of
    another version, even after a power failure. If an error occurs, the old files are restored.

    Raises:
        TokctlError: a file can't be written.

    Example:
        with whole_files() as together:
            index = together.open("ids.idx")  # an index shows that its data is there
            data = together.open("ids.bin")
    """
    together = WholeFiles()
    try:
        with together:
            yield together
    except OSError as error:
        if systems.is_closed_pipe(error) or not together.path:
            raise  # the pipe's reader has gone, or the error comes from something else
        close_it = "close the program that has it open, or " * systems.may_be_open(error)
        raise BadInput(
            f"can't write {together.path}: {error.strerror or error}",
            f"{close_it}choose another place with -o PATH",
            "unreadable",
        ) from None


class WholeFiles:
    """The group of files of `whole_files`, which raises the system's errors unchanged.

    Attributes:
        path: the file that was worked on last, for messages.
    """

    def __init__(self) -> None:
        self.path: str | Path = ""
        self._devices: list[BinaryIO] = []
        self._growing: list[_Growing] = []

    def __enter__(self) -> WholeFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            for one in self._growing:
                one.abandon()
            for device in self._devices:
                with contextlib.nullcontext() if kind is None else contextlib.suppress(OSError):
                    device.close()

    def open(self, path: str | Path) -> BinaryIO:
        """Open a file for writing that will be at `path`.

        Raises:
            TokctlError: `path` is a folder, or a file that a `watched` block has read.
        """
        self.path = path = Path(path)
        status = _status(path)
        if status and stat.S_ISDIR(status.st_mode):
            raise BadInput(f"can't write {path}: it is a folder", "name a file in it", "unreadable")
        if status and not stat.S_ISREG(status.st_mode):
            device = path.open("wb")
            self._devices.append(device)
            return device
        check_unread(path)
        with held():
            one = _Growing(path, Path(os.path.realpath(path)), status)
            self._growing.append(one)
        return one.file

    def _finish(self) -> None:
        for device in self._devices:
            device.flush()
        for one in reversed(self._growing):
            self.path = one.path
            one.sync()
        if not self._growing:
            return
        first, *companions = self._growing
        with held():
            try:
                if companions:
                    self._step([first], _Growing.set_aside)
                    self._step(companions, _Growing.set_aside)
                    self._step(companions, _Growing.rename)
                self.path = first.path
                first.rename()
            except BaseException:
                for one in (*companions, first):
                    one.restore()
                raise
            sync_folder(first.target.parent)

    def _step(self, growing: list[_Growing], do: Callable[[_Growing], bool]) -> None:
        """Apply `do` to each file, and wait until the changes of names are on the disk."""
        changed: set[Path] = set()
        for one in growing:
            self.path = one.path
            if do(one):
                changed.add(one.target.parent)
        for folder in changed:
            sync_folder(folder)


class _Growing:
    """A hidden file next to its target; `status` is None if the target does not exist."""

    def __init__(self, path: Path, target: Path, status: os.stat_result | None) -> None:
        self.path = path
        self.target = target
        self._old = status
        descriptor, self._name = _claim(target)
        _names.append(str(self._name))
        _tell_names()
        self.file: BinaryIO = os.fdopen(descriptor, "wb")
        self._identity = os.fstat(descriptor)
        self._aside: _Aside | None = None

    def sync(self) -> None:
        """Set the permissions of the file, and wait until it is on the disk."""
        self.file.flush()
        # A new file gets the usual permissions; a replaced file's permissions stay.
        mode = stat.S_IMODE(self._old.st_mode) if self._old else 0o666 & ~umask()
        systems.set_mode(self.file.fileno(), mode)
        os.fsync(self.file.fileno())

    def rename(self) -> bool:
        """Give the file its final name."""
        if not systems.CAN_MOVE_OPEN_FILES:
            self.file.close()
        if not systems.is_at(
            self._name, self._identity
        ):  # without locks, another process may have removed it as a leftover
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._name))
        self._name.replace(self.target)
        self._forget_name()
        return True

    def set_aside(self) -> bool:
        """Move the old file to a hidden name; return whether there was one."""
        try:
            held = os.open(self.target, os.O_RDONLY)
        except FileNotFoundError:
            return False
        with os.fdopen(held, "rb"):
            descriptor, name = _claim(self.target)
            os.close(descriptor)
            lasting = None
            if systems.CAN_MOVE_OPEN_FILES:
                with contextlib.suppress(OSError):  # all hidden files are locked
                    systems.lock(held)
                lasting = os.dup(held)
            self._aside = _Aside(name, lasting, os.fstat(held))
        self.target.replace(name)
        return True

    def restore(self) -> None:
        """Give the old file its name again; remove the new file if there was no old one."""
        with contextlib.suppress(OSError):
            if self._aside is not None:
                if systems.is_at(self._aside.name, self._aside.status):
                    self._aside.name.replace(self.target)
            elif self._old is None and systems.is_at(self.target, self._identity):
                self.target.unlink()

    def _forget_name(self) -> None:
        if str(self._name) in _names:
            _names.remove(str(self._name))
            _tell_names()

    def abandon(self) -> None:
        """Remove the files that still have hidden names."""
        self._forget_name()
        if self._aside is not None:
            with contextlib.suppress(OSError):
                self._aside.name.unlink()
            if self._aside.descriptor is not None:
                os.close(self._aside.descriptor)
        if not systems.CAN_MOVE_OPEN_FILES:
            with contextlib.suppress(OSError):
                self.file.close()
        with contextlib.suppress(OSError):
            if systems.is_at(self._name, self._identity):
                self._name.unlink()
        with contextlib.suppress(OSError):
            self.file.close()


class _Aside(NamedTuple):
    """An old file under a hidden name. The descriptor holds its lock; None: not locked."""

    name: Path
    descriptor: int | None
    status: os.stat_result


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Make a folder to fill, which is moved to `path` when the block ends without an error.

    The files are on the disk before the folder gets its name.

    Raises:
        OSError: the folder can't be made, or `path` exists.
    """
    with _claimed_folder(path) as name:
        yield name
        for folder, _, files in os.walk(name, topdown=False):
            for file in files:
                systems.sync(Path(folder, file))
            sync_folder(Path(folder))
        name.chmod(0o777 & ~umask())
        with held():
            name.rename(path)
            sync_folder(path.parent)


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a temporary folder, which is removed when the block ends.

    Folders that killed processes left are removed, too.

    Raises:
        OSError: the folder can't be made.
    """
    import tempfile

    with _claimed_folder(Path(tempfile.gettempdir(), "scratch")) as name:
        yield name


@contextlib.contextmanager
def _claimed_folder(target: Path) -> Iterator[Path]:
    """Make a hidden folder next to the target; remove it at the end if it has its hidden name."""
    with held():
        descriptor, name = _claim(target, folder=True)
    try:
        yield name
    finally:
        # Another process may have made a folder of this name: remove only the one locked here.
        with contextlib.suppress(OSError):
            if systems.is_held(name, descriptor):
                shutil.rmtree(name, ignore_errors=True)
        os.close(descriptor)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of the file at `path`, links followed; None if it does not exist.

    Raises:
        TokctlError: `path` can't be the name of a file.
    """
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except ValueError as error:  # a NUL in the name
        raise BadInput(
            f"can't write {str(path)!r}: {error}",
            "choose another file, or check the folder's permissions and the free space",
            "unreadable",
        ) from None


#: Names of the hidden files that are being written.
_names: list[str] = []
_last_words: Callable[[list[str]], None] | None = None


def prepare_crash_message() -> None:
    """Let the native code report an out-of-memory abort and delete the hidden files.

    When there is too little memory even for an orderly end, the native code ends the process. Call
    this only in a process that runs one command and nothing else.
    """
    global _last_words
    from tokctl._native import last_words

    _last_words = last_words
    _tell_names()


def _tell_names() -> None:
    if _last_words is not None:
        _last_words(list(_names))


#: Errors of a file system without locks, on which leftover files stay.
_NO_LOCKS = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENOLCK)
#: The most processes that can write to one target at the same time.
_MOST_AT_ONCE = 100


def _claim(target: Path, *, folder: bool = False) -> tuple[int, Path]:
    """Create and lock a hidden file or folder next to the target; return descriptor and name.

    The names are numbered. The lock ends with the process, in whatever way the process ends. So an
    unlocked hidden file was left by a killed process, and is removed.
    """
    claimed: tuple[int, Path] | None = None
    for number in range(_MOST_AT_ONCE):
        name = target.with_name(f".{target.name[:80]}.tokctl-{number}.tmp")
        was_there = systems.sweep(name)
        if claimed is not None:
            if not was_there:
                break
            continue
        try:
            if folder:
                systems.make_folder(name)
                descriptor = systems.open_folder(name)
            else:
                descriptor = systems.open_new(name)
        except (FileExistsError, FileNotFoundError) as error:
            # Another process has that name, or has swept the folder that was just made.
            if isinstance(error, FileNotFoundError) and not folder:
                raise
            continue
        try:
            systems.lock(descriptor)
        except BlockingIOError:  # another process has locked the file to sweep it
            os.close(descriptor)
            continue
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                name.rmdir() if folder else name.unlink()
                os.close(descriptor)
                raise
        with contextlib.suppress(OSError):
            if systems.is_held(name, descriptor):
                claimed = descriptor, name
                continue
        os.close(descriptor)
    if claimed is None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    return claimed


def sweep(folder: Path) -> None:
    """Remove the hidden files in `folder` whose processes are gone."""
    with contextlib.suppress(OSError):
        for name in folder.glob(".*.tokctl-*.tmp"):
            systems.sweep(name)


def umask() -> int:
    """Return the process's mask of permissions that new files and folders do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def sync_folder(folder: Path) -> None:
    """Wait until the names in `folder` are on the disk, if the file system supports that."""
    try:
        systems.sync(folder)
    except OSError as error:
        # The folder is not readable, or the file system does not sync folders.
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise


def is_plain_name(name: object) -> TypeGuard[str]:
    """Return whether `name` is a plain file name, without a path that leads to another folder."""
    if not isinstance(name, str) or name in ("", ".", "..") or "\0" in name:
        return False
    return Path(name).name == name  # Windows has more than one separator, and drives
