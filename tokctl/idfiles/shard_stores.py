"""Folder of shards on a disk, or at the address of an object store, through fsspec.

A `ShardStore` has all operations that shards and pieces need of either. On a disk, a file grows
under a temporary name and is renamed. A store has no rename and needs none: an object appears when
its upload is complete. So a file is first written on a disk, then uploaded as a whole.

An object in a store can't grow, so each line of a journal after the first is an object of its own,
`journal.jsonl.00000017`, until the journal is rewritten. A store has no locks that end with a
process either. So a process that begins leaves its mark there, and checks before each line that the
mark is still its own. The process that began last continues; the others stop.
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

from tokctl.core import systems
from tokctl.core.errors import BadInput, BadOption, TokctlError
from tokctl.core.files import scratch_folder, sweep, sync_folder, whole_file
from tokctl.sources import remote

JOURNAL = "journal.jsonl"

OTHER_FOLDER_HINT = "choose another folder with -o"

#: Protocols under which an object appears only when its upload is complete. Under others, a file is
#: uploaded under a temporary name and renamed.
_ATOMIC_UPLOADS = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oci", "oss", "memory")

#: Object names of the lines of a journal, and of the mark of the process that writes.
_JOURNAL_LINE = re.compile(re.escape(JOURNAL) + r"\.\d{8,}")
_WRITER_MARK = ".tokctl-writer"

#: Bytes per request when parts of an object are read.
_REQUEST_SIZE = 1 << 23


def open_store(path: str | Path) -> ShardStore:
    """Return the place at a path or an address.

    Args:
        path: a path; or an address such as `s3://bucket/folder`, if it is text.

    Raises:
        TokctlError: the store can't be opened, or the address is not one that can be written to.
    """
    if isinstance(path, Path) or not remote.is_address(path):
        return LocalStore(Path(path))
    name = remote.without_secrets(path)
    system, inner_path = remote.file_system(path, name)
    if "file" in system.protocol:
        return LocalStore(Path(inner_path))
    return RemoteStore(path, system, inner_path)


class ShardStore(ABC):
    """A folder of files, which may not exist yet. It can be pickled.

    Attributes:
        name: name in messages.
    """

    name: str

    def __str__(self) -> str:
        return self.name

    def file(self, name: str) -> str:
        """Return the name of a file in the folder, for messages."""
        return f"{self.name}/{name}"

    @abstractmethod
    def absolute(self) -> ShardStore:
        """Return the place under a name that is valid in another working directory."""

    @abstractmethod
    def folder(self, name: str) -> ShardStore:
        """Return a subfolder."""

    @abstractmethod
    def locked(self) -> AbstractContextManager[None]:
        """Create the folder, and keep other processes from writing to it until the block ends.

        A store has no locks: for a store, this creates nothing and keeps no process out.

        Raises:
            TokctlError: the folder can't be created, or another process writes to it.
        """

    @abstractmethod
    def begin(self) -> None:
        """Declare this process the only one that writes, where locks can't do it."""

    @abstractmethod
    def check_writer(self) -> None:
        """Raise TokctlError if another process has called `begin` since this one did."""

    @abstractmethod
    def make(self) -> None:
        """Create the folder in an existing one; may raise OSError."""

    @abstractmethod
    def entries(self) -> list[str] | None:
        """Return the sorted names in the folder; None if it does not exist.

        Raises:
            TokctlError: the folder can't be read, or the name is one of a file.
        """

    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of each file in the folder."""

    @abstractmethod
    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""

    @abstractmethod
    def reader(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading at any position; may raise OSError or TokctlError."""

    @abstractmethod
    def writer(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for writing; it appears, complete, when the block ends without error."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file if it exists."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the folder and everything in it."""

    @abstractmethod
    def sweep(self) -> None:
        """Remove the unfinished files of processes that were killed."""

    @abstractmethod
    def sync(self) -> None:
        """Flush the names in the folder to the disk; may raise OSError."""

    @abstractmethod
    def staged(self) -> AbstractContextManager[Path]:
        """Open a folder on a disk in which files for this place are written."""

    @abstractmethod
    def deliver(self, path: Path) -> None:
        """Move a complete file from the folder of `staged` to this place."""

    @abstractmethod
    def fetched(self, names: Iterable[str]) -> AbstractContextManager[Path]:
        """Open a folder on a disk with copies of these files; missing files are skipped."""

    @abstractmethod
    def read_journal(self) -> bytes | None:
        """Return all lines of the journal; None if it does not exist."""

    @abstractmethod
    def write_journal(self, data: bytes) -> None:
        """Replace the journal by these lines."""

    @abstractmethod
    def cut_journal(self, data: bytes) -> None:
        """Cut the journal to these lines, with which it begins."""

    @abstractmethod
    def add_to_journal(self, number: int, line: bytes) -> None:
        """Append a line to the journal; it is durable when the method returns.

        Args:
            number: number of the line; the first line of the journal is 0.
            line: the line with its line feed.

        Raises:
            TokctlError: the line can't be written, or another process writes to the place.
        """

    @abstractmethod
    def has_lines(self) -> bool:
        """Return whether the journal has lines after the first one.

        Also True for an empty journal: it is damaged, and must not be overwritten as one without
        shards.
        """


class LocalStore(ShardStore):
    """A folder on a disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def file(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.path / name)

    def absolute(self) -> LocalStore:
        """Return the place with an absolute path."""
        return LocalStore(self.path.absolute())

    def folder(self, name: str) -> LocalStore:
        """Return a subfolder."""
        return LocalStore(self.path / name)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder itself (`flock`).

        Such a lock leaves no file behind, and ends with the process, however the process ends.
        """
        try:
            self.path.mkdir(exist_ok=True)
            sync_folder(self.path.absolute().parent)
            lock = systems.open_folder(self.path)
        except (OSError, ValueError) as error:
            raise access_error(self.name, error) from None
        try:
            try:
                systems.lock(lock)
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise access_error(self.name, error) from None
                raise _other_writer_error(self.name) from None
            yield
        finally:
            os.close(lock)

    def begin(self) -> None:
        """Do nothing: the lock keeps other processes out."""

    def check_writer(self) -> None:
        """Do nothing: the lock keeps other processes out."""

    def make(self) -> None:
        """Create the folder, and flush its name to the disk."""
        self.path.mkdir(exist_ok=True)
        sync_folder(self.path.parent)

    def entries(self) -> list[str] | None:
        """Return the sorted names; raise TokctlError if it is not a folder, or has no parent."""
        path = self.path
        try:
            if not path.exists():
                if path.parent.is_dir():
                    return None
                raise BadInput(
                    f"can't write {path}: there is no folder {path.parent}",
                    f"make it first: mkdir -p {path.parent}",
                    "unreadable",
                )
            if not path.is_dir():
                raise BadOption(
                    f"can't write shards to {path}: it is not a folder",
                    OTHER_FOLDER_HINT,
                    "output-taken",
                )
            return sorted(os.listdir(path))  # noqa: PTH208
        except (OSError, ValueError) as error:
            raise access_error(self.name, error) from None

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of each file."""
        with os.scandir(self.path) as entries:
            return {entry.name: entry.stat().st_size for entry in entries if entry.is_file()}

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        path = self.path / name
        return path.stat().st_size if path.is_file() else None

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise access_error(self.file(name), error, "read") from None

    def reader(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading."""
        return (self.path / name).open("rb")

    def writer(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file that replaces the one of this name when it is complete."""
        return whole_file(self.path / name)

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove the folder and everything in it; ignore errors."""
        shutil.rmtree(self.path, ignore_errors=True)

    def sweep(self) -> None:
        """Remove the unfinished files of processes that were killed."""
        sweep(self.path)

    def sync(self) -> None:
        """Flush the names in the folder to the disk."""
        sync_folder(self.path)

    def staged(self) -> AbstractContextManager[Path]:
        """Return the folder itself: files are written in place."""
        return contextlib.nullcontext(self.path)

    def deliver(self, path: Path) -> None:
        """Do nothing: the file is in the folder already."""

    def fetched(self, names: Iterable[str]) -> AbstractContextManager[Path]:  # noqa: ARG002
        """Return the folder itself: its files need no copies."""
        return contextlib.nullcontext(self.path)

    def read_journal(self) -> bytes | None:
        """Return the content of the journal; None if it does not exist."""
        return self.read(JOURNAL)

    def write_journal(self, data: bytes) -> None:
        """Replace the journal by these lines."""
        with self.writer(JOURNAL) as file:
            file.write(data)

    def cut_journal(self, data: bytes) -> None:
        """Truncate the journal to the length of these lines."""
        os.truncate(self.path / JOURNAL, len(data))

    def add_to_journal(self, number: int, line: bytes) -> None:  # noqa: ARG002
        """Append a line, and flush it to the disk."""
        path = self.path / JOURNAL
        try:
            with path.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            reason = error.strerror or str(error)
            raise BadInput(
                f"can't write {path}: {reason}", "free some space", "unreadable"
            ) from None

    def has_lines(self) -> bool:
        """Return whether the journal does not have exactly one line; False if it does not exist."""
        try:
            with (self.path / JOURNAL).open("rb") as file:
                return len(list(islice(file, 2))) != 1
        except FileNotFoundError:
            return False
        except OSError as error:
            raise access_error(self.file(JOURNAL), error, "read") from None


class RemoteStore(ShardStore):
    """A folder at an address: the objects whose names begin with it."""

    def __init__(self, address: str, system: Any, path: str) -> None:
        self.name = remote.without_secrets(address).rstrip("/")
        self._address = address
        self._system = system
        self._path = path.rstrip("/")
        self._own_mark = b""

    def __reduce__(self) -> tuple[Any, ...]:
        return open_store, (self._address,)

    def absolute(self) -> RemoteStore:
        """Return the place itself: an address does not depend on the working directory."""
        return self

    def folder(self, name: str) -> RemoteStore:
        """Return a subfolder."""
        # The subfolder has no mark: the mark of the whole folder decides who may write.
        return RemoteStore(f"{self._address.rstrip('/')}/{name}", self._system, self._path_of(name))

    def _path_of(self, name: str) -> str:
        return f"{self._path}/{name}"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Remove the mark of this process, if it has one, when the block ends."""
        try:
            yield
        finally:
            if self._own_mark:
                with contextlib.suppress(TokctlError):
                    if self._read(_WRITER_MARK) == self._own_mark:
                        self.remove(_WRITER_MARK)
                self._own_mark = b""

    def begin(self) -> None:
        """Write a mark of this process, which replaces the mark of any other."""
        self._own_mark = uuid4().hex.encode()
        self._upload(_WRITER_MARK, self._own_mark)

    def make(self) -> None:
        """Do nothing: a store has no folders to create."""

    def check_writer(self) -> None:
        """Raise TokctlError if the mark of another process has replaced the one of this process."""
        if self._own_mark and self._read(_WRITER_MARK) != self._own_mark:
            raise _other_writer_error(self.name)

    def _list_objects(self) -> list[dict[str, Any]] | None:
        with remote.network(self.name, "list"):
            self._system.invalidate_cache()
            try:
                objects: list[dict[str, Any]] = self._system.ls(self._path, detail=True)
            except FileNotFoundError:
                return None
        # Some stores list the folder itself, or the file if the name is one of a file.
        return [entry for entry in objects if entry["name"].strip("/") != self._path.strip("/")]

    def _names(self) -> list[str]:
        return sorted(
            entry["name"].rstrip("/").rpartition("/")[2] for entry in self._list_objects() or ()
        )

    def entries(self) -> list[str] | None:
        """Return the sorted names, without the mark and the objects of journal lines."""
        return [
            name
            for name in self._names()
            if name != _WRITER_MARK and not _JOURNAL_LINE.fullmatch(name)
        ]

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of each file."""
        files = (entry for entry in self._list_objects() or () if entry["type"] == "file")
        return {entry["name"].rpartition("/")[2]: entry["size"] for entry in files}

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        with remote.network(self.file(name)):
            self._system.invalidate_cache()
            try:
                info = self._system.info(self._path_of(name))
            except FileNotFoundError:
                return None
        return info["size"] if info["type"] == "file" else None

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""
        return self._read(name)

    def _read(self, name: str) -> bytes | None:
        with remote.network(self.file(name)):
            try:
                data: bytes = self._system.cat_file(self._path_of(name))
            except FileNotFoundError:
                return None
            return data

    @contextlib.contextmanager
    def reader(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for reading, in requests of `_REQUEST_SIZE` bytes."""
        with (
            remote.network(self.file(name)),
            self._system.open(self._path_of(name), "rb", block_size=_REQUEST_SIZE) as file,
        ):
            yield file

    @contextlib.contextmanager
    def writer(self, name: str) -> Iterator[BinaryIO]:
        """Open a file on a disk; it is uploaded when the block ends without error."""
        try:
            with self.staged() as folder:
                path = folder / name
                with path.open("wb") as file:
                    yield file
                self.check_writer()
                self.deliver(path)
        except OSError as error:
            raise access_error(tempfile.gettempdir(), error) from None

    def remove(self, name: str) -> None:
        """Remove a file if it exists; with the journal, all of its lines."""
        names = [name]
        if name == JOURNAL:  # the first line is removed last
            names = [*filter(_JOURNAL_LINE.fullmatch, reversed(self._names())), name]
        with remote.network(self.file(name), "remove"):
            for object_name in names:
                with contextlib.suppress(FileNotFoundError):
                    self._system.rm_file(self._path_of(object_name))

    def clear(self) -> None:
        """Remove all objects of the folder."""
        with contextlib.suppress(FileNotFoundError), remote.network(self.name, "remove"):
            self._system.invalidate_cache()
            if self._system.exists(self._path):
                self._system.rm(self._path, recursive=True)

    def sweep(self) -> None:
        """Do nothing: an incomplete upload leaves no object."""

    def sync(self) -> None:
        """Do nothing: a complete upload is durable."""

    def staged(self) -> AbstractContextManager[Path]:
        """Open a scratch folder on a disk."""
        return scratch_folder()

    def deliver(self, path: Path) -> None:
        """Upload a file, and remove it from the disk."""
        protocols = self._system.protocol
        protocol = protocols if isinstance(protocols, str) else protocols[0]
        with remote.network(self.file(path.name), "write"):
            if protocol in _ATOMIC_UPLOADS:
                self._system.put_file(str(path), self._path_of(path.name))
            else:
                temporary = self._path_of(f".{path.name}.tmp")
                self._system.makedirs(self._path, exist_ok=True)
                self._system.put_file(str(path), temporary)
                self._system.mv(temporary, self._path_of(path.name))
        path.unlink()

    def _upload(self, name: str, data: bytes) -> None:
        with self.staged() as folder:
            (folder / name).write_bytes(data)
            self.deliver(folder / name)

    @contextlib.contextmanager
    def fetched(self, names: Iterable[str]) -> Iterator[Path]:
        """Download files to a scratch folder; missing files are skipped."""
        with scratch_folder() as folder:
            for name in names:
                with remote.network(self.file(name)), contextlib.suppress(FileNotFoundError):
                    self._system.get_file(self._path_of(name), str(folder / name))
            yield folder

    def read_journal(self) -> bytes | None:
        """Return the first object of the journal and the lines after it; None if it is missing."""
        head = self._read(JOURNAL)
        if head is None:
            return None
        # Objects of lines that the first object holds, too, are left from a process that was killed
        # while it rewrote the journal.
        line_count = head.count(b"\n")
        lines = [
            self._path_of(name)
            for name in self._names()
            if _JOURNAL_LINE.fullmatch(name) and int(name.rpartition(".")[2]) >= line_count
        ]
        if not lines:
            return head
        with remote.network(self.file(JOURNAL)):
            contents = self._system.cat(lines)
        return head + b"".join(contents[path] for path in sorted(contents))

    def write_journal(self, data: bytes) -> None:
        """Write all lines as one object, and remove the objects of single lines."""
        self.check_writer()
        self._upload(JOURNAL, data)
        # The last one first, so that the remaining ones are always consecutive.
        for name in reversed(self._names()):
            if _JOURNAL_LINE.fullmatch(name):
                self.remove(name)

    def cut_journal(self, data: bytes) -> None:
        """Replace the journal by these lines."""
        self.write_journal(data)

    def add_to_journal(self, number: int, line: bytes) -> None:
        """Upload a line as an object of its own."""
        self.check_writer()
        self._upload(f"{JOURNAL}.{number:08}", line)

    def has_lines(self) -> bool:
        """Return whether there are more lines than the first one, or an empty journal."""
        if any(map(_JOURNAL_LINE.fullmatch, self._names())):
            return True
        head = self._read(JOURNAL)
        return head is not None and head.count(b"\n") != 1


def access_error(name: str, error: Exception, verb: str = "write to") -> TokctlError:
    """Return the error for something that can't be done at a place or to a file.

    Args:
        name: name of the place or the file.
        error: the cause.
        verb: what can't be done.
    """
    reason = getattr(error, "strerror", None) or str(error)
    return BadInput(f"can't {verb} {name}: {reason}", OTHER_FOLDER_HINT, "unreadable")


def _other_writer_error(name: str) -> TokctlError:
    return BadOption(
        f"another process is writing to {name}",
        f"wait for it, or {OTHER_FOLDER_HINT}",
        "output-taken",
    )
