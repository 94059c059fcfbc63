"""Shards that many processes write together, with the same bytes as on one machine.

The sources are divided into tasks: each reads several whole sources, or a part of a long one, and
writes its ids as a piece (`pieces.py`). When all pieces are complete, the position of every shard
in them is known, and other tasks write groups of shards from the pieces. A task depends only on its
arguments, and its file gets its name when it is complete. So a task that is lost, or done twice,
changes nothing.

Files of the folder:

    FOLDER/.pieces/piece-00007-00002    ids from part 2 of source 7 on, until they are in shards
    FOLDER/journal.jsonl                a line for each piece, one for the plan of the groups, and
                                        one for each group whose shards are complete
"""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol, TypeVar

from tokctl.core.errors import BadInput, TokctlError
from tokctl.core.schema import COUNT, AnyOf
from tokctl.core.values import ProgressCount
from tokctl.idfiles.chunks import Chunk, ResumePoint
from tokctl.idfiles.pieces import (
    DamagedPieceError,
    PlacedPiece,
    Slice,
    StoredPiece,
    encode_part,
    shard_ends,
    write_piece,
)
from tokctl.idfiles.shard_journal import (
    FACTS,
    SHARD,
    JournalLines,
    Provenance,
    files_in,
    manifest_of,
)
from tokctl.idfiles.shard_stores import ShardStore, open_store
from tokctl.idfiles.shards import (
    EXACT,
    PART_SIZE,
    PIECES,
    ShardFolder,
    ShardWriter,
    StoppedError,
)
from tokctl.idfiles.writer import (
    ChunkStream,
    Encoder,
    NativeEncoder,
    Target,
    Written,
    check_target,
)
from tokctl.sources import Archive, Records
from tokctl.sources.parts import SourcePart, joint_name, parts_of

Task = TypeVar("Task")
Result = TypeVar("Result")

#: Smallest number of ids in a group of shards, except for the last group.
_IDS_PER_GROUP = 1 << 24


class Workers(Protocol):
    """Processes that find the sources and the folder of the shards by the same names.

    Attributes:
        part_size: approximate number of bytes of the sources in a task.
    """

    part_size: int

    def run(
        self, work: Callable[[Job, Task], Result], job: Job, tasks: Iterable[Task]
    ) -> Iterator[tuple[Task, Result]]:
        """Yield each task with the result of `work`, in any order, as results arrive.

        Tasks are started in their order. A task may be done more than once.

        Args:
            work: function of a job and a task.
            job: first argument of `work`.
            tasks: second arguments of `work`.
        """


@dataclass(frozen=True)
class Job:
    """Data that every task needs.

    Attributes:
        store: folder of the shards, under a name that every process can use.
        target: form, type of the ids and size of a shard.
        encoder: encoder of the sources.
        cache_memory: limit of the cache of each encoder, in bytes.
    """

    store: ShardStore
    target: Target
    encoder: Encoder
    cache_memory: int

    @property
    def width(self) -> int:
        """Bytes of an id in the pieces; 0 if they hold lines."""
        return 0 if self.target.form == "jsonl" else self.target.dtype.width

    @property
    def pieces(self) -> ShardStore:
        """Folder of the pieces."""
        return self.store.folder(PIECES)

    def pack(self) -> bytes:
        """Return the job as bytes for another process; see `unpack`."""
        return pickle.dumps(self)

    @staticmethod
    @lru_cache(maxsize=1)
    def unpack(data: bytes) -> Job:
        """Return a packed job, set to one thread.

        It is cached, because a process gets many tasks of a job.

        Args:
            data: what `pack` returned.
        """
        job: Job = pickle.loads(data)
        documents = job.encoder.documents
        documents.threads = 1
        documents.tokenizer.encoder.cache_memory = job.cache_memory
        return job


class SourceUnit(NamedTuple):
    """A whole source, or a part of one, that a task reads."""

    source: int
    part: SourcePart


class PieceTask(NamedTuple):
    """Task that writes one piece.

    Attributes:
        name: description of its input, for messages.
        number: index among the tasks.
        file: file name of the piece.
        units: sources, or a part of a source, to read.
    """

    name: str
    number: int
    file: str
    units: Sequence[SourceUnit]


class UnitCounts(NamedTuple):
    """Counts of a unit: documents, ids, and bytes of text."""

    source: int
    part: int
    documents: int
    ids: int
    bytes: int


class Failure(NamedTuple):
    """An error of a task that its input caused.

    Attributes:
        error: the error to raise in the driver.
        unit: index of the unit that can't be encoded; None for any other error.
        piece: file name of a damaged piece; None if no piece is damaged.
    """

    error: TokctlError
    unit: int | None = None
    piece: str | None = None

    @classmethod
    def of(cls, error: TokctlError, unit: int | None = None) -> Failure:
        """Return the failure for an error."""
        piece = error.piece if isinstance(error, DamagedPieceError) else None
        return cls(error.reworded(), unit, piece)


def encode_piece(job: Job, task: PieceTask) -> tuple[StoredPiece, list[UnitCounts]] | Failure:
    """Write a piece.

    Args:
        job: data of all tasks.
        task: the units of the piece.

    Returns:
        The piece and the counts of each unit; or the failure.
    """
    documents = job.encoder.documents
    counts: list[UnitCounts] = []
    failed = False

    def chunks() -> Iterator[Chunk]:
        nonlocal failed
        for number, part in task.units:
            bytes_before, ids, document_count = documents.bytes_read, 0, 0
            try:
                for chunk in encode_part(part, job.encoder):
                    ids, document_count = ids + chunk.count, document_count + len(chunk.ends)
                    yield chunk
            except TokctlError:
                failed = True
                raise
            read = documents.bytes_read - bytes_before
            counts.append(UnitCounts(number, part.number, document_count, ids, read))

    try:
        return write_piece(job.pieces, task.file, chunks(), job.width), counts
    except TokctlError as error:
        return Failure.of(error, len(counts) if failed else None)


class ShardRange(NamedTuple):
    """Shards that one task writes.

    Attributes:
        shard: number of the first shard.
        shards: number of shards.
        start: ids of all sources before the group.
        stop: ids of all sources up to the end of the group.
    """

    shard: int
    shards: int
    start: int
    stop: int


class GroupTask(NamedTuple):
    """Task that writes a group of shards."""

    name: str
    number: int
    group: ShardRange
    pieces: Sequence[PlacedPiece]


def write_group(job: Job, task: GroupTask) -> list[dict[str, Any]] | Failure:
    """Write a group of shards.

    Args:
        job: data of all tasks.
        task: the group, and the pieces that hold its ids.

    Returns:
        The shards, as in the manifest; or the failure.
    """
    group = task.group
    group_slice = Slice(task.pieces, group.start, group.stop)
    chunks = group_slice.chunks()
    try:
        first_chunk = next(chunks)  # sets `continues_document`
        with ShardWriter(
            job.store, job.target, group.shard, int(group_slice.continues_document)
        ) as writer:
            for chunk in chain([first_chunk], chunks):
                writer.add(chunk)
            writer.finish()
    except TokctlError as error:
        return Failure.of(error)
    ids, planned_ids = sum(shard["ids"] for shard in writer.shards), group.stop - group.start
    if (len(writer.shards), ids) != (group.shards, planned_ids):
        return Failure.of(
            BadInput(
                f"{job.store}: {len(writer.shards):,} shards from number {group.shard} on have "
                f"{ids:,} ids; {planned_ids:,} in {group.shards:,} are planned",
                "begin again in another folder",
                "damaged",
            )
        )
    return writer.shards


def write_shards(stream: ChunkStream, target: Target, workers: Workers) -> Written:
    """Write the ids of a stream as shards; see `tokctl.idfiles.shards.write_shards`.

    Args:
        stream: the sources and their encoder.
        target: the folder, the form and the size of a shard.
        workers: processes that do the tasks.

    Raises:
        TokctlError: as `tokctl.idfiles.shards.write_shards`; or a source changed while it was read,
            or a piece is damaged. Complete files stay, and the run can be resumed.
    """
    check_target(target)
    assert isinstance(target.path, (str, Path))
    provenance = Provenance.of(stream.sources, target.job)
    with ShardFolder(open_store(target.path), stream.progress, stream.tell) as folder:
        if target.resume and (earlier := folder.finished(provenance)) is not None:
            return earlier
        extra_header = {PART_SIZE: workers.part_size}
        journal = _ClusterJournal(
            folder.open_lines(provenance, resume=target.resume, **extra_header)
        )
        if journal.lines:
            provenance.check_same(folder.name, journal.header, what="was begun")
        encoder = stream.encoder
        cache_memory = encoder.documents.tokenizer.encoder.cache_memory
        job = Job(folder.store.absolute(), replace(target, job={}), encoder, cache_memory)
        try:
            run = _ClusterRun(folder, journal, provenance, stream, job, workers)
            manifest = run.manifest()
        except TokctlError as error:
            raise StoppedError.from_error(error) from error
        folder.finish(manifest)
        return folder.written(manifest, kept=run.kept)


def sweep(target: Target) -> None:
    """Remove the unfinished files of workers that were killed."""
    assert isinstance(target.path, (str, Path))
    store = open_store(target.path)
    for folder in (store, store.folder(PIECES)):
        folder.sweep()


class _RecordedPiece(NamedTuple):
    """A recorded piece; `facts` identify its sources (see `Provenance.facts`)."""

    piece: StoredPiece
    units: list[UnitCounts]
    facts: dict[int, list[int | None]]


#: Schemas of the lines of the journal.
_PIECE_LINE = {
    "piece": str,
    "units": [(COUNT,) * len(UnitCounts._fields)],
    "facts": {str: FACTS},
    "is": (COUNT, COUNT, str, COUNT, COUNT),
}
_PLAN_LINE = {"plan": [(COUNT,) * len(ShardRange._fields)]}
_GROUP_LINE = {"group": COUNT, "shards": [SHARD]}


class _ClusterJournal:
    """Journal of a cluster's run.

    Attributes:
        pieces: recorded pieces by file name.
        plan: groups of shards; None until all pieces are complete.
        groups: shards of each complete group, by its number.
    """

    def __init__(self, file: JournalLines) -> None:
        """Read the lines; raise TokctlError if one is damaged."""
        self._file = file
        self.pieces: dict[str, _RecordedPiece] = {}
        self.plan: list[ShardRange] | None = None
        self.groups: dict[int, list[dict[str, Any]]] = {}
        file.for_each(AnyOf(_PIECE_LINE, _PLAN_LINE, _GROUP_LINE), self._apply)

    @property
    def header(self) -> dict[str, Any]:
        return self._file.header

    @property
    def lines(self) -> list[dict[str, Any]]:
        return self._file.lines

    @property
    def part_size(self) -> int:
        size: int = self._file.header[PART_SIZE]
        return size

    def forget(self, pieces: Iterable[str]) -> None:
        """Remove pieces and the plan, which no complete group depends on yet."""
        for name in pieces:
            del self.pieces[name]
        self.plan = None
        self._file.keep([line for line in self.lines if line.get("piece") in self.pieces])

    def forget_groups(self, numbers: Iterable[int]) -> None:
        """Remove complete groups."""
        for number in numbers:
            del self.groups[number]
        self._file.keep(
            [line for line in self.lines if "group" not in line or line["group"] in self.groups]
        )

    def add(self, **line: Any) -> None:
        """Record a piece, the plan or a complete group."""
        self._file.add(line)
        self._apply(line)

    def _apply(self, line: dict[str, Any]) -> None:
        if "piece" in line:
            facts = {int(number): source_facts for number, source_facts in line["facts"].items()}
            units = [UnitCounts(*unit) for unit in line["units"]]
            source_count = len(self.header["sources"])
            if not units or any(
                unit.source >= source_count or unit.source not in facts for unit in units
            ):
                raise ValueError
            self.pieces[line["piece"]] = _RecordedPiece(StoredPiece(*line["is"]), units, facts)
        elif "plan" in line:
            self.plan = [ShardRange(*group) for group in line["plan"]]
        else:
            self.groups[line["group"]] = line["shards"]


class _ClusterRun:
    """State of a run, from the folder and its journal to the manifest."""

    def __init__(
        self,
        folder: ShardFolder,
        record: _ClusterJournal,
        provenance: Provenance,
        stream: ChunkStream,
        job: Job,
        workers: Workers,
    ) -> None:
        self._folder = folder
        self._journal = record
        self._provenance = provenance
        self._stream = stream
        self._job = job
        self._pieces = job.pieces
        self._workers = workers
        self._facts: dict[int, list[int | None]] = {}
        self.kept = 0

    def manifest(self) -> dict[str, Any]:
        """Write all shards, and return the content of `manifest.json`."""
        record = self._journal
        self._pieces.make()
        self._clean()
        self._encode()
        if record.plan is None:
            self._check_unchanged()
            record.add(plan=[list(group) for group in self._plan()])
        self._write()
        shards = [shard for number in sorted(record.groups) for shard in record.groups[number]]
        self._folder.check_sizes(shards)
        facts: dict[int, list[int]] = {}
        for recorded in record.pieces.values():
            for unit in recorded.units:
                source_facts = facts.setdefault(unit.source, [*recorded.facts[unit.source], 0, 0])  # type: ignore[list-item]
                source_facts[2] += unit.documents
                source_facts[3] += unit.ids
        content = manifest_of(self._provenance, facts, shards)
        totals = content["totals"]
        for key in ("documents", "ids"):
            if totals[key] != sum(source[key] for source in content["sources"]):
                raise BadInput(
                    f"{self._folder.name}: the shards have {totals[key]:,} {key}, and the sources "
                    "another number",
                    "begin again in another folder",
                    "damaged",
                )
        return content

    # -- files of an earlier run -----------------------------------------------------------

    def _clean(self) -> None:
        """Remove files that the journal does not record, and forget what can't be used any more.

        Damaged shards are forgotten; so are pieces that are missing, changed, or made from sources
        that changed. If shards were made from changed sources, TokctlError is raised.
        """
        record, provenance = self._journal, self._provenance
        if record.groups:
            for recorded in record.pieces.values():
                provenance.check_sources(self._folder.name, recorded.facts)
        self._forget_damaged()
        shards = [shard for shards in record.groups.values() for shard in shards]
        self.kept = len(shards)
        self._folder.clean(keep={file["file"] for file in files_in(shards)}, pieces=True)
        self._sizes = self._pieces.sizes()
        for name in self._sizes:
            if name not in record.pieces:
                self._pieces.remove(name)
        if record.groups:
            return
        record.forget(
            [
                name
                for name, recorded in record.pieces.items()
                if not self._has_recorded_size(name)
                or any(
                    provenance.facts(number) != facts for number, facts in recorded.facts.items()
                )
            ]
        )

    def _forget_damaged(self) -> None:
        groups = self._journal.groups
        numbers = [number for number, shards in groups.items() for _ in shards]
        faults = self._folder.faults([shard for shards in groups.values() for shard in shards])
        damaged: set[int] = set()
        for number, fault in zip(numbers, faults, strict=True):
            if fault is not None:
                self._folder.report_damage(fault, "it is encoded again")
                damaged.add(number)
        if damaged:
            self._journal.forget_groups(damaged)

    def _has_recorded_size(self, name: str) -> bool:
        """Return whether the file of a piece had the recorded size when this run began."""
        return self._sizes.get(name) == self._journal.pieces[name].piece.bytes

    # -- sources to pieces -----------------------------------------------------------------

    def _encode(self) -> None:
        tasks = self._piece_tasks()
        total = sum(source.size or 0 for source in self._stream.sources)
        done = total - sum(unit.part.size or 0 for task in tasks for unit in task.units)
        documents = ids = 0
        failures: dict[int, tuple[PieceTask, Failure]] = {}
        finished: set[int] = set()

        def started_tasks() -> Iterator[PieceTask]:
            for task in tasks:
                if failures:
                    return
                for unit in task.units:
                    if unit.source not in self._facts:
                        self._facts[unit.source] = self._provenance.facts(unit.source)
                yield task

        with closing(self._workers.run(encode_piece, self._job, started_tasks())) as results:  # type: ignore[type-var]
            for task, result in results:
                finished.add(task.number)
                if isinstance(result, Failure):
                    failures[task.number] = task, result
                else:
                    self._record_piece(task, *result)
                    documents, ids = documents + result[0].documents, ids + result[0].ids
                done += sum(unit.part.size or 0 for unit in task.units)
                self._report_progress("encode", ProgressCount(done, documents, ids), total)
                # Report the failure that is first in the order of the sources, as one machine does.
                if failures and all(number in finished for number in range(min(failures))):
                    break
        if failures:
            self._raise_located(*failures[min(failures)])

    def _piece_tasks(self) -> list[PieceTask]:
        """Return the tasks for all parts of sources that have no piece."""
        record, sources = self._journal, self._stream.sources
        runs: list[list[SourceUnit]] = []
        if record.plan is not None:
            needed = {piece.file for task in self._group_tasks() for piece in task.pieces}
            lost_pieces = sorted(name for name in needed if not self._has_recorded_size(name))
            parts = {
                number: self._parts(number)
                for number in {
                    unit.source for name in lost_pieces for unit in record.pieces[name].units
                }
            }
            for name in lost_pieces:
                units = record.pieces[name].units
                runs.append(
                    [SourceUnit(unit.source, parts[unit.source][unit.part]) for unit in units]
                )
        else:
            encoded_parts = {
                (unit.source, unit.part)
                for recorded in record.pieces.values()
                for unit in recorded.units
            }
            size, can_extend = 0, False
            for number in range(len(sources)):
                for part in self._parts(number):
                    if (number, part.number) in encoded_parts:
                        can_extend = False
                        continue
                    # Only small sources share a task.
                    is_small = not part.boundaries and part.size is not None
                    if not (
                        can_extend and is_small and size + (part.size or 0) <= record.part_size
                    ):
                        runs.append([])
                        size = 0
                    runs[-1].append(SourceUnit(number, part))
                    size, can_extend = size + (part.size or 0), is_small
        return [
            PieceTask(
                joint_name([unit.part for unit in units]),
                number,
                f"piece-{units[0].source:05}-{units[0].part.number:05}",
                units,
            )
            for number, units in enumerate(runs)
        ]

    def _parts(self, number: int) -> list[SourcePart]:
        source, cuts = self._stream.sources[number], self._job.encoder.cuts
        if isinstance(source, (Archive, Records)) or cuts != "nowhere":
            return parts_of(source, self._journal.part_size)
        return [SourcePart(source, size=source.size)]

    def _record_piece(self, task: PieceTask, piece: StoredPiece, units: list[UnitCounts]) -> None:
        """Record a piece that was written."""
        if self._pieces.size(task.file) != piece.bytes:
            self._folder.store.check_writer()
            raise BadInput(
                f"{self._pieces.file(task.file)} was written, and is not here",
                "the folder of the shards must be one that all workers and this machine share",
                "unreadable",
            )
        documents = self._job.encoder.documents
        documents.bytes_read += sum(unit.bytes for unit in units)
        documents.tokens += piece.ids
        if (earlier := self._journal.pieces.get(task.file)) is not None:
            if (earlier.piece, earlier.units) != (piece, units):
                raise BadInput(
                    f"{task.name} gave other ids when it was encoded again",
                    "begin again in another folder",
                    "damaged",
                )
            return
        facts = {str(unit.source): self._facts[unit.source] for unit in task.units}
        self._journal.add(
            piece=task.file, units=list(map(list, units)), facts=facts, **{"is": list(piece)}
        )

    def _raise_located(self, task: PieceTask, failure: Failure) -> None:
        """Raise the error of a task, with the number of the line or row in the whole source.

        The task counted lines and rows from the start of its part. So this process encodes the
        source again, from the part on, which raises the error that one machine raises.
        """
        if failure.unit is None:
            raise failure.error
        number, part = task.units[failure.unit]
        if part.number:
            encoder, source = self._job.encoder, part.source
            start = ResumePoint()
            if isinstance(encoder, NativeEncoder):
                earlier_units = [
                    unit
                    for recorded in self._journal.pieces.values()
                    for unit in recorded.units
                    if unit.source == number and unit.part < part.number
                ]
                if isinstance(source, Records):
                    start = ResumePoint(records=sum(unit.documents for unit in earlier_units))
                elif encoder.documents.utf8_errors != "replace":
                    start = ResumePoint(text=sum(unit.bytes for unit in earlier_units))
            assert not isinstance(source, Archive)
            for _ in encoder.chunks(source, start):
                pass
        raise failure.error

    def _check_unchanged(self) -> None:
        for recorded in self._journal.pieces.values():
            try:
                self._provenance.check_sources(self._folder.name, recorded.facts)
            except TokctlError as error:
                hint = "repeat the command with --resume when nothing writes to it"
                raise error.reworded(hint=hint) from None

    # -- pieces to shards ------------------------------------------------------------------

    def _place_pieces(self) -> list[PlacedPiece]:
        """Return all pieces in the order of the sources."""
        recorded = sorted(self._journal.pieces.items(), key=lambda item: item[1].units[0][:2])
        first_ids = accumulate((piece.piece.ids for _, piece in recorded), initial=0)
        return [
            PlacedPiece(self._pieces, name, piece.piece, self._job.width, first_id)
            for (name, piece), first_id in zip(recorded, first_ids, strict=False)
        ]

    def _plan(self) -> list[ShardRange]:
        pieces = self._place_pieces()
        total = pieces[-1].end if pieces else 0
        if not any(piece.piece.ids or piece.piece.documents for piece in pieces):
            return []
        size = self._job.target.shard_size or 1
        exact = self._job.target.form in EXACT
        ends = range(size, total, size) if exact else shard_ends(pieces, size)
        groups: list[ShardRange] = []
        first_shard, start, shard = 0, 0, 0
        try:
            for shard, end in enumerate(ends, 1):
                if end >= total:
                    break
                if end - start >= _IDS_PER_GROUP:
                    groups.append(ShardRange(first_shard, shard - first_shard, start, end))
                    first_shard, start = shard, end
            else:
                shard += 1
        except DamagedPieceError as error:
            self._raise_failure(Failure.of(error))
        return [*groups, ShardRange(first_shard, shard - first_shard, start, total)]

    def _group_tasks(self) -> list[GroupTask]:
        """Return a task for each group that is not complete, with the pieces that hold its ids."""
        pieces = self._place_pieces()
        first_ids = [piece.first_id for piece in pieces]
        ends = [piece.end for piece in pieces]
        return [
            GroupTask(
                f"shard {group.shard}",
                number,
                group,
                pieces[bisect_left(ends, group.start) : bisect_right(first_ids, group.stop)],
            )
            for number, group in enumerate(self._journal.plan or ())
            if number not in self._journal.groups
        ]

    def _write(self) -> None:
        tasks = self._group_tasks()
        needed = Counter(piece.file for task in tasks for piece in task.pieces)
        total = sum(task.group.stop - task.group.start for task in tasks)
        done = 0
        with closing(self._workers.run(write_group, self._job, tasks)) as results:  # type: ignore[type-var]
            for task, result in results:
                if isinstance(result, Failure):
                    self._raise_failure(result)
                self._journal.add(group=task.number, shards=result)
                for piece in task.pieces:
                    needed[piece.file] -= 1
                    if not needed[piece.file]:
                        self._pieces.remove(piece.file)
                done += task.group.stop - task.group.start
                width = self._job.target.dtype.width
                self._report_progress("copy", done * width, total * width)

    def _raise_failure(self, failure: Failure) -> NoReturn:
        """Raise the error; a damaged piece is removed, so that a later run makes it again."""
        if failure.piece:
            self._pieces.remove(failure.piece)
        raise failure.error

    def _report_progress(self, phase: str, done: int, total: int) -> None:
        if self._stream.progress is not None:
            self._stream.progress(phase, done, total)
