"""Where a folder of shards lies: on a disk, or at an address of a store, through fsspec.

A `Place` is all that shards and pieces need of either. On a disk, a file grows under another name
and is renamed. A store has no such step, and needs none: what is uploaded is there when the upload
is complete, and not before. So a file is made on a disk first, then uploaded as a whole.

In a store a journal can't grow. Each line after the first is an object of its own,
`journal.jsonl.00000017`, until the journal is written anew. Nor does a store have locks that end
with a process. Whoever begins puts its mark there, and looks before each line whether it is its
own still: the process that began last is the one that goes on.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from tokctl import systems
from tokctl.errors import TokctlError
from tokctl.files import scratch_folder, sweep, sync_folder, whole_file
from tokctl.sources import remote

JOURNAL = "journal.jsonl"

ELSEWHERE = "choose another folder with -o"

#: What stands at an address when its upload is complete, and not before; elsewhere it is renamed.
_WHOLE = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oci", "oss", "memory")

#: A line of the journal, and the mark of the process that writes.
_LINE = re.compile(re.escape(JOURNAL) + r"\.\d{8,}")
_MARK = ".tokctl-writer"

#: Bytes per request, where a file is read in places.
_REQUEST = 1 << 23


def place_at(path: str | Path) -> Place:
    """The place of a path or an address.

    Raises:
        TokctlError: it is a store that can't be opened; the address of what can't be written to.
    """
    if isinstance(path, Path) or not remote.is_address(path):
        return LocalPlace(Path(path))
    name = remote.shown(path)
    system, inside = remote.file_system(path, name)
    if "file" in system.protocol:
        return LocalPlace(Path(inside))
    return Store(path, system, inside)


class Place(ABC):
    """A folder of files, which may not be there yet. It can be pickled.

    Attributes:
        name: for messages.
    """

    name: str

    def __str__(self) -> str:
        return self.name

    def file(self, name: str) -> str:
        """A file in it, for messages."""
        return f"{self.name}/{name}"

    @abstractmethod
    def absolute(self) -> Place:
        """The same for a process in another folder."""

    @abstractmethod
    def folder(self, name: str) -> Place:
        """A folder in it."""

    @abstractmethod
    def locked(self) -> AbstractContextManager[None]:
        """It is there, and where there are locks no other process writes to it while the block
        lasts. Raises TokctlError."""

    @abstractmethod
    def begin(self) -> None:
        """From now on this process writes to it, and where there are no locks, no other."""

    @abstractmethod
    def check_writer(self) -> None:
        """TokctlError if another process has begun since."""

    @abstractmethod
    def make(self) -> None:
        """Makes it, in one that is there. Raises OSError."""

    @abstractmethod
    def entries(self) -> list[str] | None:
        """The names in it, sorted; None: it is not there yet. Raises TokctlError."""

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """The files in it, and the bytes of each."""

    @abstractmethod
    def size(self, name: str) -> int | None:
        """The bytes of a file; None: there is none."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """What is in a file; None: there is none."""

    @abstractmethod
    def reader(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A file, to be read anywhere. Raises OSError or TokctlError."""

    @abstractmethod
    def writer(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A file to write to, which is there, whole, when the block ends without an error."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""

    @abstractmethod
    def clear(self) -> None:
        """Removes all that is in it, and itself."""

    @abstractmethod
    def sweep(self) -> None:
        """Removes what processes that were killed have left half written."""

    @abstractmethod
    def sync(self) -> None:
        """Brings its names to the disk. Raises OSError."""

    @abstractmethod
    def staged(self) -> AbstractContextManager[Path]:
        """A folder on a disk, in which files for it are made."""

    @abstractmethod
    def deliver(self, path: Path) -> None:
        """Takes a file of `staged` that is whole."""

    @abstractmethod
    def fetched(self, names: Iterable[str]) -> AbstractContextManager[Path]:
        """A folder on a disk which has these files, where they are there."""

    @abstractmethod
    def read_journal(self) -> bytes | None:
        """All its lines; None: there is no journal."""

    @abstractmethod
    def write_journal(self, data: bytes) -> None:
        """These are its lines."""

    @abstractmethod
    def cut_journal(self, data: bytes) -> None:
        """Of its lines, these first ones stay."""

    @abstractmethod
    def add_to_journal(self, number: int, line: bytes) -> None:
        """Line `number` (the first is 0), which lasts when this returns. Raises TokctlError."""

    @abstractmethod
    def has_lines(self) -> bool:
        """Does the journal record anything after its first line? One without any is damaged, and
        must not be forgotten."""


class LocalPlace(Place):
    """A folder on a disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def file(self, name: str) -> str:
        return str(self.path / name)

    def absolute(self) -> LocalPlace:
        return LocalPlace(self.path.absolute())

    def folder(self, name: str) -> LocalPlace:
        return LocalPlace(self.path / name)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """The lock is that of the folder itself (`flock`): it leaves no file behind, and ends with
        the process, however that ends."""
        try:
            self.path.mkdir(exist_ok=True)
            sync_folder(self.path.absolute().parent)
            lock = systems.open_folder(self.path)
        except (OSError, ValueError) as error:
            raise cannot(self.name, error) from None
        try:
            try:
                systems.lock(lock)
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise cannot(self.name, error) from None
                raise _somebody_else(self.name) from None
            yield
        finally:
            os.close(lock)

    def begin(self) -> None:
        pass

    def check_writer(self) -> None:
        pass

    def make(self) -> None:
        self.path.mkdir(exist_ok=True)
        sync_folder(self.path.parent)

    def entries(self) -> list[str] | None:
        path = self.path
        try:
            if not path.exists():
                if path.parent.is_dir():
                    return None
                raise TokctlError(
                    f"can't write {path}: there is no folder {path.parent}",
                    f"make it first: mkdir -p {path.parent}",
                )
            if not path.is_dir():
                raise TokctlError(f"can't write shards to {path}: it is no folder", ELSEWHERE)
            return sorted(os.listdir(path))  # noqa: PTH208
        except (OSError, ValueError) as error:
            raise cannot(self.name, error) from None

    def sizes(self) -> dict[str, int]:
        with os.scandir(self.path) as found:
            return {entry.name: entry.stat().st_size for entry in found if entry.is_file()}

    def size(self, name: str) -> int | None:
        path = self.path / name
        return path.stat().st_size if path.is_file() else None

    def read(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise cannot(self.file(name), error, "read") from None

    def reader(self, name: str) -> AbstractContextManager[BinaryIO]:
        return (self.path / name).open("rb")

    def writer(self, name: str) -> AbstractContextManager[BinaryIO]:
        return whole_file(self.path / name)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def clear(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def sweep(self) -> None:
        sweep(self.path)

    def sync(self) -> None:
        sync_folder(self.path)

    def staged(self) -> AbstractContextManager[Path]:
        return contextlib.nullcontext(self.path)

    def deliver(self, path: Path) -> None:
        """It is there already."""

    def fetched(self, names: Iterable[str]) -> AbstractContextManager[Path]:  # noqa: ARG002
        return contextlib.nullcontext(self.path)

    def read_journal(self) -> bytes | None:
        return self.read(JOURNAL)

    def write_journal(self, data: bytes) -> None:
        with self.writer(JOURNAL) as file:
            file.write(data)

    def cut_journal(self, data: bytes) -> None:
        os.truncate(self.path / JOURNAL, len(data))

    def add_to_journal(self, number: int, line: bytes) -> None:  # noqa: ARG002
        path = self.path / JOURNAL
        try:
            with path.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            reason = error.strerror or str(error)
            raise TokctlError(f"can't write {path}: {reason}", "free some space") from None

    def has_lines(self) -> bool:
        try:
            with (self.path / JOURNAL).open("rb") as file:
                return len(list(islice(file, 2))) != 1
        except FileNotFoundError:
            return False
        except OSError as error:
            raise cannot(self.file(JOURNAL), error, "read") from None


class Store(Place):
    """A folder at an address: what begins with it."""

    def __init__(self, address: str, system: Any, path: str) -> None:
        self.name = remote.shown(address).rstrip("/")
        self._address = address
        self._system = system
        self._path = path.rstrip("/")
        self._mark = b""

    def __reduce__(self) -> tuple[Any, ...]:
        return place_at, (self._address,)

    def absolute(self) -> Store:
        return self

    def folder(self, name: str) -> Store:
        # The mark, and with it the right to write, is that of the whole.
        return Store(f"{self._address.rstrip('/')}/{name}", self._system, self._at(name))

    def _at(self, name: str) -> str:
        return f"{self._path}/{name}"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._mark:
                with contextlib.suppress(TokctlError):
                    if self._read(_MARK) == self._mark:
                        self.remove(_MARK)
                self._mark = b""

    def begin(self) -> None:
        self._mark = uuid4().hex.encode()
        self._put(_MARK, self._mark)

    def make(self) -> None:
        pass

    def check_writer(self) -> None:
        if self._mark and self._read(_MARK) != self._mark:
            raise _somebody_else(self.name)

    def _listed(self) -> list[dict[str, Any]] | None:
        with remote.network(self.name, "list"):
            self._system.invalidate_cache()
            try:
                found: list[dict[str, Any]] = self._system.ls(self._path, detail=True)
            except FileNotFoundError:
                return None
        # Some stores list a folder's own name, or a file's.
        return [one for one in found if one["name"].strip("/") != self._path.strip("/")]

    def _names(self) -> list[str]:
        return sorted(one["name"].rstrip("/").rpartition("/")[2] for one in self._listed() or ())

    def entries(self) -> list[str] | None:
        return [name for name in self._names() if name != _MARK and not _LINE.fullmatch(name)]

    def sizes(self) -> dict[str, int]:
        files = (one for one in self._listed() or () if one["type"] == "file")
        return {one["name"].rpartition("/")[2]: one["size"] for one in files}

    def size(self, name: str) -> int | None:
        with remote.network(self.file(name)):
            self._system.invalidate_cache()
            try:
                about = self._system.info(self._at(name))
            except FileNotFoundError:
                return None
        return about["size"] if about["type"] == "file" else None

    def read(self, name: str) -> bytes | None:
        return self._read(name)

    def _read(self, name: str) -> bytes | None:
        with remote.network(self.file(name)):
            try:
                data: bytes = self._system.cat_file(self._at(name))
            except FileNotFoundError:
                return None
            return data

    @contextlib.contextmanager
    def reader(self, name: str) -> Iterator[BinaryIO]:
        with (
            remote.network(self.file(name)),
            self._system.open(self._at(name), "rb", block_size=_REQUEST) as file,
        ):
            yield file

    @contextlib.contextmanager
    def writer(self, name: str) -> Iterator[BinaryIO]:
        try:
            with self.staged() as folder:
                path = folder / name
                with path.open("wb") as file:
                    yield file
                self.check_writer()
                self.deliver(path)
        except OSError as error:
            raise cannot(tempfile.gettempdir(), error) from None

    def remove(self, name: str) -> None:
        names = [name]
        if name == JOURNAL:  # its first line goes last
            names = [*filter(_LINE.fullmatch, reversed(self._names())), name]
        with remote.network(self.file(name), "remove"):
            for one in names:
                with contextlib.suppress(FileNotFoundError):
                    self._system.rm_file(self._at(one))

    def clear(self) -> None:
        with contextlib.suppress(FileNotFoundError), remote.network(self.name, "remove"):
            self._system.invalidate_cache()
            if self._system.exists(self._path):
                self._system.rm(self._path, recursive=True)

    def sweep(self) -> None:
        pass  # what is half uploaded is nowhere

    def sync(self) -> None:
        pass

    def staged(self) -> AbstractContextManager[Path]:
        return scratch_folder()

    def deliver(self, path: Path) -> None:
        protocols = self._system.protocol
        protocol = protocols if isinstance(protocols, str) else protocols[0]
        with remote.network(self.file(path.name), "write"):
            if protocol in _WHOLE:
                self._system.put_file(str(path), self._at(path.name))
            else:
                hidden = self._at(f".{path.name}.tmp")
                self._system.makedirs(self._path, exist_ok=True)
                self._system.put_file(str(path), hidden)
                self._system.mv(hidden, self._at(path.name))
        path.unlink()

    def _put(self, name: str, data: bytes) -> None:
        with self.staged() as folder:
            (folder / name).write_bytes(data)
            self.deliver(folder / name)

    @contextlib.contextmanager
    def fetched(self, names: Iterable[str]) -> Iterator[Path]:
        with scratch_folder() as folder:
            for name in names:
                with remote.network(self.file(name)), contextlib.suppress(FileNotFoundError):
                    self._system.get_file(self._at(name), str(folder / name))
            yield folder

    def read_journal(self) -> bytes | None:
        first = self._read(JOURNAL)
        if first is None:
            return None
        # Lines that the first object holds, too, were left by a process that was killed while it
        # wrote the journal anew.
        known = first.count(b"\n")
        lines = [
            self._at(name)
            for name in self._names()
            if _LINE.fullmatch(name) and int(name.rpartition(".")[2]) >= known
        ]
        if not lines:
            return first
        with remote.network(self.file(JOURNAL)):
            found = self._system.cat(lines)
        return first + b"".join(found[line] for line in sorted(found))

    def write_journal(self, data: bytes) -> None:
        self.check_writer()
        self._put(JOURNAL, data)
        # The last one first, so that those that are left follow each other.
        for name in reversed(self._names()):
            if _LINE.fullmatch(name):
                self.remove(name)

    def cut_journal(self, data: bytes) -> None:
        self.write_journal(data)

    def add_to_journal(self, number: int, line: bytes) -> None:
        self.check_writer()
        self._put(f"{JOURNAL}.{number:08}", line)

    def has_lines(self) -> bool:
        if any(map(_LINE.fullmatch, self._names())):
            return True
        first = self._read(JOURNAL)
        return first is not None and first.count(b"\n") != 1


def cannot(name: str, error: Exception, verb: str = "write to") -> TokctlError:
    """The error for a place or a file where something can't be done."""
    reason = getattr(error, "strerror", None) or str(error)
    return TokctlError(f"can't {verb} {name}: {reason}", ELSEWHERE)


def _somebody_else(name: str) -> TokctlError:
    return TokctlError(f"another process is writing to {name}", f"wait for it, or {ELSEWHERE}")
