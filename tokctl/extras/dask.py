"""tokctl on Dask (https://dask.org): `tokctl.extras.arrow` on the partitions of a DataFrame.

    import dask.dataframe
    import tokctl.extras.dask
    from tokctl import Tokenizer
    from tokctl.extras import arrow

    frame = dask.dataframe.read_parquet("corpus/")
    counts = arrow.counts_from_table(tokctl.extras.dask.count(frame, "bpe").compute())
    Tokenizer.train(counts, vocab_size=50_000).save("m.json")
    encoded = tokctl.extras.dask.encode(frame, "m.json")

Every worker needs tokctl and pyarrow.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from tokctl.core.errors import Unsupported
from tokctl.extras import arrow
from tokctl.model import Recipe
from tokctl.tokenizer import Tokenizer

try:
    import dask
    import pandas as pd
    import pyarrow as pa
except ImportError as error:
    raise Unsupported(
        "tokctl.extras.dask needs Dask",
        "pip install 'dask[dataframe]', which has pandas and pyarrow",
        "missing-package",
    ) from error

if TYPE_CHECKING:
    from dask.dataframe import DataFrame
    from dask.delayed import Delayed

__all__ = ["count", "encode"]

#: The number of tables of counts that are merged at a time.
_FAN_IN = 16


def encode(
    frame: DataFrame,
    model: Tokenizer | str | os.PathLike[str],
    text: str = "text",
    **options: Any,
) -> DataFrame:
    """Return the frame with two more columns: the ids of each text, and the number of ids.

    `tokctl.extras.arrow.encode_table` computes the columns when they are needed. Both have pandas'
    Arrow types, so no Python object is created for each id.

    Args:
        frame: the texts.
        model: a tokenizer or a path. A path is read once in each process, and must lead to the same
            file everywhere.
        text: the column of the texts.
        options: further options of `encode_table`.

    Raises:
        TokctlError: see `encode_table`. Errors in a text are raised when the columns are computed,
            and name the partition, from 0, and the row in the partition; all others at once.
    """
    arguments = {"model": model, "text": text, **options}
    return frame.map_partitions(_encoded, meta=_encoded(frame._meta, **arguments), **arguments)


def count(
    frame: DataFrame,
    recipe: Recipe | Tokenizer | str | os.PathLike[str] = "bpe",
    text: str = "text",
    **options: Any,
) -> Delayed:
    """Count the pre-tokens; return a delayed table, as `tokctl.extras.arrow.merge_counts` does.

    Partitions are counted separately, and their tables are merged in a tree. `source` is the number
    of the partition. Pass the computed table to `tokctl.extras.arrow.counts_from_table`.

    Args:
        frame: the texts.
        recipe: the normalizer and pre-tokenizer to use, as in `tokctl.extras.arrow.count_table`.
        text: the column of the texts.
        options: further options of `count_table`.

    Raises:
        TokctlError: see `count_table`; at the same moments as in `encode`.
    """
    arguments = {"recipe": recipe, "text": text, **options}
    _counted(frame._meta, **arguments)
    # A partition is counted where it is read, so only tables of counts move between workers.
    meta = pd.Series([], dtype=object)
    counted = frame.map_partitions(_counted, meta=meta, enforce_metadata=False, **arguments)
    tables = counted.to_delayed()
    merge = dask.delayed(arrow.merge_counts, pure=True)
    while len(tables) > 1:
        tables = [merge(tables[at : at + _FAN_IN]) for at in range(0, len(tables), _FAN_IN)]
    return tables[0]


def _encoded(
    part: pd.DataFrame,
    *,
    text: str,
    ids: str = "ids",
    count: str = "count",
    partition_info: dict[str, Any] | None = None,
    **options: Any,
) -> pd.DataFrame:
    with _in_partition(partition_info):
        table = arrow.encode_table(
            _columns(part, text, ids, count), text=text, ids=ids, count=count, **options
        )
    columns = {name: pd.arrays.ArrowExtensionArray(table[name]) for name in (ids, count)}
    return part.assign(**columns)


def _counted(
    part: pd.DataFrame, *, text: str, partition_info: dict[str, Any] | None = None, **options: Any
) -> pa.Table:
    number = partition_info["number"] if partition_info else 0
    with _in_partition(partition_info):
        return arrow.count_table(_columns(part, text), text=text, source=number, **options)


def _columns(part: pd.DataFrame, text: str, *others: str) -> pa.Table:
    """Return the needed columns of a partition; Arrow may have no type for the others."""
    names = {text, text.partition(".")[0]}
    if names.isdisjoint(part.columns):
        names = set(part.columns)  # the error lists them
    frame = part.loc[:, [name for name in part.columns if name in names.union(others)]]
    return pa.Table.from_pandas(frame, preserve_index=False)


def _in_partition(info: dict[str, Any] | None) -> AbstractContextManager[None]:
    return arrow.in_part(f"partition {info['number']}") if info else nullcontext()
