"""tokctl on Ray (https://ray.io): a cluster counts and encodes, with the bytes that one machine gives.

    import tokctl.ray

    tokenizer = tokctl.ray.train("corpus/", vocab_size=50_000)
    dataset = tokctl.ray.encode(ray.data.read_parquet("corpus/"), tokenizer)

Texts are cut into parts: files, stretches of long ones, row groups, blocks of a dataset. Each is
counted by a task, which gives its counts in partitions by a hash of the pre-token; others merge
them, partition by partition. A pre-token's place of first occurrence goes along, so that the merged
counts have the order in which one machine would have seen them, and the training, which runs
where it was called, gives the same file. Tasks depend on nothing but their input: one that is lost
with its worker or its node is run again by Ray.

Every node needs tokctl, and must find the texts at the same paths or addresses.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokctl import arrow
from tokctl.errors import TokctlError
from tokctl.sources import Batch, Records, Source, tables, total_size
from tokctl.sources.document import Places
from tokctl.sources.parts import Part, parts_of
from tokctl.tokenizer import Tokenizer
from tokctl.training import Options, counting
from tokctl.training.counting import Progress, TextStats
from tokctl.values import available_threads, brief

if TYPE_CHECKING:
    import pyarrow as pa

    from tokctl import _native
    from tokctl.idfiles.writer import ChunkStream, Target, Written
    from tokctl.model import Recipe

try:
    import ray
except ImportError as error:
    raise TokctlError("the engine ray needs Ray", "pip install 'tokctl[ray]'") from error

__all__ = ["Cluster", "encode", "train"]

#: Bytes of text in a part. A task takes some milliseconds to start, and about a second for these.
PART_SIZE = 128 << 20

#: So many tables of a partition are merged at a time.
_FAN_IN = 16

#: Tasks that wait for a worker, for each of the cluster's processors.
_AHEAD = 3

#: A task whose worker or node is lost is run again so many times.
_RETRIES = 10


def train(
    data: Any, *, text: str = "text", cluster: Cluster | None = None, **options: Any
) -> Tokenizer:
    """Trains on paths or addresses, or on a `ray.data.Dataset`: as `Tokenizer.train` does on one
    machine, with the same bytes.

    Args:
        data: as `Tokenizer.train` takes sources; or a dataset, whose rows are read in its order.
        text: the column of a dataset that holds the texts.
        cluster: None: `Cluster()`.
        options: those of `Tokenizer.train`. `memory` is that of a worker's tables; `sample` can't be
            had, nor an algorithm that reads the texts twice (BoundlessBPE).

    Raises:
        TokctlError: as `Tokenizer.train`; a cluster that can't be reached; a part whose worker
            died again and again.
    """
    if isinstance(data, ray.data.Dataset):
        data = dataset_source(data, text)
    return Tokenizer.train(data, engine=cluster or Cluster(), **options)


def encode(
    dataset: ray.data.Dataset, model: Tokenizer | str | Path, text: str = "text", **options: Any
) -> ray.data.Dataset:
    """The dataset with ids: `tokctl.arrow.encode_table` of each of its blocks, when it is read.

    Args:
        model: a path is read once by each worker, where it must lead to the same file.
        options: those of `encode_table`.
    """
    given = {"model": model, "text": text, **options}
    return dataset.map_batches(
        arrow.encode_table, batch_format="pyarrow", batch_size=None, fn_kwargs=given
    )


@dataclass(frozen=True)
class Cluster:
    """Counts texts on Ray, for `Tokenizer.train(…, engine=…)`.

    Attributes:
        address: `ray://HOST:PORT`, `HOST:PORT` or `auto`, as `ray.init` takes it. None: the cluster
            that is connected; else what RAY_ADDRESS names; else one is started on this machine, and
            ended when the work is done.
        part_size: bytes of text in a task, about.
        partitions: of the counts; None: as many as the cluster has processors, up to 64.
    """

    address: str | None = None
    part_size: int = PART_SIZE
    partitions: int | None = None

    def __post_init__(self) -> None:
        for name in ("part_size", "partitions"):
            value = getattr(self, name)
            if value is not None and not (type(value) is int and value > 0):
                raise TokctlError(f"{name} can't be {brief(value)}", "it is a number from 1 up")

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
        for source in sources:
            _check_portable(source)
        tasks = []
        for number, source in enumerate(sources):
            parts = parts_of(source, self.part_size)
            # First, because nobody shares it.
            if len(parts) > 1:
                tasks.append(_Task(source.name, number, source, 0))
            weight = int(weights[number] * scale) if weights else 1
            tasks += [_Task(source.name, number, part, weight) for part in parts]
        total = total_size(sources)
        with _connected(self.address):
            processors = int(ray.cluster_resources().get("CPU", 1))
            gathered = _Tables(self.partitions or min(processors, 64))
            # Once, not with each task.
            asked = ray.put((recipe, replace(options, extend=None, weights={}), str(Path.cwd())))
            digests: list[list[str]] = [[] for _ in sources]
            documents = size = done = 0
            start = partial(_start, asked, gathered.partitions)
            for task, facts, found in _run(enumerate(tasks), start, _AHEAD * processors):
                documents += facts.documents
                size += facts.bytes
                digests[task.source] += facts.digests
                gathered.add(found)
                if progress and isinstance(task.reads, Part):
                    done += task.reads.size or 0
                    progress("count", done, total)
            counts = arrow.counts_from_table(gathered.merged(least))
        digest = counting.digest_of([digest for some in digests for digest in some])
        return counts, TextStats(documents, size, digest, tuple(weights), scale)

    def write_shards(self, stream: ChunkStream, target: Target) -> Written:
        """Writes shards on the cluster, for `tokctl.idfiles.write(…, engine=…)`: see
        `tokctl.ray_shards.write_shards`."""
        from tokctl.ray_shards import write_shards

        return write_shards(stream, target, self)


class _Task(NamedTuple):
    """What a task reads: a part, whose occurrences count `weight` times each; or a source, for its
    digest.

    name, source: the name of the source, and its number.
    """

    name: str
    source: int
    reads: Part | Source
    weight: int


class _Facts(NamedTuple):
    """What a task has read: see `counting.PartCounts`."""

    documents: int = 0
    bytes: int = 0
    digests: Sequence[str] = ()


def _start(asked: Any, partitions: int, task: tuple[int, _Task]) -> list[Any]:
    """Starts a task; references to its facts, then to its tables."""
    number, (name, _, reads, weight) = task
    if isinstance(reads, Part):
        task_of = _count.options(num_returns=1 + partitions, name=f"count {name}")
        return task_of.remote(asked, reads, weight, number, partitions)
    return [_digests.options(name=f"digest {name}").remote(asked, reads)]


def _run(
    tasks: Iterable[tuple[int, _Task]],
    start: Callable[[tuple[int, _Task]], list[Any]],
    most: int,
) -> Iterator[tuple[_Task, _Facts, list[Any]]]:
    """Each task as it ends, with its facts and the references to its tables; up to `most` are
    on their way at a time, so that nothing piles up."""
    running: dict[Any, tuple[_Task, list[Any]]] = {}
    waiting = iter(tasks)
    try:
        while True:
            for task in islice(waiting, most - len(running)):
                first, *tables = start(task)
                running[first] = task[1], tables
            if not running:
                return
            (done,), _ = ray.wait(list(running), num_returns=1)
            ended, tables = running.pop(done)
            with _explained(ended.name):
                facts = ray.get(done)
            yield ended, facts, tables
    finally:
        # Where the connection ends with the work, the tasks do, too. And cancelling one that ends at
        # that moment can abort this process (github.com/ray-project/ray/pull/54527).
        if not _own_connection:
            for reference in running:
                ray.cancel(reference, force=True)


class _Tables:
    """Tables of counts, a list of references for each partition, merged as they come.

    A table is merged once for each power of `_FAN_IN` in the number of tables.
    """

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        #: By how often they have been merged.
        self._levels: list[list[list[Any]]] = [[]]

    def add(self, tables: list[Any], level: int = 0) -> None:
        if not tables:
            return
        if level == len(self._levels):
            self._levels.append([])
        self._levels[level].append(tables)
        if len(self._levels[level]) == _FAN_IN:
            some, self._levels[level] = self._levels[level], []
            self.add([_merge.remote(1, *each) for each in zip(*some, strict=True)], level + 1)

    def merged(self, least: int) -> pa.Table:
        """What occurs at least so often."""
        rest = [tables for level in self._levels for tables in level]
        with _explained("the counts"):
            merged = ray.get([_merge.remote(least, *each) for each in zip(*rest, strict=True)])
        return arrow.merge_counts(merged)


@ray.remote(max_retries=_RETRIES)
def _count(
    asked: tuple[Recipe, Options, str], part: Part, weight: int, number: int, partitions: int
) -> list[Any]:
    recipe, options, folder = asked
    with _at_home(folder):
        counted = counting.count_part(part, recipe, options, weight)
    facts = _Facts(counted.documents, counted.bytes, counted.digests or ())
    table = arrow.table_of_counts(counted.counts, number)
    return [facts, *arrow.partition_counts(table, partitions)]


@ray.remote(max_retries=_RETRIES)
def _digests(asked: tuple[Recipe, Options, str], source: Source) -> _Facts:
    recipe, options, folder = asked
    with _at_home(folder):
        return _Facts(digests=counting.digests_of(source, recipe, options))


@ray.remote(max_retries=_RETRIES)
def _merge(least: int, *tables: pa.Table) -> pa.Table:
    merged = arrow.merge_counts(tables)
    if least == 1:
        return merged
    from pyarrow import compute

    return merged.filter(compute.greater_equal(merged["count"], least))


@contextlib.contextmanager
def _at_home(folder: str) -> Iterator[None]:
    """In the folder of whoever asked, for relative paths; errors as Python can send them."""
    try:
        with contextlib.chdir(folder) if Path(folder).is_dir() else contextlib.nullcontext():
            yield
    except TokctlError as error:
        raise TokctlError(error.message, error.hint, error.exit_code) from None


@contextlib.contextmanager
def _explained(name: str) -> Iterator[None]:
    """What a task raised, as it raised it; TokctlError where its workers died."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TokctlError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise TokctlError(
            f"{name}: its worker was lost {_RETRIES + 1} times: {reason}",
            "see `ray status`; smaller parts take less memory",
        ) from None


#: Was it made by `_connected`?
_own_connection = False


@contextlib.contextmanager
def _connected(address: str | None) -> Iterator[None]:
    """The cluster is there; one that was started for this is ended."""
    global _own_connection
    if ray.is_initialized():
        if address is not None:
            raise TokctlError(
                f"this process is connected to a cluster already, and can't go to {address}",
                "leave the address out, or call ray.shutdown() before",
            )
        yield
        return
    # Its own reports to its makers; and a warning about graphics cards.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    own: dict[str, Any] = {}
    if address is None and "RAY_ADDRESS" not in os.environ:
        own = {"num_cpus": available_threads(), "include_dashboard": False}
    try:
        ray.init(address, log_to_driver=False, logging_level="ERROR", **own)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise TokctlError(
            f"can't reach the cluster {address or 'of Ray'}: {reason or type(error).__name__}",
            "see `ray status`; an address is HOST:PORT, ray://HOST:PORT or auto",
        ) from None
    _own_connection = True
    try:
        yield
    finally:
        _own_connection = False
        ray.shutdown()


def _check_portable(source: Source) -> None:
    """TokctlError for what other processes can't open."""
    try:
        ray.cloudpickle.dumps(source)
    except Exception:
        raise TokctlError(
            f"{source.name} can't be read by the workers of a cluster",
            "put the text into a file where each of them finds it",
        ) from None


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
        places=lambda: Places(lambda _: everything, between),
    )
