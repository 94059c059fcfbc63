"""tokctl on Apache Spark (https://spark.apache.org), version 4.0 or later.

The functions apply `tokctl.extras.arrow` with `mapInArrow` and `applyInArrow`.

    import tokctl.extras.spark
    from tokctl import Tokenizer
    from tokctl.extras import arrow

    frame = spark.read.parquet("corpus/")
    counts = arrow.counts_from_table(tokctl.extras.spark.count(frame, "bpe").toArrow())
    Tokenizer.train(counts, vocab_size=50_000).save("m.json")
    encoded = tokctl.extras.spark.encode(frame, "m.json")

Every worker needs tokctl and pyarrow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokctl.core.errors import Unsupported
from tokctl.extras import arrow
from tokctl.model import Recipe
from tokctl.sources import tables
from tokctl.tokenizer import Tokenizer

try:
    import pyarrow as pa
    from pyspark import TaskContext
    from pyspark.sql import types
except ImportError as error:
    raise Unsupported(
        "tokctl.extras.spark needs pyspark", "pip install pyspark pyarrow", "missing-package"
    ) from error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["count", "encode"]

#: The most rows that are sent to Spark at a time.
_ROWS = 1 << 16

#: The columns of counts in Spark's types, which include no unsigned numbers.
_COUNTS = "pre_token binary, count bigint, source bigint, place bigint"
_COUNT_TYPES = {
    "pre_token": pa.binary(),
    "count": pa.int64(),
    "source": pa.int64(),
    "place": pa.int64(),
}


def encode(
    frame: DataFrame,
    model: Tokenizer | str | os.PathLike[str],
    text: str = "text",
    *,
    ids: str = "ids",
    count: str = "count",
    **options: Any,
) -> DataFrame:
    """Return the frame with two more columns: the ids of each text, and the number of ids.

    `tokctl.extras.arrow.encode_table` computes the columns when they are needed. Their types are
    `array<int>`, because Spark has no `uint32`, and `bigint`.

    Args:
        frame: the texts.
        model: a tokenizer or a path. A path is read once in each Python worker, and must lead to
            the same file everywhere.
        text: the column of the texts.
        ids: the name of the new column of ids.
        count: the name of the new column of counts.
        options: further options of `encode_table`.

    Raises:
        TokctlError: see `encode_table`. For an error in a text, Spark raises an exception when the
            columns are computed, which names the partition, from 0, and the row in the partition.
    """
    options = {"text": text, "ids": ids, "count": count, **options}
    arrow.encode_table(frame.limit(0).toArrow(), model, **options)
    fields = {field.name: field for field in frame.schema.fields}
    for name, kind in ((ids, types.ArrayType(types.IntegerType())), (count, types.LongType())):
        fields[name] = types.StructField(name, kind)
    schema = types.StructType(list(fields.values()))

    def encoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        row_count = 0
        for batch in batches:
            with arrow.in_part(f"partition {_partition()}, behind {row_count} rows"):
                table = arrow.encode_table(batch, model, **options)
            yield from _batches(table, {ids: pa.list_(pa.int32())})
            row_count += len(batch)

    return frame.mapInArrow(encoded, schema)


def count(
    frame: DataFrame,
    recipe: Recipe | Tokenizer | str | os.PathLike[str] = "bpe",
    text: str = "text",
    *,
    partitions: int = 64,
    **options: Any,
) -> DataFrame:
    """Count the pre-tokens; return rows like those of `tokctl.extras.arrow.merge_counts`, unsorted.

    The columns are `pre_token`, `count`, `source` (the number of the frame's partition) and
    `place`. Pass `toArrow()` of the result to `tokctl.extras.arrow.counts_from_table`. First-seen
    order is the order of the frame's partitions; `frame.orderBy(…)` changes it.

    Args:
        frame: the texts.
        recipe: the normalizer and pre-tokenizer to use, as in `tokctl.extras.arrow.count_table`.
        text: the column of the texts.
        partitions: the number of partitions of the counts, by a hash of the pre-token. Each
            partition is merged in the memory of one worker.
        options: further options of `count_table`.

    Raises:
        TokctlError: see `count_table`; at the same moments as in `encode`.
    """
    nothing = frame.limit(0).toArrow()
    arrow.partition_counts(arrow.count_table(nothing, recipe, text, **options), partitions)
    column = nothing.column_names[tables.path_to(nothing.schema, text, "the table")[0]]

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            reader = pa.RecordBatchReader.from_batches(batch.schema, chain([batch], batches))
            with arrow.in_part(f"partition {_partition()}"):
                table = arrow.count_table(reader, recipe, text, source=_partition(), **options)
            for number, part in enumerate(arrow.partition_counts(table, partitions)):
                numbers = pa.repeat(pa.scalar(number, pa.int32()), len(part))
                yield from _batches(part.append_column("part", numbers), _COUNT_TYPES)

    def merged(part: pa.Table) -> pa.Table:
        return pa.Table.from_batches(_batches(arrow.merge_counts([part]), _COUNT_TYPES))

    counts = frame.select(f"`{column}`").mapInArrow(counted, f"{_COUNTS}, part int")
    return counts.groupBy("part").applyInArrow(merged, _COUNTS)


def _partition() -> int:
    """Return the number of the partition that this task works on."""
    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _batches(table: pa.Table, kinds: dict[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
    """Yield a table in batches of `_ROWS` rows, with the columns in `kinds` cast to their types."""
    fields = [field.with_type(kinds.get(field.name, field.type)) for field in table.schema]
    for batch in table.to_batches(max_chunksize=_ROWS):
        yield from pa.Table.from_batches([batch]).cast(pa.schema(fields)).to_batches()
