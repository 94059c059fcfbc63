"""Estimates of the cost of counting on a cluster, from a sample of the texts.

The number of distinct pre-tokens grows with the text by Heaps' law (Herdan 1960, Heaps 1978): `k *
bytes ** beta`. The sample gives `k` and `beta`, and the seconds that this machine takes for a byte
or a pre-token. The machines of the cluster may be slower or faster.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tokctl.extras import arrow
from tokctl.extras.ray.counting import (
    COUNTED,
    FAN_IN,
    MEMORY,
    ROW,
    Cluster,
    parts_of_each,
    together,
)
from tokctl.extras.ray.tasks import connected
from tokctl.model import Recipe
from tokctl.sources import BLOCK_SIZE, Batch, Document, Records, Source, flat
from tokctl.sources.parts import SourcePart
from tokctl.training import counting, training
from tokctl.training.options import Timing, TrainOptions

#: Number of parts in the sample; bytes of text to read of each; and bytes as stored to read at
#: least of a source without parts, which may be compressed.
_SAMPLED = 16
_HEAD = 2 << 20
_PACKED = 3 * BLOCK_SIZE

#: Measured bytes: of a worker's process, of a row while it is counted, and of each byte of a table
#: while it is merged.
_PROCESS = 64 << 20
_COUNTING = 250
_MERGING = 8

#: Bytes of a row in the counter's table when the table is sparse.
_SLOT = 64

#: Seconds that Ray takes to start a task and to hand over its results, measured.
_TASK = 0.005


@dataclass(frozen=True)
class Costs:
    """Costs found with a sample, in seconds of one processor.

    Attributes:
        k: factor of Heaps' law: n bytes have `k * n ** beta` distinct pre-tokens.
        beta: exponent of Heaps' law, from 0 to 1.
        length: mean number of bytes of a distinct pre-token.
        expansion: bytes of text for each byte as stored: above 1 for compressed texts.
        count: seconds to count a byte of text.
        digest: seconds for the digest of a byte of text.
        merge: seconds to merge a row of a table.
        collect: seconds to read a distinct pre-token of the merged counts in the calling process.
        train: seconds of training for each distinct pre-token.
        task: seconds to start a task.
    """

    k: float
    beta: float
    length: float
    expansion: float
    count: float
    digest: float
    merge: float
    collect: float
    train: float
    task: float = _TASK

    def distinct(self, size: float) -> float:
        """Return the estimated number of distinct pre-tokens of `size` bytes of text."""
        return min(self.k * float(size**self.beta), size)


@dataclass(frozen=True)
class Plan:
    """Estimated work of counting and training.

    Attributes:
        tasks: number of counting tasks; tasks for digests and merges are extra.
        bytes: bytes of text.
        workers: number of workers.
        distinct: number of distinct pre-tokens before any is dropped.
        partitions: number of partitions of the counts in the last merge.
        worker_memory: bytes that a worker takes, which `--memory` limits; without the object store,
            which the workers of a node share.
        shuffled: bytes of counts that are sent from one task to another.
        final_memory: bytes of the merged counts in the calling process.
        seconds: seconds of each step: `count`, `digest` and `merge` are shared by the workers;
            `collect` and `train` run on one machine.
    """

    tasks: int
    bytes: float
    workers: int
    distinct: float
    partitions: int
    worker_memory: float
    shuffled: float
    final_memory: float
    seconds: dict[str, float]


def plan(
    cluster: Cluster, sources: Sequence[Source], recipe: Recipe, options: TrainOptions
) -> tuple[Costs, Plan]:
    """Estimate the cost of `Cluster.count` and of the training after it.

    A sample is counted, and trained on, on this machine.

    Args:
        cluster: the cluster; it is connected to find its number of processors.
        sources: the texts.
        recipe: normalizer, pre-tokenizer and algorithm.
        options: options of the training.

    Returns:
        The costs found with the sample, and the estimate.

    Raises:
        TokctlError: as a training.
    """
    counting.check_parts(recipe, options)
    parts = cluster.parts(sources)
    every = [part for some in parts for part in some]
    with connected(cluster.address) as workers:
        costs = measure(every, recipe, options)
    cut = [some[0].source.size or 0 for some in parts if some[0].boundaries]
    size = sum(source.size or 0 for source in sources) * costs.expansion
    return costs, planned(
        costs,
        tasks=sum(1 for _ in together(parts, [1] * len(parts), cluster.part_size)),
        size=size,
        longest=max(cut, default=0),
        workers=workers,
        memory=options.memory or MEMORY,
        partitions=cluster.partitions,
    )


def planned(
    costs: Costs,
    *,
    tasks: int,
    size: float,
    longest: float,
    workers: int,
    memory: int = MEMORY,
    partitions: int | None = None,
) -> Plan:
    """Return the estimated work for a number of tasks and workers.

    Args:
        costs: costs found with a sample.
        tasks: number of counting tasks.
        size: bytes of text.
        longest: bytes of the longest source that is read in parts; one task reads all of it for its
            digest.
        workers: number of workers.
        memory: memory of a worker in bytes.
        partitions: number of partitions of the counts; None: the number of workers, at most 64.
    """
    row = costs.length + ROW
    shared = min(workers, max(tasks, 1))
    # In a round, a task counts until its memory is full.
    rounds = math.ceil(costs.distinct(size / max(tasks, 1)) * _SLOT * COUNTED / memory)
    tables = max(tasks * rounds, 1)
    table_size = size / tables
    counting = costs.distinct(table_size) * max(_COUNTING, row)
    rows = merging = 0.0
    partitions = partitions or min(workers, 64)
    while tables > 1:
        merged = min(tables, FAN_IN)
        table_entries = merged * costs.distinct(table_size)
        parts = parts_of_each(table_entries * row, partitions, memory)
        # While a table is divided, a 64-bit number for each row stays in memory.
        numbers = 8 * table_entries / partitions if parts > 1 else 0.0
        merging = max(merging, table_entries * row / partitions / parts * _MERGING + numbers)
        rows += tables * costs.distinct(table_size)
        partitions *= parts
        tables, table_size = math.ceil(tables / FAN_IN), table_size * FAN_IN
    distinct = costs.distinct(size)
    return Plan(
        tasks,
        size,
        workers,
        distinct,
        partitions,
        _PROCESS + max(counting, merging),
        (rows + distinct) * row,
        distinct * (costs.length + 16),
        {
            "count": (size * costs.count + tasks * costs.task) / shared,
            "digest": max(longest * costs.digest, size * costs.digest / shared if longest else 0),
            "merge": rows * costs.merge / shared,
            "collect": distinct * costs.collect,
            "train": distinct * costs.train,
        },
    )


def measure(parts: Sequence[SourcePart], recipe: Recipe, options: TrainOptions) -> Costs:
    """Count a sample of the parts on this machine, train on it, and return the costs.

    Args:
        parts: parts of all sources.
        recipe: normalizer, pre-tokenizer and algorithm.
        options: options of the training.

    Raises:
        TokctlError: as a training.
    """
    local_options = replace(options, threads=1, weights={}, extend=None)
    step = max(1, len(parts) // _SAMPLED)
    heads = [_Head(part) for part in parts[::step][:_SAMPLED]]
    half_count, half_documents = counting.count(
        [head.first(2) for head in heads], recipe, local_options
    )
    timing = Timing()
    counts, read = counting.count([head.first(1) for head in heads], recipe, local_options)
    timing.lap("count")
    for head in heads:
        hashlib.sha256(b"".join(head.texts)).digest()
    timing.lap("digest")
    size, distinct = max(read.bytes, 1), max(len(counts), 1)
    text = arrow.table_of_counts(counts, 0)
    timing.lap("")  # not counted: the import of pyarrow
    arrow.merge_counts([text, arrow.table_of_counts(half_count, 1)])
    timing.lap("merge")
    some = arrow.partition_counts(text, 16)
    timing.lap("")
    arrow.collected([some], len(counts), text["pre_token"].nbytes)
    timing.lap("collect")
    training.fill(counts, read, recipe, replace(options, extend=None), None, Timing())
    timing.lap("train")
    beta = 1.0
    if size > half_documents.bytes > 0 and len(half_count):
        beta = math.log(distinct / len(half_count)) / math.log(size / half_documents.bytes)
    beta = min(max(beta, 0.0), 1.0)
    bytes_taken = sum(head.taken for head in heads)
    return Costs(
        k=distinct / size**beta,
        beta=beta,
        length=text["pre_token"].nbytes / distinct - 8,
        expansion=size / bytes_taken if bytes_taken else 1.0,
        count=timing.seconds["count"] / size,
        digest=timing.seconds["digest"] / size,
        merge=timing.seconds["merge"] / (distinct + len(half_count)),
        collect=timing.seconds["collect"] / distinct,
        train=timing.seconds["train"] / distinct,
    )


class _Head:
    """Beginning of a part, in memory.

    Attributes:
        texts: blocks of a text, or records.
        taken: bytes as stored that were read for it.
    """

    def __init__(self, part: SourcePart) -> None:
        self._source = source = next(flat([part.source]))
        self.texts: list[bytes] = []
        self.taken = size = 0
        for some in _texts(source, part):
            self.texts += some
            size += sum(map(len, some))
            self.taken = size if part.boundaries or not source.tell else source.tell()
            # A compressed source is read in blocks, which expand to more text.
            if size >= _HEAD and (part.boundaries or self.taken >= _PACKED):
                break

    def first(self, share: int) -> Source:
        """Return a source with the first 1 / `share` of the texts."""
        name = self._source.name
        if isinstance(self._source, Document):
            data = b"".join(self.texts)
            data = data[: len(data) // share]
            return Document(name, None, lambda: iter([data]))
        texts = self.texts[: len(self.texts) // share]
        return Records(name, None, lambda: iter([Batch(texts)]), lambda: 0)


def _texts(source: Document | Records, part: SourcePart) -> Iterator[Sequence[bytes]]:
    """Yield the blocks of a part's text, or the texts of its records."""
    found: Any
    if isinstance(source, Document):
        found = source.blocks()
        if part.boundaries and source.splitter:
            # Cutting at a space is good enough for a sample: a single pre-token does not matter.
            between = source.splitter().read(part.boundaries, part.number, _behind_space)
            found = between.blocks()
        yield from ([block] for block in found)
        return
    found = source.batches()
    if part.boundaries and source.splitter:
        found = source.splitter().read(part.boundaries, part.number)
    yield from (batch.texts for batch in found)


def _behind_space(stretch: bytes) -> int | None:
    return stretch.find(b" ") + 1 or None
