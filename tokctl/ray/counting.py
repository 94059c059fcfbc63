"""Counting on Ray, for a training.

Texts are cut into parts: files, stretches of long ones, row groups, blocks of a dataset. Each is
counted by a task, which gives its counts in partitions by a hash of the pre-token; others merge
them, partition by partition, and divide what is too large for a worker further. A pre-token's place
of first occurrence goes along, so that the merged counts have the order in which one machine would
have seen them, and the training, which runs where it was called, gives the same file. Tasks depend
on nothing but their input: one that is lost with its worker or its node is run again by Ray.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import ray

from tokctl import arrow
from tokctl.errors import TokctlError
from tokctl.ray.tasks import (
    RETRIES,
    Home,
    Tell,
    Tried,
    at_home,
    check_portable,
    connected,
    explained,
    home,
    run,
    tried,
)
from tokctl.sources import Batch, Records, Source, total_size
from tokctl.sources import tables as table_columns
from tokctl.sources.document import Places
from tokctl.sources.parts import SourcePart, named, parts_of
from tokctl.training import Options, counting
from tokctl.training.counting import Progress, TextStats
from tokctl.values import Done, brief

if TYPE_CHECKING:
    import pyarrow as pa

    from tokctl import _native
    from tokctl.idfiles.writer import ChunkStream, Target, Written
    from tokctl.model import Recipe

#: Bytes of text in a part. A task takes some milliseconds to start, and about a second for these.
PART_SIZE = 128 << 20

#: Sources in a task, at most: they are sent with it.
_MOST_TOGETHER = 1000

#: So many tables of a partition are merged at a time.
FAN_IN = 16

#: Bytes that a worker takes, where nobody says how many.
MEMORY = 1 << 30

#: A task gives what it has counted when its tables take this share of the memory, and merges tables
#: that have this share together, as long as they have: measured, with all that comes beside.
COUNTED, MERGED = 8, 12

#: Bytes of a row of a table beside its pre-token: where it ends, its count, its source, its place.
ROW = 32

#: Bytes of a counter's tables for a byte of text, about, where all pre-tokens are distinct.
_TABLES = 4

#: The merged counts are collected in so many stretches of places, at most, of so many rows at
#: least.
_STRETCHES = 64
_STRETCH = 1 << 20

#: What every task needs: recipe, options, and who asks.
_Asked = tuple["Recipe", Options, Home]


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster, for `Tokenizer.train(…, engine=…)`, which counts texts on it, and for
    `tokctl.idfiles.write(…, engine=…)`, which writes shards.

    Attributes:
        address: `ray://HOST:PORT`, `HOST:PORT` or `auto`, as for `ray.init`. None: the connected
            cluster; otherwise the one that RAY_ADDRESS names; otherwise a cluster is started on
            this machine, and stopped when the work is done.
        part_size: the approximate number of bytes of text in a task.
        partitions: the number of partitions of the counts; None: the number of processors of the
            cluster, at most 64.
        tell: called with a line for each task that was repeated because its worker was lost.
    """

    address: str | None = None
    part_size: int = PART_SIZE
    partitions: int | None = None
    tell: Tell | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("part_size", "partitions"):
            value = getattr(self, name)
            if value is not None and not (type(value) is int and value > 0):
                raise TokctlError(f"{name} can't be {brief(value)}", "it is a number from 1 up")

    def parts(self, sources: Sequence[Source]) -> list[list[SourcePart]]:
        """The parts of each source."""
        for source in sources:
            check_portable(source)
        return [parts_of(source, self.part_size) for source in sources]

    def count(
        self,
        sources: Sequence[Source],
        recipe: Recipe,
        options: Options,
        progress: Progress | None = None,
    ) -> tuple[_native.Counts, TextStats]:
        """What `tokctl.training.counting.count` finds on one machine."""
        counting.check_parts(recipe, options)
        weights, scale = counting.weigh([source.name for source in sources], options.weights)
        least = counting.scaled(counting.least_count(recipe, options), scale)
        cut = self.parts(sources)
        times = [int(weight * scale) for weight in weights] or [1] * len(sources)
        # What is read as a whole for its digest goes first: nobody shares it.
        tasks: list[_Task] = [
            _Task((number,), parts[0].source) for number, parts in enumerate(cut) if parts[0].places
        ]
        tasks += together(cut, times, self.part_size)
        total = total_size(sources)
        digests: list[list[str]] = [[] for _ in sources]
        documents = size = done = 0
        memory = max(options.memory or MEMORY, MERGED)
        with connected(self.address) as processors:
            # Once, not with each task. Its folder of temporary files is one of this machine.
            given = replace(options, extend=None, weights={}, memory=memory, temporary=None)
            asked = ray.put((recipe, given, home()))
            shuffle = _Shuffle(self.partitions or min(processors, 64), memory)
            expected = max(1, _TABLES * self.part_size * COUNTED // memory)
            counts_of = partial(_Count, partitions=shuffle.partitions, rounds=expected)
            queue = _Queue(counts_of(number, task) for number, task in enumerate(tasks))

            def start(task: _Count | _Merge) -> list[Any]:
                return task.start(asked)

            def name(task: _Count | _Merge) -> str:
                if isinstance(task, _Merge):
                    return "the counts"
                reads = task.task.reads
                return named([part for part, _ in reads]) if isinstance(reads, list) else reads.name

            def ran(tasks: Iterable[_Count | _Merge]) -> Iterator[Any]:
                return run(tasks, start, name, processors, self.tell)

            def finished() -> Iterator[tuple[_Count, _Facts]]:
                for task, facts, found in ran(queue):
                    if isinstance(task, _Merge):
                        queue.first += shuffle.merged(task, facts, found)
                        continue
                    queue.first += shuffle.counted(task, facts, found)
                    if facts.more:
                        queue.first.append(task.later())
                    else:
                        yield task, facts

            for (_, task, *_), facts in finished():
                documents += facts.documents
                size += facts.bytes
                for source, some in zip(task.sources, facts.digests, strict=True):
                    digests[source] += some
                if not isinstance(task.reads, list):
                    continue
                done += sum(part.size or 0 for part, _ in task.reads)
                if progress:
                    progress("count", Done(done, documents), total)
            while uneven := shuffle.leveled():
                queue.first += uneven
                deque(finished(), maxlen=0)
            # All are merged a last time, and come in stretches of places.
            stretches: list[list[Any]] = []
            rows = length = 0
            partitions = shuffle.finest
            for _, facts, found in ran(shuffle.last(least)):
                rows += sum(facts.rows)
                length += sum(facts.lengths)
                stretches.append(found)
                if progress:
                    progress("merge-counts", len(stretches), partitions)
            with explained("the counts"):
                counts = arrow.collected(_fetched(stretches, progress), rows, length)
        digest = counting.digest_of([digest for some in digests for digest in some])
        return counts, TextStats(documents, size, digest, tuple(weights), scale)

    def write_shards(self, stream: ChunkStream, target: Target) -> Written:
        """Writes shards on the cluster, for `tokctl.idfiles.write(…, engine=…)`; see
        `tokctl.ray.shards`."""
        from tokctl.ray.shards import write_shards

        return write_shards(stream, target, self.address, self.part_size, self.tell)


class _Task(NamedTuple):
    """What a task reads: parts of the sources of these numbers, and how often each occurrence
    counts; or all of one, for its digest."""

    sources: Sequence[int]
    reads: list[tuple[SourcePart, int]] | Source


def together(
    cut: Sequence[Sequence[SourcePart]], times: Sequence[int], size: int
) -> Iterator[_Task]:
    """Tasks of about `size` bytes: parts of long sources, and short ones together."""
    numbers: list[int] = []
    reads: list[tuple[SourcePart, int]] = []
    filled = 0
    for number, parts in enumerate(cut):
        for part in parts:
            # Of a stream, nobody knows how long it is.
            length = size if part.size is None else part.size
            if reads and (filled + length > size or len(reads) == _MOST_TOGETHER):
                yield _Task(numbers, reads)
                numbers, reads, filled = [], [], 0
            numbers.append(number)
            reads.append((part, times[number]))
            filled += length
    if reads:
        yield _Task(numbers, reads)


class _Queue:
    """Tasks: those that have come up meanwhile, then the others. At its end more can come up."""

    def __init__(self, others: Iterator[_Count]) -> None:
        self.first: deque[_Count | _Merge] = deque()
        self._others = others

    def __iter__(self) -> _Queue:
        return self

    def __next__(self) -> _Count | _Merge:
        return self.first.popleft() if self.first else next(self._others)


class _Facts(NamedTuple):
    """What a task has read (see `counting.PartCounts`), and what it gives: of each table, or of
    each round of counting, rows and bytes of pre-tokens.

    `more`: there are more rounds than it was asked for.
    """

    documents: int = 0
    bytes: int = 0
    digests: Sequence[Sequence[str]] = ()
    rows: Sequence[int] = ()
    lengths: Sequence[int] = ()
    more: bool = False


class _Count(NamedTuple):
    """A task that counts, or takes a digest.

    What fits the memory is a round. A task gives as many as are expected; where there are more,
    another one reads the same again for those that are `skipped` by now.
    """

    number: int
    task: _Task
    partitions: int
    rounds: int
    skipped: int = 0

    def start(self, asked: Any) -> list[Any]:
        reads = self.task.reads
        if not isinstance(reads, list):
            return [_digests.remote(asked, reads)]
        counted: Any = _count.options(num_returns=self.rounds * self.partitions + 1)
        *tables, facts = counted.remote(
            asked, reads, self.number, self.partitions, self.skipped, self.rounds
        )
        return [facts, *tables]

    def later(self) -> _Count:
        return self._replace(rounds=2 * self.rounds, skipped=self.skipped + self.rounds)


@dataclass
class _Group:
    """Tables of counts, as references, one for each partition.

    Attributes:
        rows, length: of all of them, and bytes of their pre-tokens.
        level: how often they have been merged.
        missing: partitions that are not made yet.
    """

    tables: list[Any]
    rows: int = 0
    length: int = 0
    level: int = 0
    missing: int = 0

    @property
    def size(self) -> int:
        return self.length + ROW * self.rows


class _Merge(NamedTuple):
    """A task that merges tables of one partition, and divides it further, into `parts`; or cuts
    what it gives at the places of `cuts`."""

    into: _Group
    partition: int
    partitions: int
    parts: int
    tables: Sequence[Any]
    least: int = 1
    cuts: Sequence[tuple[int, int]] = ()

    def start(self, _: Any) -> list[Any]:
        merge: Any = _merge.options(num_returns=self.parts + len(self.cuts) + 1)
        *tables, facts = merge.remote(
            self.least, self.cuts, self.partition, self.partitions, self.parts, *self.tables
        )
        return [facts, *tables]


class _Shuffle:
    """Merges tables of counts as they come: each once for each power of `FAN_IN` in their number.

    Where the tables of a partition are too large to be merged in a worker's memory, the task merges
    one part of it after the other, by more digits of the hash. These parts are partitions from then
    on: so tables stay as small, however many are merged.
    """

    def __init__(self, partitions: int, memory: int) -> None:
        self.partitions = partitions
        self._memory = memory
        #: By level and number of partitions.
        self._waiting: dict[tuple[int, int], list[_Group]] = {}
        #: Of each task that counts the rows that it has given.
        self._rows: dict[int, int] = {}

    def _add(self, group: _Group) -> list[_Merge]:
        """What is to be merged now."""
        of = group.level, len(group.tables)
        waiting = self._waiting.setdefault(of, [])
        waiting.append(group)
        if len(waiting) < FAN_IN:
            return []
        return self._merged(self._waiting.pop(of), self._parts(waiting, of[1]))

    def _parts(self, groups: Sequence[_Group], partitions: int) -> int:
        return parts_of_each(sum(group.size for group in groups), partitions, self._memory)

    def _merged(self, groups: list[_Group], parts: int) -> list[_Merge]:
        partitions = len(groups[0].tables)
        level = 1 + max(group.level for group in groups)
        into = _Group([None] * (partitions * parts), level=level, missing=partitions)
        return [
            _Merge(into, number, partitions, parts, [group.tables[number] for group in groups])
            for number in range(partitions)
        ]

    def counted(self, task: _Count, facts: _Facts, found: list[Any]) -> list[_Merge]:
        """What a task has given; what is to be merged now."""
        merges = []
        for number, (rows, length) in enumerate(zip(facts.rows, facts.lengths, strict=True)):
            tables = found[number * task.partitions : (number + 1) * task.partitions]
            merges += self._add(_Group(tables, rows, length))
            self._rows[task.number] = self._rows.get(task.number, 0) + rows
        return merges

    def merged(self, task: _Merge, facts: _Facts, found: list[Any]) -> list[_Merge]:
        into = task.into
        into.tables[task.partition :: task.partitions] = found
        into.rows += sum(facts.rows)
        into.length += sum(facts.lengths)
        into.missing -= 1
        return [] if into.missing else self._add(into)

    @property
    def finest(self) -> int:
        """The most partitions that tables have; once they are leveled, all have so many."""
        return max((partitions for _, partitions in self._waiting), default=self.partitions)

    def leveled(self) -> list[_Merge]:
        """What divides all tables into the same partitions, so many that each can be merged;
        nothing where they are."""
        groups = [group for some in self._waiting.values() for group in some]
        partitions = self.finest * self._parts(groups, self.finest)
        merges = []
        for of, some in list(self._waiting.items()):
            if of[1] < partitions:
                del self._waiting[of]
                merges += self._merged(some, partitions // of[1])
        return merges

    def last(self, least: int) -> Iterator[_Merge]:
        """Gives each partition as one table, without what occurs less often than that, cut into
        stretches of places."""
        groups = [group for some in self._waiting.values() for group in some]
        self._waiting.clear()
        cuts = _cuts(self._rows)
        for number in range(len(groups[0].tables) if groups else 0):
            tables = [group.tables[number] for group in groups]
            for group in groups:
                group.tables[number] = None
            yield _Merge(_Group([]), number, 1, 1, tables, least, cuts)


def parts_of_each(size: float, partitions: int, memory: int) -> int:
    """Into how many each of so many partitions of tables, of so many bytes together, is divided so
    that it can be merged."""
    parts = 1
    while size > parts * partitions * (memory // MERGED):
        parts *= 2
    return parts


def _cuts(rows: dict[int, int]) -> list[tuple[int, int]]:
    """First places that divide so many rows of each source into stretches of about as many."""
    total = sum(rows.values())
    count = min(total // _STRETCH + 1, _STRETCHES)
    sources = sorted(rows)
    ends = list(accumulate(rows[source] for source in sources))
    cuts = []
    for place in (total * number // count for number in range(1, count)):
        at = bisect_right(ends, place)
        cuts.append((sources[at], place - (ends[at] - rows[sources[at]])))
    return cuts


def _fetched(
    partitions: list[list[Any]], progress: Progress | None = None
) -> Iterator[list[pa.Table]]:
    """Of each stretch the tables of all partitions, which can go then."""
    stretches = [list(some) for some in zip(*partitions, strict=True)][::-1]
    partitions.clear()
    total = len(stretches)
    while stretches:
        yield ray.get(stretches.pop())
        if progress:
            progress("collect", total - len(stretches), total)


@ray.remote(max_retries=RETRIES)
def _count(
    asked: _Asked,
    reads: list[tuple[SourcePart, int]],
    number: int,
    partitions: int,
    skipped: int,
    rounds: int,
) -> Iterator[Any]:
    recipe, options, of = asked
    assert options.memory is not None
    most = options.memory // COUNTED
    before = 0
    rows: list[int] = []
    lengths: list[int] = []
    with at_home(of):
        for at, found in enumerate(counting.count_parts(reads, recipe, options, most=most)):
            counts, documents, size, digests = found
            del found
            if at == skipped + rounds:
                yield tried(_Facts(rows=rows, lengths=lengths, more=True))
                return
            start, before = before, before + len(counts)
            if at < skipped:
                continue
            table = arrow.table_of_counts(counts, number, start)
            del counts
            rows.append(table.num_rows)
            lengths.append(_length(table))
            yield from arrow.partitioned(table, range(partitions), partitions)
            del table
    yield from [None] * ((rounds - len(rows)) * partitions)
    yield tried(_Facts(documents, size, digests, rows, lengths))


@ray.remote(max_retries=RETRIES)
def _digests(asked: _Asked, source: Source) -> Tried:
    recipe, options, of = asked
    with at_home(of):
        return tried(_Facts(digests=[counting.digests_of(source, recipe, options)]))


@ray.remote(max_retries=RETRIES)
def _merge(
    least: int,
    cuts: Sequence[tuple[int, int]],
    number: int,
    partitions: int,
    parts: int,
    *tables: pa.Table,
) -> Iterator[Any]:
    from pyarrow import compute

    some: Iterable[Sequence[pa.Table]] = [tables]
    if parts > 1:
        finer = partitions * parts
        chosen = range(number, finer, partitions)
        some = zip(*(arrow.partitioned(table, chosen, finer) for table in tables), strict=True)
    rows, lengths = [], []
    for part in some:
        merged = arrow.merge_counts(part)
        del part
        if least > 1:
            merged = merged.filter(compute.greater_equal(merged["count"], least)).combine_chunks()
        rows.append(merged.num_rows)
        lengths.append(_length(merged))
        ends = [_place(merged, *cut) for cut in cuts]
        for start, end in zip([0, *ends], [*ends, merged.num_rows], strict=True):
            yield merged.slice(start, end - start)
        del merged
    yield tried(_Facts(rows=rows, lengths=lengths))


def _length(table: pa.Table) -> int:
    """Bytes of all its pre-tokens."""
    return sum(table_columns.text_column(chunk).size for chunk in table["pre_token"].chunks)


def _place(table: pa.Table, source: int, place: int) -> int:
    """The first row of a merged table that is not before that place."""
    if not table.num_rows:
        return 0
    sources, places = (
        table_columns.numbers(table[name].chunk(0)).cast("Q") for name in ("source", "place")
    )
    first, end = bisect_left(sources, source), bisect_right(sources, source)
    return bisect_left(places, place, first, end)


def dataset_source(dataset: ray.data.Dataset, text: str) -> Records:
    """The rows of a dataset, in its order, as records."""
    blocks = dataset.to_arrow_refs()
    name = "the dataset"

    def batches(numbers: Iterable[int]) -> Iterator[Batch]:
        row = 1
        for number in numbers:
            for batch in ray.get(blocks[number]).to_batches():
                first, *below = table_columns.path_to(batch.schema, text, name)
                yield from table_columns.column_batches(batch.column(first), below, text, name, row)
                row += batch.num_rows

    def between(places: Sequence[int], number: int) -> Iterator[Batch]:
        return batches(range(*places[number : number + 2]))

    everything = list(range(len(blocks) + 1))
    return Records(
        name,
        dataset.size_bytes(),
        lambda: batches(everything[:-1]),
        lambda: 0,
        unit="row",
        places=lambda: Places(lambda _: everything, between, "blocks"),
    )
