"""Counting of pre-tokens on Ray, for a training.

The texts are divided into parts: files, stretches of long files, row groups, blocks of a dataset. A
task counts a part and returns the counts in partitions by a hash of the pre-token. Other tasks
merge the counts, partition by partition, and divide partitions that are too large for a worker.
Each pre-token keeps the position where it was first seen. So the merged counts have the order in
which one machine sees the pre-tokens, and the training, which runs in the calling process, makes
the same file. Tasks depend only on their input: if a worker or a node is lost, Ray runs its task
again.
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

from tokctl.core.values import ProgressCount
from tokctl.extras import arrow
from tokctl.extras.ray.tasks import (
    RETRIES,
    DriverHost,
    OnEvent,
    TaskResult,
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
from tokctl.sources.document import Splitter
from tokctl.sources.parts import SourcePart, joint_name, parts_of
from tokctl.tokenizer.postprocess import check_number
from tokctl.training import TrainOptions, counting
from tokctl.training.counting import Progress, TextStats

if TYPE_CHECKING:
    import pyarrow as pa

    from tokctl import _native
    from tokctl.idfiles.output import Target, Written
    from tokctl.idfiles.stream import ChunkStream
    from tokctl.model import Recipe

#: Bytes of text in a part. A task takes some milliseconds to start, and about a second for this
#: many.
PART_SIZE = 128 << 20

#: Most sources in a task: they are sent with it.
_MOST_TOGETHER = 1000

#: Number of tables of a partition that are merged at a time.
FAN_IN = 16

#: Default memory of a worker in bytes.
MEMORY = 1 << 30

#: A counting task returns its counts when its tables take 1 / `COUNTED` of the memory. Tables that
#: are merged together take at most 1 / `MERGED` of it; larger ones are divided. Both shares were
#: measured with everything else that a worker keeps in memory.
COUNTED, MERGED = 8, 12

#: Bytes of a table row beside its pre-token: end, count, source and position.
ROW = 32

#: Approximate bytes of a counter's tables per byte of text, if all pre-tokens are distinct.
_TABLES = 4

#: Most stretches in which the merged counts are collected, and fewest rows of a stretch. A stretch
#: is a range of first positions.
_STRETCHES = 64
_STRETCH = 1 << 20

#: Data that every task needs: recipe, options, and the home of the calling process.
_Asked = tuple["Recipe", TrainOptions, DriverHost]


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster that counts texts for a training, or writes shards.

    Pass it as `engine` to `Tokenizer.train` or to `tokctl.idfiles.write`.

    Attributes:
        address: `ray://HOST:PORT`, `HOST:PORT` or `auto`, as for `ray.init`. None: the connected
            cluster; otherwise the one that RAY_ADDRESS names; otherwise a cluster is started on
            this machine, and stopped when the work is done.
        part_size: the approximate number of bytes of text in a task.
        partitions: the number of partitions of the counts; None: the number of processors of the
            cluster, at most 64.
        tell: called with a line for each task that was repeated because its worker was lost.

    Example:
        Tokenizer.train(["corpus/"], vocab_size=50_000, engine=Cluster("auto"))
    """

    address: str | None = None
    part_size: int = PART_SIZE
    partitions: int | None = None
    tell: OnEvent | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("part_size", "partitions"):
            value = getattr(self, name)
            if value is not None:
                check_number(name, value, 1)

    def parts(self, sources: Sequence[Source]) -> list[list[SourcePart]]:
        """Return the parts of each source."""
        for source in sources:
            check_portable(source)
        return [parts_of(source, self.part_size) for source in sources]

    def count(
        self,
        sources: Sequence[Source],
        recipe: Recipe,
        options: TrainOptions,
        progress: Progress | None = None,
    ) -> tuple[_native.Counts, TextStats]:
        """Return the counts that `tokctl.training.counting.count` finds on one machine.

        Args:
            sources: the texts.
            recipe: normalizer, pre-tokenizer and algorithm.
            options: options of the training; `memory` is the memory of each worker.
            progress: called with the phases `count`, `merge-counts` and `collect`.

        Returns:
            The counts of pre-tokens, and the statistics of the texts.

        Raises:
            TokctlError: as `tokctl.extras.ray.train`.
        """
        counting.check_parts(recipe, options)
        weights, scale = counting.weigh([source.name for source in sources], options.weights)
        min_count = counting.scale_threshold(counting.first_pass_min_count(recipe, options), scale)
        cut = self.parts(sources)
        times = [int(weight * scale) for weight in weights] or [1] * len(sources)
        # Sources that must be read as a whole for their digest go first: one task reads each of
        # them.
        tasks: list[_Task] = [
            _Task((number,), parts[0].source)
            for number, parts in enumerate(cut)
            if parts[0].boundaries
        ]
        tasks += together(cut, times, self.part_size)
        total = total_size(sources)
        digests: list[list[str]] = [[] for _ in sources]
        documents = size = finished_size = 0
        memory = max(options.memory or MEMORY, MERGED)
        with connected(self.address) as processors:
            # Sent once, not with each task. `temporary` is a folder of this machine only.
            worker_options = replace(
                options, extend=None, weights={}, memory=memory, temporary=None
            )
            request = ray.put((recipe, worker_options, home()))
            shuffle = _Shuffle(self.partitions or min(processors, 64), memory)
            expected = max(1, _TABLES * self.part_size * COUNTED // memory)
            counts_of = partial(_Count, partitions=shuffle.partitions, rounds=expected)
            tables = _CountTables(
                request,
                shuffle,
                (counts_of(*entry) for entry in enumerate(tasks)),
                processors,
                self.tell,
            )
            for (_, task, *_), facts in tables.counted():
                documents += facts.documents
                size += facts.bytes
                for source, some in zip(task.sources, facts.digests, strict=True):
                    digests[source] += some
                if not isinstance(task.reads, list):
                    continue
                finished_size += sum(part.size or 0 for part, _ in task.reads)
                if progress:
                    progress("count", ProgressCount(finished_size, documents), total)
            tables.level()
            # The last merge returns each partition in stretches of positions.
            stretches: list[list[Any]] = []
            rows = length = 0
            partitions = shuffle.finest
            for _, facts, found in tables.run(shuffle.last(min_count)):
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
        """Write shards on the cluster, for `tokctl.idfiles.write`: `tokctl.extras.ray.shards`."""
        from tokctl.extras.ray.shards import write_shards

        return write_shards(stream, target, self.address, self.part_size, self.tell)


class _Task(NamedTuple):
    """Input of a counting task.

    Attributes:
        sources: indexes of the sources that are read.
        reads: parts of these sources, each with the number of times that an occurrence counts; or a
            whole source, for its digest.
    """

    sources: Sequence[int]
    reads: list[tuple[SourcePart, int]] | Source


def together(
    cut: Sequence[Sequence[SourcePart]], times: Sequence[int], size: int
) -> Iterator[_Task]:
    """Yield tasks of about `size` bytes: one part of a long source, or several short sources.

    Args:
        cut: parts of each source.
        times: number of times that an occurrence in each source counts.
        size: approximate number of bytes of text in a task.
    """
    numbers: list[int] = []
    reads: list[tuple[SourcePart, int]] = []
    filled = 0
    for number, parts in enumerate(cut):
        for part in parts:
            # The length of a stream is unknown: it fills a task.
            length = size if part.size is None else part.size
            if reads and (filled + length > size or len(reads) == _MOST_TOGETHER):
                yield _Task(numbers, reads)
                numbers, reads, filled = [], [], 0
            numbers.append(number)
            reads.append((part, times[number]))
            filled += length
    if reads:
        yield _Task(numbers, reads)


class _Facts(NamedTuple):
    """Numbers that a task returns about its input and its tables.

    Attributes:
        documents: documents read; see `counting.PartCounts`.
        bytes: bytes of text read.
        digests: digests of each source.
        rows: rows of each table, or of each round of counting.
        lengths: bytes of the pre-tokens of each table, or of each round of counting.
        more: whether there are more rounds than were requested.
    """

    documents: int = 0
    bytes: int = 0
    digests: Sequence[Sequence[str]] = ()
    rows: Sequence[int] = ()
    lengths: Sequence[int] = ()
    more: bool = False


class _Count(NamedTuple):
    """A task that counts parts, or takes the digest of a source.

    A round is what fits the memory. A task returns the expected number of rounds. If there are
    more, another task reads the same parts again and leaves out the first `skipped` rounds.
    """

    number: int
    task: _Task
    partitions: int
    rounds: int
    skipped: int = 0

    def start(self, request: Any) -> list[Any]:
        reads = self.task.reads
        if not isinstance(reads, list):
            return [_digests.remote(request, reads)]
        counted: Any = _count.options(num_returns=self.rounds * self.partitions + 1)
        *tables, facts = counted.remote(
            request, reads, self.number, self.partitions, self.skipped, self.rounds
        )
        return [facts, *tables]

    def later(self) -> _Count:
        return self._replace(rounds=2 * self.rounds, skipped=self.skipped + self.rounds)


@dataclass
class _Group:
    """Tables of counts, as references, one for each partition.

    Attributes:
        tables: references to the tables.
        rows: number of rows of all tables.
        length: bytes of the pre-tokens of all tables.
        level: number of times that the counts have been merged.
        missing: number of partitions that are not merged yet.
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
    """A task that merges the tables of one partition.

    It divides the result into `parts` finer partitions, or at the positions `cuts`.
    """

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
    """Merges of the tables of counts as they arrive: a table is merged once per power of `FAN_IN`.

    If the tables of a partition are too large for a worker's memory, the task merges one part of
    the partition after the other, by more digits of the hash. These parts are partitions from then
    on. So tables stay small, however many are merged.
    """

    def __init__(self, partitions: int, memory: int) -> None:
        self.partitions = partitions
        self._memory = memory
        #: Groups by level and number of partitions.
        self._waiting: dict[tuple[int, int], list[_Group]] = {}
        #: Number of rows that each counting task has returned.
        self._rows: dict[int, int] = {}

    def _add(self, group: _Group) -> list[_Merge]:
        """Add a group, and return the merges to do now."""
        of = group.level, len(group.tables)
        pending = self._waiting.setdefault(of, [])
        pending.append(group)
        if len(pending) < FAN_IN:
            return []
        return self._merged(self._waiting.pop(of), self._parts(pending, of[1]))

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

    def counted(self, task: _Count, facts: _Facts, refs: list[Any]) -> list[_Merge]:
        """Take the tables of a counting task, and return the merges to do now."""
        merges = []
        for number, (rows, length) in enumerate(zip(facts.rows, facts.lengths, strict=True)):
            tables = refs[number * task.partitions : (number + 1) * task.partitions]
            merges += self._add(_Group(tables, rows, length))
            self._rows[task.number] = self._rows.get(task.number, 0) + rows
        return merges

    def merged(self, task: _Merge, facts: _Facts, refs: list[Any]) -> list[_Merge]:
        """Take the tables of a merge, and return the merges to do now."""
        into = task.into
        into.tables[task.partition :: task.partitions] = refs
        into.rows += sum(facts.rows)
        into.length += sum(facts.lengths)
        into.missing -= 1
        return [] if into.missing else self._add(into)

    @property
    def finest(self) -> int:
        """Largest number of partitions of any tables; after leveling, the number of all tables."""
        return max((partitions for _, partitions in self._waiting), default=self.partitions)

    def leveled(self) -> list[_Merge]:
        """Return the merges that give all tables the same partitions, small enough to be merged.

        The list is empty if they have them already.
        """
        groups = [group for some in self._waiting.values() for group in some]
        partitions = self.finest * self._parts(groups, self.finest)
        merges = []
        for of, some in list(self._waiting.items()):
            if of[1] < partitions:
                del self._waiting[of]
                merges += self._merged(some, partitions // of[1])
        return merges

    def last(self, min_count: int) -> Iterator[_Merge]:
        """Yield the last merge of each partition, cut into stretches of positions.

        Pre-tokens that occur fewer than `min_count` times are dropped.
        """
        groups = [group for some in self._waiting.values() for group in some]
        self._waiting.clear()
        cuts = _cuts(self._rows)
        for number in range(len(groups[0].tables) if groups else 0):
            tables = [group.tables[number] for group in groups]
            for group in groups:
                group.tables[number] = None
            yield _Merge(_Group([]), number, 1, 1, tables, min_count, cuts)


class _CountTables:
    """The tables of counts on the cluster: counting tasks, and the merges that they cause.

    Merges are urgent: they run before the counting tasks that are left.
    """

    def __init__(
        self,
        request: Any,
        shuffle: _Shuffle,
        counts: Iterator[_Count],
        processors: int,
        tell: OnEvent | None,
    ) -> None:
        self._request = request
        self._shuffle = shuffle
        self._counts = counts
        self._processors = processors
        self._tell = tell
        self._urgent: deque[_Count | _Merge] = deque()

    def __iter__(self) -> _CountTables:
        return self

    def __next__(self) -> _Count | _Merge:
        # A task can be added after the iterator has ended: `islice` in `run` asks again.
        return self._urgent.popleft() if self._urgent else next(self._counts)

    def run(self, tasks: Iterable[_Count | _Merge]) -> Iterator[tuple[Any, _Facts, list[Any]]]:
        """Run tasks; yield each with its facts and the references to its tables."""
        return run(
            tasks, lambda task: task.start(self._request), _name, self._processors, self._tell
        )

    def counted(self) -> Iterator[tuple[_Count, _Facts]]:
        """Run all tasks; yield the counting tasks that have read all of their input."""
        for task, facts, tables in self.run(self):
            if isinstance(task, _Merge):
                self._urgent += self._shuffle.merged(task, facts, tables)
                continue
            self._urgent += self._shuffle.counted(task, facts, tables)
            if facts.more:
                self._urgent.append(task.later())
            else:
                yield task, facts

    def level(self) -> None:
        """Merge until all tables have the same partitions."""
        while uneven := self._shuffle.leveled():
            self._urgent += uneven
            deque(self.counted(), maxlen=0)


def _name(task: _Count | _Merge) -> str:
    """Return what a task reads, for messages."""
    if isinstance(task, _Merge):
        return "the counts"
    reads = task.task.reads
    return joint_name([part for part, _ in reads]) if isinstance(reads, list) else reads.name


def parts_of_each(size: float, partitions: int, memory: int) -> int:
    """Return into how many parts each partition must be divided so that it can be merged.

    Args:
        size: bytes of all tables.
        partitions: number of partitions.
        memory: memory of a worker in bytes.

    Returns:
        A power of two.
    """
    parts = 1
    while size > parts * partitions * (memory // MERGED):
        parts *= 2
    return parts


def _cuts(rows: dict[int, int]) -> list[tuple[int, int]]:
    """Return the first positions of stretches with about equal numbers of rows.

    The first stretch, which begins with the first row, is left out.

    Args:
        rows: number of rows of each source.
    """
    total = sum(rows.values())
    count = min(total // _STRETCH + 1, _STRETCHES)
    sources = sorted(rows)
    row_ends = list(accumulate(rows[source] for source in sources))
    cuts = []
    for row in (total * number // count for number in range(1, count)):
        at = bisect_right(row_ends, row)
        cuts.append((sources[at], row - (row_ends[at] - rows[sources[at]])))
    return cuts


def _fetched(
    partitions: list[list[Any]], progress: Progress | None = None
) -> Iterator[list[pa.Table]]:
    """Yield the tables of all partitions for each stretch; references are released."""
    stretches = [list(some) for some in zip(*partitions, strict=True)][::-1]
    partitions.clear()
    total = len(stretches)
    while stretches:
        yield ray.get(stretches.pop())
        if progress:
            progress("collect", total - len(stretches), total)


@ray.remote(max_retries=RETRIES)
def _count(
    request: _Asked,
    reads: list[tuple[SourcePart, int]],
    number: int,
    partitions: int,
    skipped: int,
    rounds: int,
) -> Iterator[Any]:
    recipe, options, of = request
    assert options.memory is not None
    memory_limit = options.memory // COUNTED
    documents_before = 0
    rows: list[int] = []
    lengths: list[int] = []
    with at_home(of):
        for at, part_counts in enumerate(
            counting.count_parts(reads, recipe, options, memory_limit=memory_limit)
        ):
            counts, documents, size, digests = part_counts
            del part_counts
            if at == skipped + rounds:
                yield tried(_Facts(rows=rows, lengths=lengths, more=True))
                return
            start, documents_before = documents_before, documents_before + len(counts)
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
def _digests(request: _Asked, source: Source) -> TaskResult:
    recipe, options, of = request
    with at_home(of):
        return tried(_Facts(digests=[counting.source_digests(source, recipe, options)]))


@ray.remote(max_retries=RETRIES)
def _merge(
    min_count: int,
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
        if min_count > 1:
            merged = merged.filter(
                compute.greater_equal(merged["count"], min_count)
            ).combine_chunks()
        rows.append(merged.num_rows)
        lengths.append(_length(merged))
        positions = [_row_position(merged, *cut) for cut in cuts]
        for start, end in zip([0, *positions], [*positions, merged.num_rows], strict=True):
            yield merged.slice(start, end - start)
        del merged
    yield tried(_Facts(rows=rows, lengths=lengths))


def _length(table: pa.Table) -> int:
    """Return the bytes of all pre-tokens."""
    return sum(table_columns.text_column(chunk).size for chunk in table["pre_token"].chunks)


def _row_position(table: pa.Table, source: int, offset: int) -> int:
    """Return the index of the first row of a merged table at or after a position."""
    if not table.num_rows:
        return 0
    sources, offsets = (
        table_columns.numbers(table[name].chunk(0)).cast("Q") for name in ("source", "place")
    )
    start, end = bisect_left(sources, source), bisect_right(sources, source)
    return bisect_left(offsets, offset, start, end)


def dataset_source(dataset: ray.data.Dataset, text: str) -> Records:
    """Return the rows of a dataset, in its order, as a source of records.

    Args:
        dataset: the dataset.
        text: the column that holds the texts.
    """
    blocks = dataset.to_arrow_refs()
    name = "the dataset"

    def batches(numbers: Iterable[int]) -> Iterator[Batch]:
        row = 1
        for number in numbers:
            for batch in ray.get(blocks[number]).to_batches():
                column, *fields = table_columns.path_to(batch.schema, text, name)
                yield from table_columns.column_batches(
                    batch.column(column), fields, text, name, row
                )
                row += batch.num_rows

    def between(boundaries: Sequence[int], number: int) -> Iterator[Batch]:
        return batches(range(*boundaries[number : number + 2]))

    everything = list(range(len(blocks) + 1))
    return Records(
        name,
        dataset.size_bytes(),
        lambda: batches(everything[:-1]),
        lambda: 0,
        unit="row",
        splitter=lambda: Splitter(lambda _: everything, between, "blocks"),
    )
