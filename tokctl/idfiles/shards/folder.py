"""A folder that shards are written to: one process at a time, and nothing but shards."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import orjson

from tokctl.errors import TokctlError
from tokctl.files import whole_file
from tokctl.idfiles.shards.journal import Journal, files_in
from tokctl.idfiles.shards.origin import Origin

if TYPE_CHECKING:
    from typing import Self

JOURNAL = "journal.jsonl"
MANIFEST = "manifest.json"

#: A shard's files, and what `whole_file` calls them and the others until they are whole.
_SHARD = re.compile(r"shard-\d{5,}\.[a-z.]+")
_TEMPORARY = re.compile(r"\.(shard-|journal\.jsonl|manifest\.json).*\.tmp")

_ELSEWHERE = "choose another folder with -o"


class Folder:
    """The folder, locked as long as the block lasts.

    The lock is that of the folder itself (`flock`): it leaves no file behind, and ends with the
    process, however that ends.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        except (OSError, ValueError) as error:
            raise _cannot(self.name, error) from None
        try:
            _lock(self._lock, self.name)
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._lock)

    def read_manifest(self) -> dict[str, Any] | None:
        """The manifest of a finished folder; None where there is none."""
        path = self.path / MANIFEST
        try:
            found = orjson.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _cannot(str(path), error, "read") from None
        except orjson.JSONDecodeError:
            found = None
        if (
            not isinstance(found, dict)
            or not all(
                isinstance(found.get(key), list)
                and all(isinstance(one, dict) for one in found[key])
                for key in ("shards", "sources")
            )
            or not all("name" in one and "bytes" in one for one in found["sources"])
        ):
            raise TokctlError(f"{path} is no manifest of shards", _ELSEWHERE)
        return found

    def journal(self, origin: Origin, *, resume: bool) -> Journal:
        """The journal: that of the earlier run, or a new one. What is not whole is removed.

        Raises:
            TokctlError: the folder holds something, and it is not to be resumed, or can't be.
        """
        refuse(self.path, resume=resume)
        path = self.path / JOURNAL
        try:
            journal = Journal.read(path) if path.exists() else None
            if journal is None or not journal.shards:
                # Nothing is in any shard yet: what it was begun with does not bind.
                with whole_file(path) as file:
                    file.write(orjson.dumps(origin.header()) + b"\n")
                journal = Journal(path, origin.header())
        except OSError as error:
            raise _cannot(str(path), error) from None
        self.clean(keep={file["file"] for file in _files(journal.shards)})
        return journal

    def clean(self, *, keep: set[str] | None) -> None:
        """Removes what a process left behind that was killed: temporary files, and shards beside
        those to `keep` (None: all of them are)."""
        for entry in _entries(self.path):
            shard = keep is not None and _SHARD.fullmatch(entry) and entry not in keep
            finished = keep is None and entry == JOURNAL
            if shard or finished or _TEMPORARY.fullmatch(entry):
                (self.path / entry).unlink(missing_ok=True)

    def check_shards(self, shards: list[dict[str, Any]]) -> None:
        """TokctlError where a shard of the journal is not there any more as it was written."""
        for file in _files(shards):
            path = self.path / file["file"]
            if not path.is_file() or path.stat().st_size != file["bytes"]:
                hint = "begin again in another folder"
                raise TokctlError(f"{path} is not as it was written", hint)

    def finish(self, manifest: dict[str, Any]) -> None:
        """Writes the manifest, and takes the journal away."""
        with whole_file(self.path / MANIFEST) as file:
            file.write(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
        (self.path / JOURNAL).unlink(missing_ok=True)


def _lock(descriptor: int, name: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise _cannot(name, error) from None
        raise TokctlError(
            f"another process is writing to {name}", f"wait for it, or {_ELSEWHERE}"
        ) from None


def check_folder(name: str | Path, *, resume: bool) -> None:
    """TokctlError where shards surely can't be written to a folder; nothing is left behind."""
    if not str(name):
        raise TokctlError("-o is empty", "name a folder for the shards")
    path = Path(name)
    if not path.is_dir():
        refuse(path, resume=resume)
        return
    with Folder(path):
        refuse(path, resume=resume)


def refuse(path: Path, *, resume: bool) -> None:
    """TokctlError where shards can't be written to `path`: it is no folder, or one that holds
    something; with `resume`, something that is no unfinished or finished run."""
    try:
        if not path.exists():
            if path.parent.is_dir():
                return
            raise TokctlError(
                f"can't write {path}: there is no folder {path.parent}",
                f"make it first: mkdir -p {path.parent}",
            )
        if not path.is_dir():
            raise TokctlError(f"can't write shards to {path}: it is no folder", _ELSEWHERE)
        entries = _entries(path)
    except (OSError, ValueError) as error:
        raise _cannot(str(path), error) from None
    known = JOURNAL in entries or MANIFEST in entries
    lasting = [entry for entry in entries if not _TEMPORARY.fullmatch(entry)]
    if resume and not known:
        entries = lasting
    if lasting == [JOURNAL] and not has_shards(path):
        # A run that stopped before its first shard: nothing is lost by beginning anew.
        return
    if not entries or (resume and known):
        return
    if known:
        begun = (
            "holds finished shards" if MANIFEST in entries else "holds shards of a run that stopped"
        )
        hint = "go on with --resume" if MANIFEST not in entries else "remove it first"
        raise TokctlError(f"{path} {begun}", f"{hint}, or {_ELSEWHERE}")
    raise TokctlError(f"{path} is not empty", _ELSEWHERE)


def has_shards(path: Path) -> bool:
    """Does the journal of a folder record a shard, that a later run can go on behind?"""
    try:
        with (path / JOURNAL).open("rb") as journal:
            return (
                len(list(islice(journal, 2))) != 1
            )  # none: it is damaged, and not to be forgotten
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _cannot(str(path / JOURNAL), error, "read") from None


def _files(shards: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [file for shard in shards for file in files_in(shard)]


def _entries(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def _cannot(name: str, error: Exception, verb: str = "write to") -> TokctlError:
    reason = getattr(error, "strerror", None) or str(error)
    return TokctlError(f"can't {verb} {name}: {reason}", _ELSEWHERE)
