"""Counting on Ray, for a training.

Texts are cut into parts: files, stretches of long ones, row groups, blocks of a dataset. Each is
counted by a task, which gives its counts in partitions by a hash of the pre-token; others merge
them, partition by partition. A pre-token's place of first occurrence goes along, so that the merged
counts have the order in which one machine would have seen them, and the training, which runs
where it was called, gives the same file. Tasks depend on nothing but their input: one that is lost
with its worker or its node is run again by Ray.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
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
from tokctl.sources import Batch, Records, Source, tables, total_size
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

#: What every task needs: recipe, options, and who asks.
_Asked = tuple["Recipe", Options, Home]


@dataclass(frozen=True)
class Cluster:
    """Counts texts on Ray, for `Tokenizer.train(…, engine=…)`, and writes shards, for
    `tokctl.idfiles.write(…, engine=…)`.

    Attributes:
        address: `ray://HOST:PORT`, `HOST:PORT` or `auto`, as `ray.init` takes it. None: the cluster
            that is connected; else what RAY_ADDRESS names; else one is started on this machine, and
            ended when the work is done.
        part_size: bytes of text in a task, about.
        partitions: of the counts; None: as many as the cluster has processors, up to 64.
        tell: called with a line for each task that was done again, as its worker was lost.
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
        with connected(self.address) as processors:
            partitions = self.partitions or min(processors, 64)
            gathered = _Tables()
            # Once, not with each task.
            asked = ray.put((recipe, replace(options, extend=None, weights={}), home()))

            def start(numbered: tuple[int, _Task]) -> list[Any]:
                number, task = numbered
                if not isinstance(task.reads, list):
                    return [_digests.remote(asked, task.reads)]
                counted: Any = _count.options(num_returns=1 + partitions)
                given: list[Any] = counted.remote(asked, task.reads, number, partitions)
                return given

            def name(numbered: tuple[int, _Task]) -> str:
                reads = numbered[1].reads
                return named([part for part, _ in reads]) if isinstance(reads, list) else reads.name

            ran = run(enumerate(tasks), start, name, processors, self.tell)
            for (_, task), facts, found in ran:
                documents += facts.documents
                size += facts.bytes
                for source, some in zip(task.sources, facts.digests, strict=True):
                    digests[source] += some
                if not isinstance(task.reads, list):
                    continue
                gathered.add(found)
                done += sum(part.size or 0 for part, _ in task.reads)
                if progress:
                    progress("count", Done(done, documents), total)
            counts = arrow.counts_from_table(gathered.merged(least, progress))
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


class _Facts(NamedTuple):
    """What a task has read: see `counting.PartCounts`."""

    documents: int = 0
    bytes: int = 0
    digests: Sequence[Sequence[str]] = ()


class _Tables:
    """Tables of counts, as references, one for each partition; they are merged as they come.

    A table is merged once for each power of `FAN_IN` in the number of tables.
    """

    def __init__(self) -> None:
        #: By how often they have been merged.
        self._levels: list[list[list[Any]]] = []

    def add(self, tables: list[Any], level: int = 0) -> None:
        if level == len(self._levels):
            self._levels.append([])
        self._levels[level].append(tables)
        if len(self._levels[level]) == FAN_IN:
            some, self._levels[level] = self._levels[level], []
            self.add([_merge.remote(1, *each) for each in zip(*some, strict=True)], level + 1)

    def merged(self, least: int, progress: Progress | None = None) -> list[pa.Table]:
        """One for each partition, without what occurs less often than that."""
        rest = [tables for level in self._levels for tables in level]
        merged = waiting = [_merge.remote(least, *each) for each in zip(*rest, strict=True)]
        found = []
        with explained("the counts"):
            while waiting:
                _, waiting = ray.wait(waiting, num_returns=1)
                if progress:
                    progress("merge-counts", len(merged) - len(waiting), len(merged))
            for one in merged:
                found.append(ray.get(one))
                if progress:
                    progress("collect", len(found), len(merged))
        return found


@ray.remote(max_retries=RETRIES)
def _count(
    asked: _Asked, reads: list[tuple[SourcePart, int]], number: int, partitions: int
) -> list[Any]:
    recipe, options, of = asked
    with at_home(of):
        counted = counting.count_parts(reads, recipe, options)
    facts = _Facts(counted.documents, counted.bytes, counted.digests)
    table = arrow.table_of_counts(counted.counts, number)
    return [tried(facts), *arrow.partition_counts(table, partitions)]


@ray.remote(max_retries=RETRIES)
def _digests(asked: _Asked, source: Source) -> Tried:
    recipe, options, of = asked
    with at_home(of):
        return tried(_Facts(digests=[counting.digests_of(source, recipe, options)]))


@ray.remote(max_retries=RETRIES)
def _merge(least: int, *tables: pa.Table) -> pa.Table:
    from pyarrow import compute

    merged = arrow.merge_counts(tables)
    if least == 1:
        return merged
    return merged.filter(compute.greater_equal(merged["count"], least))


def dataset_source(dataset: ray.data.Dataset, text: str) -> Records:
    """The rows of a dataset, in its order, as records."""
    blocks = dataset.to_arrow_refs()
    name = "the dataset"

    def batches(numbers: Iterable[int]) -> Iterator[Batch]:
        row = 1
        for number in numbers:
            for batch in ray.get(blocks[number]).to_batches():
                first, *below = tables.path_to(batch.schema, text, name)
                yield from tables.column_batches(batch.column(first), below, text, name, row)
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
