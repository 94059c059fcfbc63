"""Files that are whole or absent, and files that belong together and are replaced together."""

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

from tokctl import systems
from tokctl.errors import TokctlError


class FilesRead:
    """The files that a piece of work reads, so that none of its outputs replaces one of them.

    While `watched` is open, the functions that open files to read note them here, and `WholeFiles`
    asks here before it writes. Files are told apart by device and number: links are no other file.
    """

    def __init__(self) -> None:
        #: The name of each file, by its identity; `-` is stdin.
        self._paths: dict[tuple[int, int], str] = {}

    def read(self, path: str, status: os.stat_result | None = None) -> None:
        """Note a file that is read. What is not a regular file can't be replaced."""
        status = status or status_at(path)
        if status is not None and stat.S_ISREG(status.st_mode):
            self._paths.setdefault((status.st_dev, status.st_ino), path)

    def check(self, path: str | Path) -> None:
        """Check that writing to `path` replaces no file that is read.

        Raises:
            TokctlError: it is one of them, under this name or another.
        """
        status = status_at(path)
        found = status and self._paths.get((status.st_dev, status.st_ino))
        # A temporary file that was read may be gone, and have left its number to another.
        if status and found and (found == "-" or os.path.samestat(status, os.stat(found))):  # noqa: PTH116
            raise self.refuse(str(path), found)

    def refuse(self, path: str, found: str) -> TokctlError:
        """Return the error for an output that is the file `found`."""
        read = "" if found == path else f", {found}"
        return TokctlError(
            f"can't write {path}: it is one of the files to read{read}", "choose another place"
        )


_watching: ContextVar[tuple[FilesRead, ...]] = ContextVar("_watching", default=())


@contextlib.contextmanager
def watched(work: FilesRead | None = None) -> Iterator[FilesRead]:
    """Let `work` know every file that is opened to read until the block ends, and refuse to write
    over one of them."""
    work = FilesRead() if work is None else work
    token = _watching.set((*_watching.get(), work))
    try:
        yield work
    finally:
        _watching.reset(token)


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Read files that may be replaced afterwards: an older output."""
    token = _watching.set(())
    try:
        yield
    finally:
        _watching.reset(token)


def note_read(path: str | Path, status: os.stat_result | None = None) -> None:
    """Tell the work at hand that a file is read; `-` with its status is stdin."""
    for work in _watching.get():
        work.read(str(path), status)


def check_unread(path: str | Path) -> None:
    """Check that the work at hand reads no file at `path`; TokctlError if it does."""
    for work in _watching.get():
        work.check(path)


def status_at(path: str | Path) -> os.stat_result | None:
    """Return the status of what is at `path`, links followed; None if nothing can be seen there."""
    try:
        return os.stat(path)  # noqa: PTH116  (for 10,000 texts, Path takes twice as long)
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write to, which replaces `path` when the block ends without an error.

    It grows beside the target under another name and is renamed when it is complete and
    on the disk, so that a stop at any moment leaves the old file or the new one. What is
    not a regular file (a pipe, `/dev/null`) is written to directly. A link's target is
    replaced, not the link. What a process that was killed left for the same target goes.

    Raises:
        TokctlError: the file can't be written.
    """
    with whole_files() as together:
        yield together.open(path)


@contextlib.contextmanager
def whole_files() -> Iterator[WholeFiles]:
    """Files that belong together: they replace their targets when the block ends without an error.

        with whole_files() as together:
            index = together.open("ids.idx")  # which says that the others are there
            data = together.open("ids.bin")

    The file that is opened first gets its name last, and what had that name before loses it first,
    each step on the disk before the next: so nobody ever finds it beside another's companions,
    even after a power failure. An error on the way brings the old files back.

    Raises:
        TokctlError: a file can't be written.
    """
    together = WholeFiles()
    try:
        with together:
            yield together
    except OSError as error:
        if systems.is_closed_pipe(error) or not together.path:
            raise  # the reader has gone, which is no error of the writer; or of something else
        close_it = "close the program that has it open, or " * systems.may_be_open(error)
        raise TokctlError(
            f"can't write {together.path}: {error.strerror or error}",
            f"{close_it}choose another place with -o PATH",
        ) from None


class WholeFiles:
    """What `whole_files` gives, with the system's errors as they are.

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
        """A file that will be at `path`."""
        self.path = path = Path(path)
        status = _status(path)
        if status and stat.S_ISDIR(status.st_mode):
            raise TokctlError(f"can't write {path}: it is a folder", "name a file in it")
        if status and not stat.S_ISREG(status.st_mode):
            device = path.open("wb")
            self._devices.append(device)
            return device
        check_unread(path)
        with _signals_wait():
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
        with _signals_wait():
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
        """Does it with each, and waits until that is on the disk."""
        changed: set[Path] = set()
        for one in growing:
            self.path = one.path
            if do(one):
                changed.add(one.target.parent)
        for folder in changed:
            sync_folder(folder)


class _Growing:
    """A file that grows beside its target, `status` of which is None if there is none yet."""

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
        """Brings it to the disk."""
        self.file.flush()
        # A new file gets the usual rights, a replaced one keeps its own.
        mode = stat.S_IMODE(self._old.st_mode) if self._old else 0o666 & ~umask()
        systems.set_mode(self.file.fileno(), mode)
        os.fsync(self.file.fileno())

    def rename(self) -> bool:
        """Gives it its name."""
        if not systems.CAN_MOVE_OPEN_FILES:
            self.file.close()
        if not systems.is_at(
            self._name, self._identity
        ):  # locks failed, and somebody took it for litter
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._name))
        self._name.replace(self.target)
        self._forget_name()
        return True

    def set_aside(self) -> bool:
        """Takes the name from what has it; False if nothing has."""
        try:
            held = os.open(self.target, os.O_RDONLY)
        except FileNotFoundError:
            return False
        with os.fdopen(held, "rb"):
            descriptor, name = _claim(self.target)
            os.close(descriptor)
            lasting = None
            if systems.CAN_MOVE_OPEN_FILES:
                with contextlib.suppress(OSError):  # as a hidden file of ours it is locked, too
                    systems.lock(held)
                lasting = os.dup(held)
            self._aside = _Aside(name, lasting, os.fstat(held))
        self.target.replace(name)
        return True

    def restore(self) -> None:
        """The old file has its name again, or nothing has."""
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
        """Removes what still has a hidden name."""
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
    """An old file under a hidden name. The descriptor holds its lock, where there is one."""

    name: Path
    descriptor: int | None
    status: os.stat_result


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which is at `path`, on the disk, when the block ends without an error.

    Raises:
        OSError: it can't be made, or something is at `path`.
    """
    with _claimed_folder(path) as name:
        yield name
        for folder, _, files in os.walk(name, topdown=False):
            for file in files:
                systems.sync(Path(folder, file))
            sync_folder(Path(folder))
        name.chmod(0o777 & ~umask())
        with _signals_wait():
            name.rename(path)
            sync_folder(path.parent)


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that is gone when the block ends. What a process that was killed left goes, too.

    Raises:
        OSError: it can't be made.
    """
    import tempfile

    with _claimed_folder(Path(tempfile.gettempdir(), "scratch")) as name:
        yield name


@contextlib.contextmanager
def _claimed_folder(target: Path) -> Iterator[Path]:
    """A hidden folder beside the target, which is gone afterwards where it still has its name."""
    with _signals_wait():
        descriptor, name = _claim(target, folder=True)
    try:
        yield name
    finally:
        # The folder that is locked, and not one that has the name by now.
        with contextlib.suppress(OSError):
            if systems.is_held(name, descriptor):
                shutil.rmtree(name, ignore_errors=True)
        os.close(descriptor)


def _status(path: Path) -> os.stat_result | None:
    """What stands at `path`, links followed; None if nothing does."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None
    except ValueError as error:  # a NUL in the name
        raise TokctlError(
            f"can't write {str(path)!r}: {error}",
            "name another file, or look at the rights of the folder and the room on its disk",
        ) from None


#: Hidden files that grow.
_names: list[str] = []
_last_words: Callable[[list[str]], None] | None = None


def prepare_last_words() -> None:
    """For a process that is nothing but a command: where the native code can't go on, as there is
    no memory left even to end in order, it says so and deletes the hidden files."""
    global _last_words
    from tokctl._native import last_words

    _last_words = last_words
    _tell_names()


def _tell_names() -> None:
    if _last_words is not None:
        _last_words(list(_names))


#: True while a file is being made whose name nobody knows yet, and while files are renamed. What
#: turns signals into exceptions (`tokctl.cli.signals`) waits until it is over.
is_making = False


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    global is_making
    try:
        is_making = True
        yield
    finally:
        is_making = False


#: The file system has no locks, and nothing is swept there.
_NO_LOCKS = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENOLCK)
#: Processes that write to one target at a time. No more are waited for.
_MOST_AT_ONCE = 100


def _claim(target: Path, *, folder: bool = False) -> tuple[int, Path]:
    """A new hidden file or folder beside the target: its descriptor, and its name.

    The names are counted. Whoever makes one locks it, and the lock ends with the process, however
    that ends: so one that nobody has locked was left behind by a process that was killed, and goes.
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
            # Somebody has that name, or swept the folder that was just made.
            if isinstance(error, FileNotFoundError) and not folder:
                raise
            continue
        try:
            systems.lock(descriptor)
        except BlockingIOError:  # who sweeps was faster
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
    """Removes the hidden files in a folder that grow no more: their processes are gone."""
    with contextlib.suppress(OSError):
        for name in folder.glob(".*.tokctl-*.tmp"):
            systems.sweep(name)


def umask() -> int:
    """The rights that new files and folders do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def sync_folder(folder: Path) -> None:
    """Brings the names in a folder to the disk, where the file system can."""
    try:
        systems.sync(folder)
    except OSError as error:
        # A folder that may not be read, or a file system that has nothing to do.
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise


def is_plain_name(name: object) -> TypeGuard[str]:
    """Is it the name of something in a folder, and not a way out of it?"""
    if not isinstance(name, str) or name in ("", ".", "..") or "\0" in name:
        return False
    return Path(name).name == name  # Windows has more than one separator, and drives
