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
from tokctl.core.values import ProgressCount
from tokctl.idfiles.chunks import Chunk, ResumePoint, StreamPosition
from tokctl.idfiles.manifest import files_in
from tokctl.idfiles.output import Target
from tokctl.idfiles.pieces import (
    DamagedPieceError,
    PlacedPiece,
    Slice,
    encode_part,
    shard_ends,
    write_piece,
)
from tokctl.idfiles.registry import BY_NAME
from tokctl.idfiles.shard_journal import ShardRange, SourceFacts, StoredPiece, UnitCounts
from tokctl.idfiles.shard_stores import ShardStore, open_store
from tokctl.idfiles.shards import PIECES, ShardRun, ShardWriter
from tokctl.idfiles.stream import ChunkStream, Encoder, NativeEncoder
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
    shards: list[dict[str, Any]] = []

    def record(shard: dict[str, Any], *_: Any) -> None:
        shards.append(shard)

    try:
        first_chunk = next(chunks)  # sets `continues_document`
        position = StreamPosition(ids=int(group_slice.continues_document))
        with ShardWriter(job.store, job.target, record, group.shard, position) as writer:
            for chunk in chain([first_chunk], chunks):
                writer.add(chunk)
            writer.finish()
    except TokctlError as error:
        return Failure.of(error)
    ids, planned_ids = sum(shard["ids"] for shard in shards), group.stop - group.start
    if (len(shards), ids) != (group.shards, planned_ids):
        return Failure.of(
            BadInput(
                f"{job.store}: {len(shards):,} shards from number {group.shard} on have "
                f"{ids:,} ids; {planned_ids:,} in {group.shards:,} are planned",
                "begin again in another folder",
                "damaged",
            )
        )
    return shards


def sweep(target: Target) -> None:
    """Remove the unfinished files of workers that were killed."""
    assert isinstance(target.path, (str, Path))
    store = open_store(target.path)
    for folder in (store, store.folder(PIECES)):
        folder.sweep()


class ClusterRun(ShardRun):
    """Run that writes the shards of a stream with the workers of a cluster."""

    def __init__(self, stream: ChunkStream, target: Target, workers: Workers) -> None:
        """Set what is written where.

        Args:
            stream: the sources and their encoder.
            target: the folder, the form and the size of a shard.
            workers: processes that do the tasks.
        """
        super().__init__(stream, target)
        self.part_size = workers.part_size
        self._workers = workers
        encoder = stream.encoder
        cache_memory = encoder.documents.tokenizer.encoder.cache_memory
        self._job = Job(self.store.absolute(), replace(target, job={}), encoder, cache_memory)
        self._pieces = self._job.pieces
        self._facts: dict[int, SourceFacts] = {}

    def _write_missing(self) -> None:
        """Write the pieces and the groups of shards that the journal does not have.

        Raises:
            TokctlError: a source changed while it was read, or a piece is damaged.
        """
        self.part_size = self.journal.part_size  # of the first run
        self._pieces.make()
        self._drop_unusable_pieces()
        self._encode()
        if self.journal.plan is None:
            self._check_unchanged()
            self.journal.add(plan=[list(group) for group in self._plan()])
        self._write_groups()
        self._check_sizes()

    # -- files of an earlier run -----------------------------------------------------------

    def _drop_unusable_pieces(self) -> None:
        """Remove pieces that the journal does not record.

        While no group is complete, drop from the journal the plan, and the pieces that are missing,
        changed, or made from sources that changed.
        """
        pieces = self.journal.pieces
        self._sizes = self._pieces.sizes()
        for name in self._sizes:
            if name not in pieces:
                self._pieces.remove(name)
        if self.journal.groups:
            return
        usable = {
            name
            for name, piece in pieces.items()
            if self._has_recorded_size(name)
            and all(self._provenance.facts(facts.source) == facts for facts in piece.facts)
        }
        lines = [line for line in self.journal.lines if line.get("piece") in usable]
        self.journal = self.journal.keep(lines)

    def _has_recorded_size(self, name: str) -> bool:
        """Return whether the file of a piece had the recorded size when this run began."""
        return self._sizes.get(name) == self.journal.pieces[name].stored.bytes

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
        journal, sources = self.journal, self._stream.sources
        runs: list[list[SourceUnit]] = []
        if journal.plan is not None:
            needed = {piece.file for task in self._group_tasks() for piece in task.pieces}
            lost_pieces = sorted(name for name in needed if not self._has_recorded_size(name))
            parts = {
                number: self._parts(number)
                for number in {
                    unit.source for name in lost_pieces for unit in journal.pieces[name].units
                }
            }
            for name in lost_pieces:
                units = journal.pieces[name].units
                runs.append(
                    [SourceUnit(unit.source, parts[unit.source][unit.part]) for unit in units]
                )
        else:
            encoded_parts = {
                (unit.source, unit.part)
                for recorded in journal.pieces.values()
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
                    if not (can_extend and is_small and size + (part.size or 0) <= self.part_size):
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
            return parts_of(source, self.part_size)
        return [SourcePart(source, size=source.size)]

    def _record_piece(self, task: PieceTask, piece: StoredPiece, units: list[UnitCounts]) -> None:
        """Record a piece that was written."""
        if self._pieces.size(task.file) != piece.bytes:
            self.store.check_writer()
            raise BadInput(
                f"{self._pieces.file(task.file)} was written, and is not here",
                "the folder of the shards must be one that all workers and this machine share",
                "unreadable",
            )
        documents = self._job.encoder.documents
        documents.bytes_read += sum(unit.bytes for unit in units)
        documents.tokens += piece.ids
        if (earlier := self.journal.pieces.get(task.file)) is not None:
            if (earlier.stored, earlier.units) != (piece, units):
                raise BadInput(
                    f"{task.name} gave other ids when it was encoded again",
                    "begin again in another folder",
                    "damaged",
                )
            return
        facts = [list(self._facts[number]) for number in {unit.source: None for unit in task.units}]
        self.journal.add(
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
                    for recorded in self.journal.pieces.values()
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
        try:
            self._provenance.check_sources(self.store.name, self.journal.facts)
        except TokctlError as error:
            hint = "repeat the command with --resume when nothing writes to it"
            raise error.reworded(hint=hint) from None

    # -- pieces to shards ------------------------------------------------------------------

    def _place_pieces(self) -> list[PlacedPiece]:
        """Return all pieces in the order of the sources."""
        recorded = sorted(self.journal.pieces.items(), key=lambda item: item[1].units[0][:2])
        first_ids = accumulate((piece.stored.ids for _, piece in recorded), initial=0)
        return [
            PlacedPiece(self._pieces, name, piece.stored, self._job.width, first_id)
            for (name, piece), first_id in zip(recorded, first_ids, strict=False)
        ]

    def _plan(self) -> list[ShardRange]:
        pieces = self._place_pieces()
        total = pieces[-1].end if pieces else 0
        if not any(piece.piece.ids or piece.piece.documents for piece in pieces):
            return []
        size = self._job.target.shard_size or 1
        exact = BY_NAME[self._job.target.form].has_index
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
            for number, group in enumerate(self.journal.plan or ())
            if number not in self.journal.groups
        ]

    def _write_groups(self) -> None:
        tasks = self._group_tasks()
        needed = Counter(piece.file for task in tasks for piece in task.pieces)
        total = sum(task.group.stop - task.group.start for task in tasks)
        done = 0
        with closing(self._workers.run(write_group, self._job, tasks)) as results:  # type: ignore[type-var]
            for task, result in results:
                if isinstance(result, Failure):
                    self._raise_failure(result)
                self.journal.add(group=task.number, shards=result)
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

    def _check_sizes(self) -> None:
        """Raise TokctlError if a shard is not in the folder with the right size."""
        sizes = self.store.sizes()
        for file in files_in(self.journal.shards):
            if sizes.get(file["file"]) != file["bytes"]:
                raise BadInput(
                    f"{self.store.file(file['file'])} is not as it was written",
                    "repeat the command with --resume",
                    "damaged",
                )
