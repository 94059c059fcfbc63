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
    borders,
    chunks_of,
    write_piece,
)
from tokctl.idfiles.places import ShardStore, place_at
from tokctl.idfiles.shard_journal import (
    FACTS,
    SHARD,
    JournalLines,
    Provenance,
    files_in,
    manifest_of,
)
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
from tokctl.sources.parts import SourcePart, named, parts_of

Task = TypeVar("Task")
Result = TypeVar("Result")

#: Smallest number of ids in a group of shards, except for the last group.
_GROUP = 1 << 24


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
        place: folder of the shards, under a name that every process can use.
        target: form, type of the ids and size of a shard.
        encoder: encoder of the sources.
        cache_memory: limit of the cache of each encoder, in bytes.
    """

    place: ShardStore
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
        return self.place.folder(PIECES)

    def packed(self) -> bytes:
        """Return the job as bytes for another process; see `unpacked`."""
        return pickle.dumps(self)

    @staticmethod
    @lru_cache(maxsize=1)
    def unpacked(data: bytes) -> Job:
        """Return a packed job, set to one thread.

        It is cached, because a process gets many tasks of a job.

        Args:
            data: what `packed` returned.
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
            before, ids, ends = documents.bytes_read, 0, 0
            try:
                for chunk in chunks_of(part, job.encoder):
                    ids, ends = ids + chunk.count, ends + len(chunk.ends)
                    yield chunk
            except TokctlError:
                failed = True
                raise
            read = documents.bytes_read - before
            counts.append(UnitCounts(number, part.number, ends, ids, read))

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
    stretch = Slice(task.pieces, group.start, group.stop)
    chunks = stretch.chunks()
    try:
        first = next(chunks)  # sets `stretch.begun`
        with ShardWriter(job.place, job.target, group.shard, int(stretch.begun)) as writer:
            for chunk in chain([first], chunks):
                writer.add(chunk)
            writer.finish()
    except TokctlError as error:
        return Failure.of(error)
    ids, planned = sum(shard["ids"] for shard in writer.shards), group.stop - group.start
    if (len(writer.shards), ids) != (group.shards, planned):
        return Failure.of(
            BadInput(
                f"{job.place}: {len(writer.shards):,} shards from number {group.shard} on have "
                f"{ids:,} ids; {planned:,} in {group.shards:,} are planned",
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
    with ShardFolder(place_at(target.path), stream.progress, stream.tell) as folder:
        if target.resume and (done := folder.finished(provenance)) is not None:
            return done
        more = {PART_SIZE: workers.part_size}
        record = _Record(folder.lines(provenance, resume=target.resume, **more))
        if record.lines:
            provenance.check_same(folder.name, record.header, what="was begun")
        encoder = stream.encoder
        cache_memory = encoder.documents.tokenizer.encoder.cache_memory
        job = Job(folder.place.absolute(), replace(target, job={}), encoder, cache_memory)
        try:
            run = _Run(folder, record, provenance, stream, job, workers)
            made = run.manifest()
        except TokctlError as error:
            raise StoppedError.by(error) from error
        folder.finish(made)
        return folder.written(made, kept=run.kept)


def sweep(target: Target) -> None:
    """Remove the unfinished files of workers that were killed."""
    assert isinstance(target.path, (str, Path))
    place = place_at(target.path)
    for one in (place, place.folder(PIECES)):
        one.sweep()


class _Known(NamedTuple):
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


class _Record:
    """Journal of a cluster's run.

    Attributes:
        pieces: recorded pieces by file name.
        plan: groups of shards; None until all pieces are complete.
        groups: shards of each complete group, by its number.
    """

    def __init__(self, file: JournalLines) -> None:
        """Read the lines; raise TokctlError if one is damaged."""
        self._file = file
        self.pieces: dict[str, _Known] = {}
        self.plan: list[ShardRange] | None = None
        self.groups: dict[int, list[dict[str, Any]]] = {}
        file.each(AnyOf(_PIECE_LINE, _PLAN_LINE, _GROUP_LINE), self._take)

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
        self._take(line)

    def _take(self, line: dict[str, Any]) -> None:
        if "piece" in line:
            facts = {int(number): one for number, one in line["facts"].items()}
            units = [UnitCounts(*unit) for unit in line["units"]]
            known = len(self.header["sources"])
            if not units or any(unit.source >= known or unit.source not in facts for unit in units):
                raise ValueError
            self.pieces[line["piece"]] = _Known(StoredPiece(*line["is"]), units, facts)
        elif "plan" in line:
            self.plan = [ShardRange(*group) for group in line["plan"]]
        else:
            self.groups[line["group"]] = line["shards"]


class _Run:
    """State of a run, from the folder and its journal to the manifest."""

    def __init__(
        self,
        folder: ShardFolder,
        record: _Record,
        provenance: Provenance,
        stream: ChunkStream,
        job: Job,
        workers: Workers,
    ) -> None:
        self._folder = folder
        self._record = record
        self._provenance = provenance
        self._stream = stream
        self._job = job
        self._pieces = job.pieces
        self._workers = workers
        self._facts: dict[int, list[int | None]] = {}
        self.kept = 0

    def manifest(self) -> dict[str, Any]:
        """Write all shards, and return the content of `manifest.json`."""
        record = self._record
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
        for known in record.pieces.values():
            for unit in known.units:
                one = facts.setdefault(unit.source, [*known.facts[unit.source], 0, 0])  # type: ignore[list-item]
                one[2] += unit.documents
                one[3] += unit.ids
        made = manifest_of(self._provenance, facts, shards)
        totals = made["totals"]
        for key in ("documents", "ids"):
            if totals[key] != sum(source[key] for source in made["sources"]):
                raise BadInput(
                    f"{self._folder.name}: the shards have {totals[key]:,} {key}, and the sources "
                    "another number",
                    "begin again in another folder",
                    "damaged",
                )
        return made

    # -- files of an earlier run -----------------------------------------------------------

    def _clean(self) -> None:
        """Remove files that the journal does not record, and forget what can't be used any more.

        Damaged shards are forgotten; so are pieces that are missing, changed, or made from sources
        that changed. If shards were made from changed sources, TokctlError is raised.
        """
        record, provenance = self._record, self._provenance
        if record.groups:
            for known in record.pieces.values():
                provenance.check_sources(self._folder.name, known.facts)
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
                for name, known in record.pieces.items()
                if not self._is_there(name)
                or any(provenance.facts(number) != facts for number, facts in known.facts.items())
            ]
        )

    def _forget_damaged(self) -> None:
        groups = self._record.groups
        numbers = [number for number, shards in groups.items() for _ in shards]
        faults = self._folder.faults([shard for shards in groups.values() for shard in shards])
        damaged: set[int] = set()
        for number, fault in zip(numbers, faults, strict=True):
            if fault is not None:
                self._folder.tell_damage(fault, "it is encoded again")
                damaged.add(number)
        if damaged:
            self._record.forget_groups(damaged)

    def _is_there(self, name: str) -> bool:
        """Return whether the file of a piece had the recorded size when this run began."""
        return self._sizes.get(name) == self._record.pieces[name].piece.bytes

    # -- sources to pieces -----------------------------------------------------------------

    def _encode(self) -> None:
        tasks = self._piece_tasks()
        total = sum(source.size or 0 for source in self._stream.sources)
        done = total - sum(unit.part.size or 0 for task in tasks for unit in task.units)
        documents = ids = 0
        failures: dict[int, tuple[PieceTask, Failure]] = {}
        ended: set[int] = set()

        def begun() -> Iterator[PieceTask]:
            for task in tasks:
                if failures:
                    return
                for unit in task.units:
                    if unit.source not in self._facts:
                        self._facts[unit.source] = self._provenance.facts(unit.source)
                yield task

        with closing(self._workers.run(encode_piece, self._job, begun())) as results:  # type: ignore[type-var]
            for task, result in results:
                ended.add(task.number)
                if isinstance(result, Failure):
                    failures[task.number] = task, result
                else:
                    self._take(task, *result)
                    documents, ids = documents + result[0].documents, ids + result[0].ids
                done += sum(unit.part.size or 0 for unit in task.units)
                self._tell("encode", ProgressCount(done, documents, ids), total)
                # Report the failure that is first in the order of the sources, as one machine does.
                if failures and all(number in ended for number in range(min(failures))):
                    break
        if failures:
            self._fail(*failures[min(failures)])

    def _piece_tasks(self) -> list[PieceTask]:
        """Return the tasks for all parts of sources that have no piece."""
        record, sources = self._record, self._stream.sources
        runs: list[list[SourceUnit]] = []
        if record.plan is not None:
            needed = {piece.file for task in self._group_tasks() for piece in task.pieces}
            lost = sorted(name for name in needed if not self._is_there(name))
            parts = {
                number: self._parts(number)
                for number in {unit.source for name in lost for unit in record.pieces[name].units}
            }
            for name in lost:
                units = record.pieces[name].units
                runs.append(
                    [SourceUnit(unit.source, parts[unit.source][unit.part]) for unit in units]
                )
        else:
            there = {
                (unit.source, unit.part) for known in record.pieces.values() for unit in known.units
            }
            size, goes_on = 0, False
            for number in range(len(sources)):
                for part in self._parts(number):
                    if (number, part.number) in there:
                        goes_on = False
                        continue
                    # Only small sources share a task.
                    is_small = not part.places and part.size is not None
                    if not (goes_on and is_small and size + (part.size or 0) <= record.part_size):
                        runs.append([])
                        size = 0
                    runs[-1].append(SourceUnit(number, part))
                    size, goes_on = size + (part.size or 0), is_small
        return [
            PieceTask(
                named([unit.part for unit in units]),
                number,
                f"piece-{units[0].source:05}-{units[0].part.number:05}",
                units,
            )
            for number, units in enumerate(runs)
        ]

    def _parts(self, number: int) -> list[SourcePart]:
        source, cuts = self._stream.sources[number], self._job.encoder.cuts
        if isinstance(source, (Archive, Records)) or cuts != "nowhere":
            return parts_of(source, self._record.part_size)
        return [SourcePart(source, size=source.size)]

    def _take(self, task: PieceTask, piece: StoredPiece, units: list[UnitCounts]) -> None:
        """Record a piece that was written."""
        if self._pieces.size(task.file) != piece.bytes:
            self._folder.place.check_writer()
            raise BadInput(
                f"{self._pieces.file(task.file)} was written, and is not here",
                "the folder of the shards must be one that all workers and this machine share",
                "unreadable",
            )
        documents = self._job.encoder.documents
        documents.bytes_read += sum(unit.bytes for unit in units)
        documents.tokens += piece.ids
        if (before := self._record.pieces.get(task.file)) is not None:
            if (before.piece, before.units) != (piece, units):
                raise BadInput(
                    f"{task.name} gave other ids when it was encoded again",
                    "begin again in another folder",
                    "damaged",
                )
            return
        facts = {str(unit.source): self._facts[unit.source] for unit in task.units}
        self._record.add(
            piece=task.file, units=list(map(list, units)), facts=facts, **{"is": list(piece)}
        )

    def _fail(self, task: PieceTask, failure: Failure) -> None:
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
                before = [
                    unit
                    for known in self._record.pieces.values()
                    for unit in known.units
                    if unit.source == number and unit.part < part.number
                ]
                if isinstance(source, Records):
                    start = ResumePoint(records=sum(unit.documents for unit in before))
                elif encoder.documents.utf8_errors != "replace":
                    start = ResumePoint(text=sum(unit.bytes for unit in before))
            assert not isinstance(source, Archive)
            for _ in encoder.chunks(source, start):
                pass
        raise failure.error

    def _check_unchanged(self) -> None:
        for known in self._record.pieces.values():
            try:
                self._provenance.check_sources(self._folder.name, known.facts)
            except TokctlError as error:
                hint = "repeat the command with --resume when nothing writes to it"
                raise error.reworded(hint=hint) from None

    # -- pieces to shards ------------------------------------------------------------------

    def _placed(self) -> list[PlacedPiece]:
        """Return all pieces in the order of the sources."""
        known = sorted(self._record.pieces.items(), key=lambda each: each[1].units[0][:2])
        firsts = accumulate((one.piece.ids for _, one in known), initial=0)
        return [
            PlacedPiece(self._pieces, name, one.piece, self._job.width, first)
            for (name, one), first in zip(known, firsts, strict=False)
        ]

    def _plan(self) -> list[ShardRange]:
        pieces = self._placed()
        total = pieces[-1].end if pieces else 0
        if not any(piece.piece.ids or piece.piece.documents for piece in pieces):
            return []
        size = self._job.target.shard_size or 1
        exact = self._job.target.form in EXACT
        ends = range(size, total, size) if exact else borders(pieces, size)
        groups: list[ShardRange] = []
        first, start, shard = 0, 0, 0
        try:
            for shard, end in enumerate(ends, 1):
                if end >= total:
                    break
                if end - start >= _GROUP:
                    groups.append(ShardRange(first, shard - first, start, end))
                    first, start = shard, end
            else:
                shard += 1
        except DamagedPieceError as error:
            self._fail_by(Failure.of(error))
        return [*groups, ShardRange(first, shard - first, start, total)]

    def _group_tasks(self) -> list[GroupTask]:
        """Return a task for each group that is not complete, with the pieces that hold its ids."""
        pieces = self._placed()
        firsts = [piece.first for piece in pieces]
        ends = [piece.end for piece in pieces]
        return [
            GroupTask(
                f"shard {group.shard}",
                number,
                group,
                pieces[bisect_left(ends, group.start) : bisect_right(firsts, group.stop)],
            )
            for number, group in enumerate(self._record.plan or ())
            if number not in self._record.groups
        ]

    def _write(self) -> None:
        tasks = self._group_tasks()
        needed = Counter(piece.file for task in tasks for piece in task.pieces)
        total = sum(task.group.stop - task.group.start for task in tasks)
        done = 0
        with closing(self._workers.run(write_group, self._job, tasks)) as results:  # type: ignore[type-var]
            for task, result in results:
                if isinstance(result, Failure):
                    self._fail_by(result)
                self._record.add(group=task.number, shards=result)
                for piece in task.pieces:
                    needed[piece.file] -= 1
                    if not needed[piece.file]:
                        self._pieces.remove(piece.file)
                done += task.group.stop - task.group.start
                width = self._job.target.dtype.width
                self._tell("copy", done * width, total * width)

    def _fail_by(self, failure: Failure) -> NoReturn:
        """Raise the error; a damaged piece is removed, so that a later run makes it again."""
        if failure.piece:
            self._pieces.remove(failure.piece)
        raise failure.error

    def _tell(self, phase: str, done: int, total: int) -> None:
        if self._stream.progress is not None:
            self._stream.progress(phase, done, total)
