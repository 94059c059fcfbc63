"""Shards: a folder of complete files of ids, with a journal and later a manifest.

Files of the folder:

    FOLDER/shard-00000.bin, FOLDER/shard-00000.index.npy, …
    FOLDER/journal.jsonl      while the folder grows: the complete shards, and where to continue
    FOLDER/manifest.json      when all shards are complete
"""

from __future__ import annotations

import hashlib
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tokctl.core import orjson
from tokctl.core.errors import BadInput, BadModel, BadOption, TokctlError, Unsupported
from tokctl.core.schema import check
from tokctl.idfiles.chunks import SOURCE_START, Chunk, IdFileWriter, ResumePoint, StreamPosition
from tokctl.idfiles.places import ELSEWHERE, JOURNAL, LocalPlace, ShardStore, cannot, place_at
from tokctl.idfiles.shard_journal import (
    LISTED,
    MANIFEST_HINT,
    Journal,
    JournalLines,
    Provenance,
    check_manifest,
    files_in,
    manifest_of,
)
from tokctl.idfiles.writer import Target, Written, files_of, open_writer

if TYPE_CHECKING:
    from typing import Self

    from tokctl.idfiles.writer import ChunkStream
    from tokctl.tokenizer.documents import Progress

MANIFEST = "manifest.json"

#: Subfolder for ids that a cluster has encoded and that are in no shard yet; and the field with the
#: size of its tasks in the header of its journal.
PIECES = ".pieces"
PART_SIZE = "part_size"

#: Names of the files of shards, and temporary names of unfinished files (see `whole_file`).
SHARD = re.compile(r"shard-\d{5,}\.[a-z.]+")
_TEMPORARY = re.compile(r"\.(shard-|journal\.jsonl|manifest\.json).*\.tmp|\.pieces")


def write_shards(stream: ChunkStream, target: Target) -> Written:
    """Write the ids of a stream as shards into a folder, which is created, or to an address.

    Args:
        stream: the sources and their encoder.
        target: the folder, the form and the size of a shard.

    Returns:
        The number of documents and ids, and the manifest.

    Raises:
        TokctlError: the folder is not empty, or with `resume` holds something else; another process
            writes to it; a file can't be written; a source fails. Complete shards stay, and the run
            can be resumed.
    """
    assert isinstance(target.path, (str, Path))
    provenance = Provenance.of(stream.sources, target.job)
    with ShardFolder(place_at(target.path), stream.progress, stream.tell) as folder:
        if target.resume and (done := folder.finished(provenance)) is not None:
            return done
        journal = folder.journal(provenance, resume=target.resume)
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
        return folder.written(made, kept=kept)


class StoppedError(TokctlError):
    """An error during the work: complete shards stay in the folder, and a later run can resume."""

    @staticmethod
    def by(error: TokctlError) -> StoppedError:
        """Return a StoppedError of the same kind, with the message and the code of the error."""
        hint = error.hint
        if error.message.startswith("can't write"):
            hint = "make room there, or look at its rights"
        kind = _STOPPED.get(error.plain_kind, StoppedError)
        return kind(error.message, hint, error.code, exit_code=error.exit_code)


#: For each kind of error, the class of stopped errors that callers catch as this kind, too.
_STOPPED: dict[type[TokctlError], type[StoppedError]] = {
    kind: type(f"Stopped{kind.__name__}", (StoppedError, kind), {})
    for kind in (BadOption, BadInput, BadModel, Unsupported)
}


#: Forms whose shards have exactly the given number of ids. They need an index that says where
#: documents begin.
EXACT = ("bin", "npy")


class ShardWriter:
    """Writer of chunks to one shard after the other.

    In an exact form, a shard is full at its number of ids. In other forms it is full at the end of
    the document that reaches this number. A full shard is closed when the next id arrives. So empty
    documents after its last id belong to it, and the last shard is not empty if there are ids.

    Attributes:
        shards: the complete shards, as in the manifest.
    """

    def __init__(self, place: ShardStore, target: Target, number: int = 0, ids: int = 0) -> None:
        """Write to `place`, starting with an empty shard.

        Args:
            place: folder of the shards.
            target: form, type of the ids and size of a shard.
            number: number of the first shard.
            ids: ids before the first shard of the document that continues in it.
        """
        self.shards: list[dict[str, Any]] = []
        self._place = place
        self._around = ExitStack()
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
        try:
            self._folder = self._around.enter_context(self._place.staged())
        except OSError as error:
            raise cannot("the folder of temporary files", error) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # An incomplete shard is removed; complete ones stay.
        with self._around:
            self._stack.__exit__(kind, error, traceback)

    def add(self, chunk: Chunk) -> None:
        """Write a chunk, cut at the ends of shards."""
        ids = end = 0
        while (full := self._full_at(chunk, ids, end)) is not None:
            last = bisect_right(chunk.ends, full, lo=end)
            self._write(chunk.part(ids, end, full, last))
            self._close(chunk.resume)
            ids, end = full, last
        self._write(chunk.part(ids, end))

    def _full_at(self, chunk: Chunk, ids: int, end: int) -> int | None:
        """Return how many ids of the chunk complete the shard; None if it is not complete.

        A shard is complete only when the chunk has another id after it.

        Args:
            chunk: the chunk to write.
            ids: number of its ids that have been written.
            end: number of its document ends that have been written.
        """
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
        """Return the file of the next shard, or the prefix of its files, and its index."""
        name = f"shard-{self._number:05}"
        if self._form == "megatron":
            return self._folder / name, None
        index = self._folder / f"{name}.index.npy" if self._exact else None
        return self._folder / f"{name}.{self._form}", index

    def _close(self, resume: ResumePoint) -> None:
        """Close the shard; encoding of the next id can start at `resume`."""
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
        others = [*more, *([index] if index else [])]
        for second in others:
            shard["index"] = described(second)
        for file in (first, *others):
            self._place.deliver(file)
        self._number += 1
        self._record(shard, resume)

    def _record(self, shard: dict[str, Any], resume: ResumePoint) -> None:  # noqa: ARG002
        self.shards.append(shard)

    def finish(self) -> None:
        """Close the last shard."""
        self._close(SOURCE_START)


class _JournaledWriter(ShardWriter):
    """ShardWriter that records each complete shard in a journal, with the position to resume."""

    def __init__(
        self, folder: ShardFolder, journal: Journal, provenance: Provenance, target: Target
    ) -> None:
        position = journal.position
        super().__init__(folder.place, target, len(journal.shards), position.ids)
        self._journal = journal
        self._provenance = provenance
        self._source = position.source
        self._documents = position.documents  # documents that have ended in the source
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
        # A source that was opened, but gave no id and no document, may still be corrected.
        touched = {
            number: facts
            for number in sorted(self._touched)
            if any((facts := self._facts[number])[2:])
        }
        self._journal.add(shard, position, touched)
        self._touched = {self._source.source}


def described(path: Path) -> dict[str, Any]:
    """Return the name, the size and the SHA-256 of a file, as in the manifest."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"file": path.name, "bytes": file.tell(), "sha256": digest}


def file_fault(place: ShardStore, file: dict[str, Any], name: str | None = None) -> str | None:
    """Return a sentence about the fault of a file of a shard, or None.

    A file is right if it has the size and the SHA-256 in `file`; a value that is missing there is
    not checked.

    Args:
        place: folder of the shards.
        file: the file as in the manifest or the journal; see `described`.
        name: name for messages, if it differs from the name in `place`.
    """
    name = name or place.file(file["file"])
    try:
        size = place.size(file["file"])
        if size is None:
            return f"{name} is missing"
        if size != file.get("bytes", size):
            return f"{name} has {size:,} bytes, not {file['bytes']:,}"
        if file.get("sha256") is not None:
            with place.reader(file["file"]) as opened:
                digest = hashlib.file_digest(opened, "sha256")  # type: ignore[arg-type]
                if digest.hexdigest() != file["sha256"]:
                    return f"{name} has another checksum (SHA-256)"
    except OSError as error:
        return f"{name} can't be read: {error.strerror or error}"
    return None


class ShardFolder:
    """Folder of shards, locked until the block ends."""

    def __init__(
        self,
        place: ShardStore,
        progress: Progress | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Set the folder, without locking it.

        Args:
            place: the folder.
            progress: called with the phase `verify`, the bytes checked and their total.
            tell: called with a sentence for each damaged shard that is encoded again.
        """
        self.place = place
        self.name = place.name
        self._progress = progress
        self._tell = tell
        self._damaged: list[str] = []

    def __enter__(self) -> Self:
        self._lock = ExitStack()
        self._lock.enter_context(self.place.locked())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.__exit__(kind, error, traceback)

    def finished(self, provenance: Provenance) -> Written | None:
        """Return what an earlier run wrote if that run finished; else None.

        The manifest does not say where in the sources a shard begins, so a damaged shard of a
        finished folder can't be encoded again.

        Args:
            provenance: the sources and the job of this run.

        Raises:
            TokctlError: the shards were made from other sources or with another job, or are
                damaged.
        """
        if self.place.size(MANIFEST) is None:
            return None
        manifest = self.place.file(MANIFEST)
        found = check_manifest(read_manifest(self.place, MANIFEST), manifest)
        provenance.check_same(self.name, found, what="was made")
        provenance.check_finished(self.name, found)
        shards = found["shards"]
        for extra in unlisted(self.place, shards, manifest):
            raise BadInput(extra, "remove it", "damaged")
        for fault in self.faults(shards):
            if fault is not None:
                raise BadInput(
                    fault,
                    "copy the file again from where it came, or remove the folder "
                    f"{self.name} and encode again",
                    "damaged",
                )
        self.clean(keep=None)
        return self.written(found, kept=len(shards), was_there=True)

    def written(self, manifest: dict[str, Any], *, kept: int, was_there: bool = False) -> Written:
        """Return the result of `write_shards` for a finished folder.

        Args:
            manifest: content of the manifest.
            kept: number of shards kept from an earlier run.
            was_there: whether an earlier run had finished.
        """
        totals, damaged = manifest["totals"], tuple(self._damaged)
        return Written(
            totals["documents"], totals["ids"], manifest, kept, was_there, damaged=damaged
        )

    def journal(self, provenance: Provenance, *, resume: bool) -> Journal:
        """Return the journal of the earlier run up to its first damaged shard, or a new journal.

        Files that belong to no shard of the journal are removed.

        Args:
            provenance: the sources and the job of this run.
            resume: whether to continue an earlier run.

        Raises:
            TokctlError: the folder is not empty and `resume` is False, or its run can't be resumed.
        """
        file = self.lines(provenance, resume=resume)
        journal = Journal(file)
        if journal.shards:
            provenance.check_same(self.name, file.header, what="was begun")
            provenance.check_sources(self.name, journal.facts)
            journal = self._whole_part(journal, provenance)
            provenance.check_readable_again(self.name, journal.position)
        self.clean(keep={file["file"] for file in files_in(journal.shards)})
        return journal

    def _whole_part(self, journal: Journal, provenance: Provenance) -> Journal:
        """Return the journal without the first damaged shard and the shards after it."""
        for number, fault in enumerate(self.faults(journal.shards)):
            if fault is None:
                continue
            lost = journal.sources_after(number)
            if any(map(provenance.is_stream, lost)):
                raise BadInput(
                    fault, "begin again in another folder: stdin can't be read again", "damaged"
                )
            self.tell_damage(fault, "it and the shards after it are encoded again")
            return journal.keep(number)
        return journal

    def faults(self, shards: list[dict[str, Any]]) -> Iterator[str | None]:
        """Yield the first fault of the files of each shard, or None; every file is read."""
        total = sum(file["bytes"] for file in files_in(shards))
        done = 0
        for shard in shards:
            files = files_in([shard])
            faults = (file_fault(self.place, file) for file in files)
            yield next((fault for fault in faults if fault is not None), None)
            done += sum(file["bytes"] for file in files)
            if self._progress is not None:
                self._progress("verify", done, total)

    def tell_damage(self, fault: str, what: str) -> None:
        """Report that a damaged shard is encoded again.

        Args:
            fault: sentence about the fault.
            what: the rest of the report: which shards are encoded again.
        """
        self._damaged.append(fault)
        if self._tell is not None:
            self._tell(f"{fault}: {what}")

    def lines(self, provenance: Provenance, *, resume: bool, **more: Any) -> JournalLines:
        """Return the lines of the earlier run's journal, or a new journal without lines.

        Args:
            provenance: the sources and the job of this run.
            resume: whether to continue an earlier run.
            more: more fields for the header of a new journal.

        Raises:
            TokctlError: as `journal`, or one run was on a cluster and the other on one machine.
        """
        _check_empty(self.place, resume=resume)
        header = provenance.header() | more
        try:
            journal = JournalLines.read(self.place)
            self.place.begin()
            if journal is None or not journal.lines:
                # No shard is complete yet, so this run may have other sources and options.
                journal = JournalLines(self.place, header, [])
                journal.write()
                return journal
        except OSError as error:
            raise cannot(self.place.file(JOURNAL), error) from None
        if (PART_SIZE in journal.header) != (PART_SIZE in header):
            where = "on a cluster" if PART_SIZE in journal.header else "on one machine"
            verb = "add" if PART_SIZE in journal.header else "leave out"
            raise BadOption(
                f"{self.name} was begun {where}", f"{verb} --engine, or {ELSEWHERE}", "conflict"
            )
        return journal

    def clean(self, *, keep: set[str] | None, pieces: bool = False) -> None:
        """Remove what a killed process left: temporary files, and shards that are not recorded.

        Args:
            keep: names of the recorded files of shards; None: the folder is finished, all shards
                stay and the journal is removed.
            pieces: whether to keep the pieces of a cluster.
        """
        for entry in self.place.entries() or ():
            shard = keep is not None and SHARD.fullmatch(entry) and entry not in keep
            finished = keep is None and entry == JOURNAL
            if entry == PIECES:
                if pieces:
                    continue
                self.place.folder(entry).clear()
            elif shard or finished or _TEMPORARY.fullmatch(entry):
                self.place.remove(entry)

    def check_sizes(self, shards: list[dict[str, Any]]) -> None:
        """Check that shards that were just written are in the folder with the right sizes.

        Raises:
            TokctlError: a file is missing or has another size.
        """
        sizes = self.place.sizes()
        for file in files_in(shards):
            if sizes.get(file["file"]) != file["bytes"]:
                path = self.place.file(file["file"])
                raise BadInput(
                    f"{path} is not as it was written",
                    "repeat the command with --resume",
                    "damaged",
                )

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest, and remove the journal and the pieces."""
        with self.place.writer(MANIFEST) as file:
            file.write(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
        self.place.folder(PIECES).clear()
        self.place.remove(JOURNAL)
        try:
            self.place.sync()
        except OSError as error:
            raise cannot(self.name, error) from None


def check_folder(name: str | Path, *, resume: bool) -> None:
    """Check early whether shards can be written to a folder; leave nothing behind.

    Args:
        name: path or address of the folder.
        resume: whether an earlier run is to be continued.

    Raises:
        TokctlError: the name is empty, the folder is in use, or its content does not allow it.
    """
    if not str(name):
        raise BadOption("-o is empty", "name a folder for the shards", "bad-value")
    place = place_at(name)
    if isinstance(place, LocalPlace) and place.path.is_dir():
        with place.locked():
            _check_empty(place, resume=resume)
    else:
        _check_empty(place, resume=resume)


def _check_empty(place: ShardStore, *, resume: bool) -> None:
    """Check that shards can be written to a place.

    Raises:
        TokctlError: it is not a folder, or it is not empty. With `resume`, the folder of a finished
            or unfinished run is allowed.
    """
    entries = place.entries() or []
    known = JOURNAL in entries or MANIFEST in entries
    lasting = [entry for entry in entries if not _TEMPORARY.fullmatch(entry)]
    if resume and not known:
        entries = lasting
    if lasting == [JOURNAL] and not place.has_lines():
        # The earlier run stopped before its first shard: a new run loses nothing.
        return
    if not entries or (resume and known):
        return
    if known:
        begun = (
            "holds finished shards" if MANIFEST in entries else "holds shards of a run that stopped"
        )
        hint = "continue with --resume" if MANIFEST not in entries else "remove it first"
        raise BadOption(f"{place} {begun}", f"{hint}, or {ELSEWHERE}", "output-taken")
    raise BadOption(f"{place} is not empty", ELSEWHERE, "output-taken")


def has_shards(path: str | Path) -> bool:
    """Return whether the journal of an unfinished folder records a shard, to resume from."""
    return place_at(path).has_lines()


@dataclass(frozen=True)
class ShardList:
    """Shards of a folder.

    Attributes:
        form: form of all shards.
        dtype: name of the type of the ids; None if unknown.
        folder: folder of the files.
        shards: the shards in the order of their ids, as in the manifest.
    """

    form: str
    dtype: str | None
    folder: Path
    shards: list[dict[str, Any]]

    @property
    def size(self) -> int:
        """Bytes of all ids."""
        return sum((self.folder / shard["file"]).stat().st_size for shard in self.shards)

    def verified(self) -> Iterator[str]:
        """Yield the path of each shard, after a check of its size and SHA-256.

        A shard is checked when it is reached. The indexes of `bin` and `npy` are not checked.

        Raises:
            TokctlError: a shard is damaged.
        """
        place = LocalPlace(self.folder)
        for shard in self.shards:
            for file in files_in([shard]) if self.form == "megatron" else [shard]:
                if "sha256" in file:
                    _check_shard(place, file)
            yield str(self.folder / shard["file"])


def list_shards(path: str) -> ShardList:
    """Return the shards in the manifest of a folder.

    Args:
        path: the folder or its manifest.

    Raises:
        TokctlError: the manifest is missing or can't be read, or a shard is missing.
    """
    place, name = manifest_at(path)
    found = read_manifest(place, name)
    folder = Path(place.file(name)).parent
    for shard in found["shards"]:
        _check_shard(LocalPlace(folder), {**shard, "sha256": None})
    return ShardList(found["form"], found.get("dtype"), folder, found["shards"])


def manifest_at(path: str) -> tuple[ShardStore, str]:
    """Return the place of a manifest, and its name there.

    Args:
        path: path or address of the manifest or of its folder.

    Raises:
        TokctlError: `path` is a folder without a manifest.
    """
    place, name = place_at(path), MANIFEST
    is_folder = place.path.is_dir() if isinstance(place, LocalPlace) else bool(place.entries())
    if not is_folder:
        above, _, name = path.replace(os.sep, "/").rstrip("/").rpartition("/")
        return place_at(above if "://" in above else Path(path).parent), name
    if place.size(MANIFEST) is None:
        if place.size(JOURNAL) is not None:
            raise BadInput(
                f"{path} holds shards of a run that stopped",
                "finish it: tokctl encode --resume",
                "damaged",
            )
        raise BadInput(
            f"{path} is a folder without {MANIFEST}", "name the files in it", "unreadable"
        )
    return place, name


def read_manifest(place: ShardStore, name: str) -> dict[str, Any]:
    """Return the content of a manifest.

    Args:
        place: folder of the manifest.
        name: its name.

    Raises:
        TokctlError: the file can't be read, or is not a manifest of shards.
    """
    manifest = place.file(name)
    data = place.read(name)
    if data is None:
        raise BadInput(
            f"can't read {manifest}: No such file or directory",
            "check the file and its permissions",
            "unreadable",
        )
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{manifest} is not valid JSON: {error}", MANIFEST_HINT, "damaged") from None
    said: dict[str, Any] = check(
        found, LISTED, f"{manifest} is not a manifest of shards", MANIFEST_HINT
    )
    return said


def unlisted(place: ShardStore, shards: list[dict[str, Any]], manifest: str) -> Iterator[str]:
    """Yield a fault for each shard file in the folder that the manifest does not list.

    Args:
        place: folder of the shards.
        shards: the shards of the manifest.
        manifest: name of the manifest for messages.
    """
    listed = {file["file"] for file in files_in(shards)}
    for entry in place.entries() or ():
        if SHARD.fullmatch(entry) and entry not in listed:
            yield f"{place.file(entry)} is in the folder and not in {manifest}"


_SHARD_HINT = "copy it again from where it came, or make the shards again"


def _check_shard(place: ShardStore, file: dict[str, Any]) -> None:
    """Raise TokctlError if a file of a shard has a fault."""
    if (fault := file_fault(place, file)) is not None:
        raise BadInput(f"the shard {fault}", _SHARD_HINT, "damaged")
