"""Shards: a folder of complete files of ids, with a journal and later a manifest.

Files of the folder:

    FOLDER/shard-00000.bin, FOLDER/shard-00000.index.npy, …
    FOLDER/journal.jsonl      while the folder grows: the complete shards, and where to continue
    FOLDER/manifest.json      when all shards are complete

`ShardRun` writes the shards in this process. On a cluster, `ClusterRun` (`shared_shards.py`) writes
them with the same locks, journal, resuming, cleaning and manifest.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tokctl.core import orjson
from tokctl.core.errors import BadInput, BadModel, BadOption, TokctlError, Unsupported
from tokctl.idfiles.chunks import (
    SOURCE_START,
    STREAM_START,
    Chunk,
    IdFileWriter,
    ResumePoint,
    StreamPosition,
)
from tokctl.idfiles.manifest import (
    MANIFEST,
    SHARD_NAME,
    describe_file,
    file_fault,
    files_in,
    manifest_of,
    read_own_manifest,
    unlisted,
)
from tokctl.idfiles.output import Target, Written, files_of, open_writer
from tokctl.idfiles.registry import BY_NAME
from tokctl.idfiles.shard_journal import (
    PART_SIZE,
    Journal,
    Provenance,
    SourceFacts,
    UnitCounts,
)
from tokctl.idfiles.shard_stores import (
    JOURNAL,
    OTHER_FOLDER_HINT,
    LocalStore,
    ShardStore,
    access_error,
    open_store,
)

if TYPE_CHECKING:
    from typing import Self

    from tokctl.idfiles.stream import ChunkStream

#: Subfolder for ids that a cluster has encoded and that are in no shard yet.
PIECES = ".pieces"

#: Temporary names of unfinished files (see `whole_file`).
_TEMPORARY = re.compile(r"\.(shard-|journal\.jsonl|manifest\.json).*\.tmp|\.pieces")

#: Function that records a complete shard, the position after it, and for each source the number of
#: documents and of ids in the shard.
RecordShard = Callable[[dict[str, Any], StreamPosition, dict[int, tuple[int, int]]], None]


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


class ShardWriter:
    """Writer of chunks to one shard after the other.

    In an exact form, a shard is full at its number of ids. In other forms it is full at the end of
    the document that reaches this number. A full shard is closed when the next id arrives. So empty
    documents after its last id belong to it, and the last shard is not empty if there are ids.
    """

    def __init__(
        self,
        store: ShardStore,
        target: Target,
        record: RecordShard,
        number: int = 0,
        position: StreamPosition = STREAM_START,
    ) -> None:
        """Write to `store`, starting with an empty shard.

        Args:
            store: folder of the shards.
            target: form, type of the ids and size of a shard.
            record: called when the files of a shard are in the folder.
            number: number of the first shard.
            position: where the ids begin.
        """
        self._store = store
        self._staging = ExitStack()
        self._number = number
        self._record = record
        self._form = target.form
        self._dtype = target.dtype
        assert target.shard_size is not None
        self._size = target.shard_size
        self._exact = BY_NAME[target.form].has_index
        self._source, _, self._documents, self._ids = position
        self._counts: dict[int, tuple[int, int]] = {}
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
        if chunk.source != self._source:
            self._source, self._documents, self._ids = chunk.source, 0, 0
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
        self._documents += len(chunk.ends)
        documents, ids = self._counts.get(chunk.source.source, (0, 0))
        self._counts[chunk.source.source] = documents + len(chunk.ends), ids + chunk.count

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
        if len(BY_NAME[self._form].endings) > 1:
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
        position = StreamPosition(self._source, resume, self._documents, self._ids)
        self._record(shard, position, self._counts)
        self._counts = {}

    def finish(self) -> None:
        """Close the last shard."""
        self._close(SOURCE_START)


class ShardRun:
    """Run that writes the shards of a stream in this process.

    Attributes:
        store: the folder.
        journal: its journal.
        part_size: bytes of sources in a task of a cluster; 0: there is no cluster.
    """

    part_size = 0
    journal: Journal

    def __init__(self, stream: ChunkStream, target: Target) -> None:
        """Set what is written where.

        Args:
            stream: the sources and their encoder.
            target: the folder, the form and the size of a shard.
        """
        assert isinstance(target.path, (str, Path))
        self.store = open_store(target.path)
        self._stream = stream
        self._target = target
        self._provenance = Provenance.of(stream.sources, target.job)
        self._damaged: list[str] = []

    def write(self) -> Written:
        """Write the shards that are missing, and the manifest.

        Returns:
            The number of documents and ids, and the manifest.

        Raises:
            TokctlError: the folder is not empty, or with `resume` holds something else; another
                process writes to it; a file can't be written; a source fails. Complete shards stay,
                and the run can be resumed.
        """
        with self.store.locked():
            if self._target.resume and (earlier := self._finished()) is not None:
                return earlier
            self.journal = self._open_journal()
            self._drop_unusable()
            kept = len(self.journal.shards)
            self._clean(keep={file["file"] for file in files_in(self.journal.shards)})
            try:
                self._write_missing()
                manifest = self._manifest()
                self._finish(manifest)
            except TokctlError as error:
                raise StoppedError.from_error(error) from error
            return self._written(manifest, kept=kept)

    def _write_missing(self) -> None:
        """Write the shards that the journal does not have."""
        facts: dict[int, SourceFacts] = {}

        def record(
            shard: dict[str, Any], position: StreamPosition, counts: dict[int, tuple[int, int]]
        ) -> None:
            source, resume, documents, ids = position
            # A source that was opened, but gave no id and no document, may still be corrected.
            self.journal.add(
                shard=shard,
                next=[list(source), list(resume), documents, ids],
                units=[list(UnitCounts(number, 0, *count)) for number, count in counts.items()],
                facts=[list(facts[number]) for number in counts],
            )

        journal = self.journal
        with ShardWriter(
            self.store, self._target, record, len(journal.groups), journal.position
        ) as writer:
            for chunk in self._stream.chunks(journal.position):
                number = chunk.source.source
                if number not in facts:
                    facts[number] = self._provenance.facts(number)
                writer.add(chunk)
            writer.finish()

    # -- an earlier run --------------------------------------------------------------------

    def _finished(self) -> Written | None:
        """Return what an earlier run wrote if that run finished; else None.

        The manifest does not say where in the sources a shard begins, so a damaged shard of a
        finished folder can't be encoded again.

        Raises:
            TokctlError: the shards were made from other sources or with another job, or are
                damaged.
        """
        if self.store.size(MANIFEST) is None:
            return None
        manifest, name = self.store.file(MANIFEST), self.store.name
        content = read_own_manifest(self.store, MANIFEST)
        self._provenance.check_same(name, content, what="was made")
        self._provenance.check_finished(name, content)
        shards = content["shards"]
        for extra in unlisted(self.store, shards, manifest):
            raise BadInput(extra, "remove it", "damaged")
        for fault in self._faults(shards):
            if fault is not None:
                raise BadInput(
                    fault,
                    "copy the file again from where it came, or remove the folder "
                    f"{name} and encode again",
                    "damaged",
                )
        self._clean(keep=None)
        return self._written(content, kept=len(shards), was_there=True)

    def _open_journal(self) -> Journal:
        """Return the journal of the earlier run, or a new one.

        Raises:
            TokctlError: the folder is not empty and the run is not to be resumed; the earlier run
                was another one, or its journal is damaged.
        """
        _check_empty(self.store, resume=self._target.resume)
        header = self._provenance.header()
        if self.part_size:
            header[PART_SIZE] = self.part_size
        try:
            journal = Journal.read(self.store)
            self.store.begin()
            if journal is None or not journal.lines:
                # No step is complete yet, so this run may have other sources and options.
                journal = Journal(self.store, header)
                journal.write()
                return journal
        except OSError as error:
            raise access_error(self.store.file(JOURNAL), error) from None
        if bool(journal.part_size) != bool(self.part_size):
            where, verb = "on one machine", "leave out"
            if journal.part_size:
                where, verb = "on a cluster", "add"
            raise BadOption(
                f"{self.store.name} was begun {where}",
                f"{verb} --engine, or {OTHER_FOLDER_HINT}",
                "conflict",
            )
        self._provenance.check_same(self.store.name, journal.header, what="was begun")
        return journal

    def _drop_unusable(self) -> None:
        """Drop damaged shards from the journal; on one machine, also the shards after them.

        Raises:
            TokctlError: a source of the shards changed, or is needed again and can't be read again.
        """
        journal, provenance, name = self.journal, self._provenance, self.store.name
        if not journal.groups:
            return
        provenance.check_sources(name, journal.facts)
        numbers = [number for number in sorted(journal.groups) for _ in journal.groups[number]]
        damaged: set[int] = set()
        for number, fault in enumerate(self._faults(journal.shards)):
            if fault is None:
                continue
            if self.part_size:
                damaged.add(numbers[number])
                self._report_damage(fault, "it is encoded again")
                continue
            lost_sources = {unit[0] for line in journal.lines[number:] for unit in line["units"]}
            if any(map(provenance.is_stream, lost_sources)):
                raise BadInput(
                    fault, "begin again in another folder: stdin can't be read again", "damaged"
                )
            self._report_damage(fault, "it and the shards after it are encoded again")
            self.journal = journal.keep(journal.lines[:number])
            break
        if damaged:
            lines = [line for line in journal.lines if line.get("group") not in damaged]
            self.journal = journal.keep(lines)
        provenance.check_readable_again(name, self.journal.position)

    def _faults(self, shards: list[dict[str, Any]]) -> Iterator[str | None]:
        """Yield the first fault of the files of each shard, or None; every file is read."""
        total = sum(file["bytes"] for file in files_in(shards))
        done = 0
        for shard in shards:
            files = files_in([shard])
            faults = (file_fault(self.store, file) for file in files)
            yield next((fault for fault in faults if fault is not None), None)
            done += sum(file["bytes"] for file in files)
            self._report_progress("verify", done, total)

    def _report_damage(self, fault: str, what: str) -> None:
        """Report that a damaged shard is encoded again; `what` is the rest of the sentence."""
        self._damaged.append(fault)
        if self._stream.tell is not None:
            self._stream.tell(f"{fault}: {what}")

    def _report_progress(self, phase: str, done: int, total: int) -> None:
        if self._stream.progress is not None:
            self._stream.progress(phase, done, total)

    def _clean(self, *, keep: set[str] | None) -> None:
        """Remove what a killed process left: temporary files, and shards that are not recorded.

        Args:
            keep: names of the recorded files of shards; None: the folder is finished, all shards
                stay and the journal is removed.

        Raises:
            TokctlError: a file can't be removed.
        """
        for entry in self.store.entries() or ():
            is_unrecorded = keep is not None and SHARD_NAME.fullmatch(entry) and entry not in keep
            is_old_journal = keep is None and entry == JOURNAL
            if entry == PIECES:
                if keep is None or not self.part_size:
                    self.store.folder(entry).clear()
            elif is_unrecorded or is_old_journal or _TEMPORARY.fullmatch(entry):
                self._remove(entry)

    def _remove(self, name: str) -> None:
        """Remove a file of the folder; raise TokctlError if this fails."""
        try:
            self.store.remove(name)
        except OSError as error:
            raise access_error(self.store.file(name), error, "remove") from None

    # -- the end ---------------------------------------------------------------------------

    def _manifest(self) -> dict[str, Any]:
        """Return the content of the manifest; raise TokctlError if its totals do not agree."""
        journal, provenance = self.journal, self._provenance
        sizes = {facts.source: facts.bytes for facts in journal.facts}
        sources = []
        for number, name in enumerate(provenance.names):
            size = sizes[number] if number in sizes else provenance.facts(number).bytes
            documents, ids = journal.counts.get(number, (0, 0))
            sources.append({"name": name, "bytes": size, "documents": documents, "ids": ids})
        manifest = manifest_of(provenance.job, sources, journal.shards)
        for key in ("documents", "ids"):
            total = manifest["totals"][key]
            if total != sum(source[key] for source in sources):
                raise BadInput(
                    f"{self.store.name}: the shards have {total:,} {key}, and the sources another "
                    "number",
                    "begin again in another folder",
                    "damaged",
                )
        return manifest

    def _finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest, and remove the journal and the pieces."""
        with self.store.writer(MANIFEST) as file:
            file.write(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
        self.store.folder(PIECES).clear()
        self._remove(JOURNAL)
        try:
            self.store.sync()
        except OSError as error:
            raise access_error(self.store.name, error) from None

    def _written(self, manifest: dict[str, Any], *, kept: int, was_there: bool = False) -> Written:
        """Return the result of a finished run; `kept` shards are from an earlier run."""
        totals, damaged = manifest["totals"], tuple(self._damaged)
        return Written(
            totals["documents"], totals["ids"], manifest, kept, was_there, damaged=damaged
        )


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
