"""Shards: a folder of files of ids, each whole, a journal while it grows, and a manifest.

FOLDER/shard-00000.bin, FOLDER/shard-00000.index.npy, …
FOLDER/journal.jsonl      while it grows: what is whole, and where to go on
FOLDER/manifest.json      when it is finished
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from bisect import bisect_left, bisect_right
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import orjson

from tokctl import systems
from tokctl.errors import TokctlError
from tokctl.files import is_plain_name, sync_folder, whole_file
from tokctl.idfiles.chunks import SOURCE_START, Chunk, IdFileWriter, ResumePoint, StreamPosition
from tokctl.idfiles.shard_journal import (
    Journal,
    JournalLines,
    Provenance,
    files_in,
    manifest_of,
)
from tokctl.idfiles.writer import Target, Written, files_of, open_writer

if TYPE_CHECKING:
    from typing import Self

    from tokctl.idfiles.writer import ChunkStream

JOURNAL = "journal.jsonl"
MANIFEST = "manifest.json"

#: Where a cluster puts ids that are in no shard yet, and the field in its journal's header.
PIECES = ".pieces"
PART_SIZE = "part_size"

#: A shard's files, and what `whole_file` calls them and the others until they are whole.
SHARD = re.compile(r"shard-\d{5,}\.[a-z.]+")
_TEMPORARY = re.compile(r"\.(shard-|journal\.jsonl|manifest\.json).*\.tmp|\.pieces")

_ELSEWHERE = "choose another folder with -o"


def write_shards(stream: ChunkStream, target: Target) -> Written:
    """Writes the ids of a stream as shards into a folder, which is made.

    Raises:
        TokctlError: the folder is not empty, or with `resume` holds something else; another
            process writes to it; a file can't be written; a source fails. What is whole stays,
            and can be resumed.
    """
    assert isinstance(target.path, (str, Path))
    provenance = Provenance.of(stream.sources, target.job)
    with ShardFolder(Path(target.path)) as folder:
        if target.resume and (done := folder.finished(provenance)) is not None:
            return done
        journal = folder.journal(provenance, resume=target.resume)
        if journal.shards:
            provenance.check_sources(folder.name, journal.facts)
            provenance.check_readable_again(folder.name, journal.position)
        folder.check_shards(journal.shards)
        kept = len(journal.shards)
        try:
            with _JournaledWriter(folder, journal, provenance, target) as writer:
                for chunk in stream.chunks(journal.position):
                    writer.add(chunk)
                writer.finish()
        except TokctlError as error:
            raise StoppedError.by(error) from error
        made = manifest_of(provenance, journal.facts, journal.shards)
        folder.finish(made)
        return written(made, kept=kept, was_there=False)


def written(manifest: dict[str, Any], *, kept: int, was_there: bool) -> Written:
    """What `write_shards` gives."""
    totals = manifest["totals"]
    return Written(totals["documents"], totals["ids"], manifest, kept, was_there)


class StoppedError(TokctlError):
    """An error amid the work: the complete shards stay in the folder, and a later run goes on."""

    @classmethod
    def by(cls, error: TokctlError) -> StoppedError:
        hint = error.hint
        if error.message.startswith("can't write"):
            hint = "make room there, or look at its rights"
        return cls(error.message, hint, error.exit_code)


#: Forms whose shards hold exactly so many ids, and need an index to say where documents begin.
EXACT = ("bin", "npy")


class ShardWriter:
    """Writes chunks to one shard after the other.

    A shard is full when it has its ids: in an exact form where that is, else at the end of the
    document. It ends when the next id comes, so that empty documents behind its last id belong to
    it, and the last shard is never empty where there are ids.

    Attributes:
        shards: those that are whole, as the manifest has them.
    """

    def __init__(self, folder: Path, target: Target, number: int = 0, ids: int = 0) -> None:
        """`number`: of the first shard; `ids`: of the document that goes on with it."""
        self.shards: list[dict[str, Any]] = []
        self._folder = folder
        self._number = number
        self._form = target.form
        self._dtype = target.dtype
        assert target.shard_size is not None
        self._size = target.shard_size
        self._exact = target.form in EXACT
        self._ids = ids  # of the document that has not ended
        self._stack = ExitStack()
        self._writer: IdFileWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A shard that is not whole goes; the others stay.
        self._stack.__exit__(kind, error, traceback)

    def add(self, chunk: Chunk) -> None:
        """Writes a chunk, to several shards where it is long."""
        ids = end = 0
        while (full := self._full_at(chunk, ids, end)) is not None:
            last = bisect_right(chunk.ends, full, lo=end)
            self._write(chunk.part(ids, end, full, last))
            self._close(chunk.resume)
            ids, end = full, last
        self._write(chunk.part(ids, end))

    def _full_at(self, chunk: Chunk, ids: int, end: int) -> int | None:
        """Behind which id of the chunk, from `ids` on, the shard is full and another id comes."""
        written = self._writer.ids if self._writer else 0
        lacking = max(self._size - written, 0)
        if self._exact or (lacking == 0 and self._ids == 0):
            place = ids + lacking
        else:
            number = bisect_left(chunk.ends, ids + lacking, lo=end)
            if number == len(chunk.ends):
                return None
            place = chunk.ends[number]
        return place if chunk.count > place else None

    def _write(self, chunk: Chunk) -> None:
        if not chunk.count and not chunk.ends:
            return
        if self._writer is None:
            self._writer = self._open()
        self._writer.add(chunk)
        self._ids = chunk.count - chunk.ends[-1] if chunk.ends else self._ids + chunk.count

    def _open(self) -> IdFileWriter:
        target, index = self._paths()
        return self._stack.enter_context(
            open_writer(
                self._form,
                target,
                self._dtype,
                index=index,
                starts=True,
                begun=self._ids > 0,
            )
        )

    def _paths(self) -> tuple[Path, Path | None]:
        """The file of the next shard, or the prefix of its files, and its index."""
        name = f"shard-{self._number:05}"
        if self._form == "megatron":
            return self._folder / name, None
        index = self._folder / f"{name}.index.npy" if self._exact else None
        return self._folder / f"{name}.{self._form}", index

    def _close(self, resume: ResumePoint) -> None:
        """Ends the shard; encoding of the next id begins at `resume`."""
        writer = self._writer
        if writer is None:
            return
        target, index = self._paths()
        self._stack.close()
        self._writer = None
        documents = writer.documents if writer.index is None else writer.index.count
        first, *more = [Path(name) for name in files_of(self._form, target)]
        shard = described(first)
        shard |= {"ids": writer.ids, "documents": documents}
        for second in [*more, *([index] if index else [])]:
            shard["index"] = described(second)
        self._number += 1
        self._record(shard, resume)

    def _record(self, shard: dict[str, Any], resume: ResumePoint) -> None:  # noqa: ARG002
        self.shards.append(shard)

    def finish(self) -> None:
        """Ends the last shard."""
        self._close(SOURCE_START)


class _JournaledWriter(ShardWriter):
    """Records each shard that is whole in a journal, with the place where encoding can go on."""

    def __init__(
        self, folder: ShardFolder, journal: Journal, provenance: Provenance, target: Target
    ) -> None:
        position = journal.position
        super().__init__(folder.path, target, len(journal.shards), position.ids)
        self._journal = journal
        self._provenance = provenance
        self._source = position.source
        self._documents = position.documents  # that have ended in this source
        self._facts = dict(journal.facts)
        self._touched: set[int] = set()

    def add(self, chunk: Chunk) -> None:
        if chunk.source != self._source:
            self._source, self._documents, self._ids = chunk.source, 0, 0
        number = chunk.source.source
        self._touched.add(number)
        if number not in self._facts:
            self._facts[number] = [*self._provenance.facts(number), 0, 0]
        super().add(chunk)

    def _write(self, chunk: Chunk) -> None:
        super()._write(chunk)
        self._documents += len(chunk.ends)
        facts = self._facts[chunk.source.source]
        facts[2] = (facts[2] or 0) + len(chunk.ends)
        facts[3] = (facts[3] or 0) + chunk.count

    def _record(self, shard: dict[str, Any], resume: ResumePoint) -> None:
        position = StreamPosition(self._source, resume, self._documents, self._ids)
        # A source that was only opened may still be mended.
        touched = {
            number: facts
            for number in sorted(self._touched)
            if any((facts := self._facts[number])[2:])
        }
        self._journal.add(shard, position, touched)
        self._touched = {self._source.source}


def described(path: Path) -> dict[str, Any]:
    """A file as the manifest has it."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"file": path.name, "bytes": file.tell(), "sha256": digest}


class ShardFolder:
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
            sync_folder(self.path.absolute().parent)
            self._lock = systems.open_folder(self.path)
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

    def finished(self, provenance: Provenance) -> Written | None:
        """What was written, where the folder is finished already; else None.

        Raises:
            TokctlError: it was made of something else.
        """
        if (found := self._read_manifest()) is None:
            return None
        provenance.check_same(self.name, found, what="was made")
        provenance.check_finished(self.name, found)
        self.clean(keep=None)
        return written(found, kept=len(found["shards"]), was_there=True)

    def _read_manifest(self) -> dict[str, Any] | None:
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

    def journal(self, provenance: Provenance, *, resume: bool) -> Journal:
        """The journal: that of the earlier run, or a new one. What is not whole is removed.

        Raises:
            TokctlError: the folder holds something, and it is not to be resumed, or can't be.
        """
        file = self.lines(provenance, resume=resume)
        journal = Journal(file)
        if journal.shards:
            provenance.check_same(self.name, file.header, what="was begun")
        self.clean(keep={file["file"] for file in files_in(journal.shards)})
        return journal

    def lines(self, provenance: Provenance, *, resume: bool, **more: Any) -> JournalLines:
        """The lines of the journal: those of the earlier run, or none yet. `more` is put into the
        header.

        Raises:
            TokctlError: as `journal`.
        """
        _check_empty(self.path, resume=resume)
        path = self.path / JOURNAL
        header = provenance.header() | more
        try:
            journal = JournalLines.read(path) if path.exists() else None
            if journal is None or not journal.lines:
                # Nothing is in any shard yet: what it was begun with does not bind.
                with whole_file(path) as file:
                    file.write(orjson.dumps(header) + b"\n")
                return JournalLines(path, header, [])
        except OSError as error:
            raise _cannot(str(path), error) from None
        if (PART_SIZE in journal.header) != (PART_SIZE in header):
            where = "on a cluster" if PART_SIZE in journal.header else "on one machine"
            verb = "add" if PART_SIZE in journal.header else "leave out"
            raise TokctlError(f"{self.name} was begun {where}", f"{verb} --engine, or {_ELSEWHERE}")
        return journal

    def clean(self, *, keep: set[str] | None, pieces: bool = False) -> None:
        """Removes what a process left behind that was killed: temporary files, and shards beside
        those to `keep` (None: all of them are); with `pieces`, not those of a cluster."""
        for entry in _entries(self.path):
            shard = keep is not None and SHARD.fullmatch(entry) and entry not in keep
            finished = keep is None and entry == JOURNAL
            if entry == PIECES:
                if pieces:
                    continue
                shutil.rmtree(self.path / entry, ignore_errors=True)
            elif shard or finished or _TEMPORARY.fullmatch(entry):
                (self.path / entry).unlink(missing_ok=True)

    def check_shards(self, shards: list[dict[str, Any]]) -> None:
        """TokctlError where a shard of the journal is not there any more as it was written."""
        for file in files_in(shards):
            path = self.path / file["file"]
            if not path.is_file() or path.stat().st_size != file["bytes"]:
                hint = "begin again in another folder"
                raise TokctlError(f"{path} is not as it was written", hint)

    def finish(self, manifest: dict[str, Any]) -> None:
        """Writes the manifest, and takes the journal away."""
        with whole_file(self.path / MANIFEST) as file:
            file.write(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
        shutil.rmtree(self.path / PIECES, ignore_errors=True)
        (self.path / JOURNAL).unlink(missing_ok=True)
        try:
            sync_folder(self.path)
        except OSError as error:
            raise _cannot(self.name, error) from None


def _lock(descriptor: int, name: str) -> None:
    try:
        systems.lock(descriptor)
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
        _check_empty(path, resume=resume)
        return
    with ShardFolder(path):
        _check_empty(path, resume=resume)


def _check_empty(path: Path, *, resume: bool) -> None:
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
        hint = "continue with --resume" if MANIFEST not in entries else "remove it first"
        raise TokctlError(f"{path} {begun}", f"{hint}, or {_ELSEWHERE}")
    raise TokctlError(f"{path} is not empty", _ELSEWHERE)


def has_shards(path: str | Path) -> bool:
    """Does the journal of an unfinished folder record a shard, after which a run can go on?"""
    journal = Path(path, JOURNAL)
    try:
        with journal.open("rb") as file:
            # A journal without any line is damaged, and must not be forgotten.
            return len(list(islice(file, 2))) != 1
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _cannot(str(journal), error, "read") from None


def _entries(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def _cannot(name: str, error: Exception, verb: str = "write to") -> TokctlError:
    reason = getattr(error, "strerror", None) or str(error)
    return TokctlError(f"can't {verb} {name}: {reason}", _ELSEWHERE)


_MANIFEST_HINT = "tokctl encode --shard-size writes it next to the shards"


@dataclass(frozen=True)
class ShardList:
    """The shards of a folder.

    Attributes:
        form: of all of them.
        dtype: of their ids; None: nothing says it.
        paths: in the order of the ids.
    """

    form: str
    dtype: str | None
    paths: list[str]


def list_shards(path: str) -> ShardList:
    """What the manifest of a folder says; `path` is either of them.

    Raises:
        TokctlError: there is none, it can't be read, or a shard is missing.
    """
    manifest, found = manifest_in(path)
    listed, form = found["shards"], found["form"]
    folder = Path(manifest).parent
    paths = []
    for number, shard in enumerate(listed, 1):
        name = shard.get("file") if isinstance(shard, dict) else None
        # A manifest from elsewhere names files beside it, and no others.
        if not is_plain_name(name):
            raise TokctlError(f"{manifest}: shard {number} has no name of a file", _MANIFEST_HINT)
        _check_shard(folder / name, shard.get("bytes"))
        paths.append(str(folder / name))
    dtype = found.get("dtype")
    return ShardList(form, dtype if isinstance(dtype, str) else None, paths)


def manifest_in(path: str) -> tuple[str, dict[str, Any]]:
    """The manifest of a folder, by the folder or by itself: its path, and what it says.

    Raises:
        TokctlError: there is none, or it can't be read.
    """
    manifest = _manifest_of(path)
    try:
        found = orjson.loads(Path(manifest).read_bytes())
    except OSError as error:
        raise TokctlError(f"can't read {manifest}: {error.strerror}", "check that file") from None
    except orjson.JSONDecodeError as error:
        raise TokctlError(f"{manifest} is no JSON: {error}", _MANIFEST_HINT) from None
    is_one = isinstance(found, dict) and isinstance(found.get("shards"), list)
    if not is_one or not isinstance(found.get("form"), str):
        raise TokctlError(f"{manifest} is no manifest of shards", _MANIFEST_HINT)
    return manifest, found


def _manifest_of(path: str) -> str:
    if not Path(path).is_dir():
        return path
    inside = Path(path, MANIFEST)
    if inside.is_file():
        return str(inside)
    if Path(path, JOURNAL).is_file():
        raise TokctlError(
            f"{path} holds shards of a run that stopped", "finish it: tokctl encode --resume"
        )
    raise TokctlError(f"{path} is a folder without {MANIFEST}", "name the files in it")


def _check_shard(path: Path, size: object) -> None:
    """TokctlError where the shard is not there, or not as long as it was."""
    hint = "copy it again from where it came, or make the shards again"
    if not path.is_file():
        raise TokctlError(f"the shard {path} is missing", hint)
    there = path.stat().st_size
    if type(size) is int and size != there:
        raise TokctlError(f"the shard {path} has {there:,} bytes, not {size:,}", hint)
