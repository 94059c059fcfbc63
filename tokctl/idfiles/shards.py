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
from tokctl.idfiles.shard_stores import (
    JOURNAL,
    OTHER_FOLDER_HINT,
    LocalStore,
    ShardStore,
    access_error,
    open_store,
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
    with ShardFolder(open_store(target.path), stream.progress, stream.tell) as folder:
        if target.resume and (earlier := folder.finished(provenance)) is not None:
            return earlier
        journal = folder.journal(provenance, resume=target.resume)
        kept = len(journal.shards)
        try:
            with _JournaledWriter(folder, journal, provenance, target) as writer:
                for chunk in stream.chunks(journal.position):
                    writer.add(chunk)
                writer.finish()
        except TokctlError as error:
            raise StoppedError.from_error(error) from error
        manifest = manifest_of(provenance, journal.facts, journal.shards)
        folder.finish(manifest)
        return folder.written(manifest, kept=kept)


class StoppedError(TokctlError):
    """An error during the work: complete shards stay in the folder, and a later run can resume."""

    @staticmethod
    def from_error(error: TokctlError) -> StoppedError:
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

    def __init__(self, store: ShardStore, target: Target, number: int = 0, ids: int = 0) -> None:
        """Write to `store`, starting with an empty shard.

        Args:
            store: folder of the shards.
            target: form, type of the ids and size of a shard.
            number: number of the first shard.
            ids: ids before the first shard of the document that continues in it.
        """
        self.shards: list[dict[str, Any]] = []
        self._store = store
        self._staging = ExitStack()
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
            self._folder = self._staging.enter_context(self._store.staged())
        except OSError as error:
            raise access_error("the folder of temporary files", error) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # An incomplete shard is removed; complete ones stay.
        with self._staging:
            self._stack.__exit__(kind, error, traceback)

    def add(self, chunk: Chunk) -> None:
        """Write a chunk, cut at the ends of shards."""
        ids = end = 0
        while (full := self._ids_to_complete(chunk, ids, end)) is not None:
            last_end = bisect_right(chunk.ends, full, lo=end)
            self._write(chunk.part(ids, end, full, last_end))
            self._close(chunk.resume)
            ids, end = full, last_end
        self._write(chunk.part(ids, end))

    def _ids_to_complete(self, chunk: Chunk, ids: int, end: int) -> int | None:
        """Return how many ids of the chunk complete the shard; None if it is not complete.

        A shard is complete only when the chunk has another id after it.

        Args:
            chunk: the chunk to write.
            ids: number of its ids that have been written.
            end: number of its document ends that have been written.
        """
        written = self._writer.ids if self._writer else 0
        missing = max(self._size - written, 0)
        if self._exact or (missing == 0 and self._ids == 0):
            needed = ids + missing
        else:
            index = bisect_left(chunk.ends, ids + missing, lo=end)
            if index == len(chunk.ends):
                return None
            needed = chunk.ends[index]
        return needed if chunk.count > needed else None

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
        ids_file, *further_files = [Path(name) for name in files_of(self._form, target)]
        shard = describe_file(ids_file)
        shard |= {"ids": writer.ids, "documents": documents}
        extra_files = [*further_files, *([index] if index else [])]
        for extra_file in extra_files:
            shard["index"] = describe_file(extra_file)
        for file in (ids_file, *extra_files):
            self._store.deliver(file)
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
        super().__init__(folder.store, target, len(journal.shards), position.ids)
        self._journal = journal
        self._provenance = provenance
        self._source = position.source
        self._documents = position.documents  # documents that have ended in the source
        self._facts = dict(journal.facts)
        self._sources_in_shard: set[int] = set()

    def add(self, chunk: Chunk) -> None:
        if chunk.source != self._source:
            self._source, self._documents, self._ids = chunk.source, 0, 0
        number = chunk.source.source
        self._sources_in_shard.add(number)
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
        shard_facts = {
            number: facts
            for number in sorted(self._sources_in_shard)
            if any((facts := self._facts[number])[2:])
        }
        self._journal.add(shard, position, shard_facts)
        self._sources_in_shard = {self._source.source}


def describe_file(path: Path) -> dict[str, Any]:
    """Return the name, the size and the SHA-256 of a file, as in the manifest."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"file": path.name, "bytes": file.tell(), "sha256": digest}


def file_fault(store: ShardStore, file: dict[str, Any], name: str | None = None) -> str | None:
    """Return a sentence about the fault of a file of a shard, or None.

    A file is right if it has the size and the SHA-256 in `file`; a value that is missing there is
    not checked.

    Args:
        store: folder of the shards.
        file: the file as in the manifest or the journal; see `describe_file`.
        name: name for messages, if it differs from the name in `store`.
    """
    name = name or store.file(file["file"])
    try:
        size = store.size(file["file"])
        if size is None:
            return f"{name} is missing"
        if size != file.get("bytes", size):
            return f"{name} has {size:,} bytes, not {file['bytes']:,}"
        if file.get("sha256") is not None:
            with store.reader(file["file"]) as stream:
                digest = hashlib.file_digest(stream, "sha256")  # type: ignore[arg-type]
                if digest.hexdigest() != file["sha256"]:
                    return f"{name} has another checksum (SHA-256)"
    except OSError as error:
        return f"{name} can't be read: {error.strerror or error}"
    return None


class ShardFolder:
    """Folder of shards, locked until the block ends."""

    def __init__(
        self,
        store: ShardStore,
        progress: Progress | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Set the folder, without locking it.

        Args:
            store: the folder.
            progress: called with the phase `verify`, the bytes checked and their total.
            tell: called with a sentence for each damaged shard that is encoded again.
        """
        self.store = store
        self.name = store.name
        self._progress = progress
        self._on_event = tell
        self._damaged: list[str] = []

    def __enter__(self) -> Self:
        self._lock = ExitStack()
        self._lock.enter_context(self.store.locked())
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
        if self.store.size(MANIFEST) is None:
            return None
        manifest = self.store.file(MANIFEST)
        content = check_manifest(read_manifest(self.store, MANIFEST), manifest)
        provenance.check_same(self.name, content, what="was made")
        provenance.check_finished(self.name, content)
        shards = content["shards"]
        for extra in unlisted(self.store, shards, manifest):
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
        return self.written(content, kept=len(shards), was_there=True)

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
        file = self.open_lines(provenance, resume=resume)
        journal = Journal(file)
        if journal.shards:
            provenance.check_same(self.name, file.header, what="was begun")
            provenance.check_sources(self.name, journal.facts)
            journal = self._intact_part(journal, provenance)
            provenance.check_readable_again(self.name, journal.position)
        self.clean(keep={file["file"] for file in files_in(journal.shards)})
        return journal

    def _intact_part(self, journal: Journal, provenance: Provenance) -> Journal:
        """Return the journal without the first damaged shard and the shards after it."""
        for number, fault in enumerate(self.faults(journal.shards)):
            if fault is None:
                continue
            lost_sources = journal.sources_after(number)
            if any(map(provenance.is_stream, lost_sources)):
                raise BadInput(
                    fault, "begin again in another folder: stdin can't be read again", "damaged"
                )
            self.report_damage(fault, "it and the shards after it are encoded again")
            return journal.keep(number)
        return journal

    def faults(self, shards: list[dict[str, Any]]) -> Iterator[str | None]:
        """Yield the first fault of the files of each shard, or None; every file is read."""
        total = sum(file["bytes"] for file in files_in(shards))
        done = 0
        for shard in shards:
            files = files_in([shard])
            faults = (file_fault(self.store, file) for file in files)
            yield next((fault for fault in faults if fault is not None), None)
            done += sum(file["bytes"] for file in files)
            if self._progress is not None:
                self._progress("verify", done, total)

    def report_damage(self, fault: str, what: str) -> None:
        """Report that a damaged shard is encoded again.

        Args:
            fault: sentence about the fault.
            what: the rest of the report: which shards are encoded again.
        """
        self._damaged.append(fault)
        if self._on_event is not None:
            self._on_event(f"{fault}: {what}")

    def open_lines(
        self, provenance: Provenance, *, resume: bool, **extra_header: Any
    ) -> JournalLines:
        """Return the lines of the earlier run's journal, or a new journal without lines.

        Args:
            provenance: the sources and the job of this run.
            resume: whether to continue an earlier run.
            extra_header: more fields for the header of a new journal.

        Raises:
            TokctlError: as `journal`, or one run was on a cluster and the other on one machine.
        """
        _check_empty(self.store, resume=resume)
        header = provenance.header() | extra_header
        try:
            journal = JournalLines.read(self.store)
            self.store.begin()
            if journal is None or not journal.lines:
                # No shard is complete yet, so this run may have other sources and options.
                journal = JournalLines(self.store, header, [])
                journal.write()
                return journal
        except OSError as error:
            raise access_error(self.store.file(JOURNAL), error) from None
        if (PART_SIZE in journal.header) != (PART_SIZE in header):
            where = "on a cluster" if PART_SIZE in journal.header else "on one machine"
            verb = "add" if PART_SIZE in journal.header else "leave out"
            raise BadOption(
                f"{self.name} was begun {where}",
                f"{verb} --engine, or {OTHER_FOLDER_HINT}",
                "conflict",
            )
        return journal

    def clean(self, *, keep: set[str] | None, pieces: bool = False) -> None:
        """Remove what a killed process left: temporary files, and shards that are not recorded.

        Args:
            keep: names of the recorded files of shards; None: the folder is finished, all shards
                stay and the journal is removed.
            pieces: whether to keep the pieces of a cluster.
        """
        for entry in self.store.entries() or ():
            is_unrecorded = keep is not None and SHARD.fullmatch(entry) and entry not in keep
            is_old_journal = keep is None and entry == JOURNAL
            if entry == PIECES:
                if pieces:
                    continue
                self.store.folder(entry).clear()
            elif is_unrecorded or is_old_journal or _TEMPORARY.fullmatch(entry):
                self.store.remove(entry)

    def check_sizes(self, shards: list[dict[str, Any]]) -> None:
        """Check that shards that were just written are in the folder with the right sizes.

        Raises:
            TokctlError: a file is missing or has another size.
        """
        sizes = self.store.sizes()
        for file in files_in(shards):
            if sizes.get(file["file"]) != file["bytes"]:
                path = self.store.file(file["file"])
                raise BadInput(
                    f"{path} is not as it was written",
                    "repeat the command with --resume",
                    "damaged",
                )

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest, and remove the journal and the pieces."""
        with self.store.writer(MANIFEST) as file:
            file.write(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
        self.store.folder(PIECES).clear()
        self.store.remove(JOURNAL)
        try:
            self.store.sync()
        except OSError as error:
            raise access_error(self.name, error) from None


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
    store = open_store(name)
    if isinstance(store, LocalStore) and store.path.is_dir():
        with store.locked():
            _check_empty(store, resume=resume)
    else:
        _check_empty(store, resume=resume)


def _check_empty(store: ShardStore, *, resume: bool) -> None:
    """Check that shards can be written to a place.

    Raises:
        TokctlError: it is not a folder, or it is not empty. With `resume`, the folder of a finished
            or unfinished run is allowed.
    """
    entries = store.entries() or []
    has_run = JOURNAL in entries or MANIFEST in entries
    lasting_entries = [entry for entry in entries if not _TEMPORARY.fullmatch(entry)]
    if resume and not has_run:
        entries = lasting_entries
    if lasting_entries == [JOURNAL] and not store.has_lines():
        # The earlier run stopped before its first shard: a new run loses nothing.
        return
    if not entries or (resume and has_run):
        return
    if has_run:
        state = (
            "holds finished shards" if MANIFEST in entries else "holds shards of a run that stopped"
        )
        hint = "continue with --resume" if MANIFEST not in entries else "remove it first"
        raise BadOption(f"{store} {state}", f"{hint}, or {OTHER_FOLDER_HINT}", "output-taken")
    raise BadOption(f"{store} is not empty", OTHER_FOLDER_HINT, "output-taken")


def has_shards(path: str | Path) -> bool:
    """Return whether the journal of an unfinished folder records a shard, to resume from."""
    return open_store(path).has_lines()


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
        store = LocalStore(self.folder)
        for shard in self.shards:
            for file in files_in([shard]) if self.form == "megatron" else [shard]:
                if "sha256" in file:
                    _check_shard(store, file)
            yield str(self.folder / shard["file"])


def list_shards(path: str) -> ShardList:
    """Return the shards in the manifest of a folder.

    Args:
        path: the folder or its manifest.

    Raises:
        TokctlError: the manifest is missing or can't be read, or a shard is missing.
    """
    store, name = manifest_at(path)
    content = read_manifest(store, name)
    folder = Path(store.file(name)).parent
    for shard in content["shards"]:
        _check_shard(LocalStore(folder), {**shard, "sha256": None})
    return ShardList(content["form"], content.get("dtype"), folder, content["shards"])


def manifest_at(path: str) -> tuple[ShardStore, str]:
    """Return the place of a manifest, and its name there.

    Args:
        path: path or address of the manifest or of its folder.

    Raises:
        TokctlError: `path` is a folder without a manifest.
    """
    store, name = open_store(path), MANIFEST
    is_folder = store.path.is_dir() if isinstance(store, LocalStore) else bool(store.entries())
    if not is_folder:
        parent, _, name = path.replace(os.sep, "/").rstrip("/").rpartition("/")
        return open_store(parent if "://" in parent else Path(path).parent), name
    if store.size(MANIFEST) is None:
        if store.size(JOURNAL) is not None:
            raise BadInput(
                f"{path} holds shards of a run that stopped",
                "finish it: tokctl encode --resume",
                "damaged",
            )
        raise BadInput(
            f"{path} is a folder without {MANIFEST}", "name the files in it", "unreadable"
        )
    return store, name


def read_manifest(store: ShardStore, name: str) -> dict[str, Any]:
    """Return the content of a manifest.

    Args:
        store: folder of the manifest.
        name: its name.

    Raises:
        TokctlError: the file can't be read, or is not a manifest of shards.
    """
    manifest = store.file(name)
    data = store.read(name)
    if data is None:
        raise BadInput(
            f"can't read {manifest}: No such file or directory",
            "check the file and its permissions",
            "unreadable",
        )
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{manifest} is not valid JSON: {error}", MANIFEST_HINT, "damaged") from None
    checked: dict[str, Any] = check(
        content, LISTED, f"{manifest} is not a manifest of shards", MANIFEST_HINT
    )
    return checked


def unlisted(store: ShardStore, shards: list[dict[str, Any]], manifest: str) -> Iterator[str]:
    """Yield a fault for each shard file in the folder that the manifest does not list.

    Args:
        store: folder of the shards.
        shards: the shards of the manifest.
        manifest: name of the manifest for messages.
    """
    listed = {file["file"] for file in files_in(shards)}
    for entry in store.entries() or ():
        if SHARD.fullmatch(entry) and entry not in listed:
            yield f"{store.file(entry)} is in the folder and not in {manifest}"


_SHARD_HINT = "copy it again from where it came, or make the shards again"


def _check_shard(store: ShardStore, file: dict[str, Any]) -> None:
    """Raise TokctlError if a file of a shard has a fault."""
    if (fault := file_fault(store, file)) is not None:
        raise BadInput(f"the shard {fault}", _SHARD_HINT, "damaged")
