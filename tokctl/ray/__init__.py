"""tokctl on Ray (https://ray.io): a cluster counts and encodes, and gives the same bytes.

    import tokctl.ray

    tokenizer = tokctl.ray.train("corpus/", vocab_size=50_000)
    dataset = tokctl.ray.encode(ray.data.read_parquet("corpus/"), tokenizer)

Every node needs tokctl, and must find the texts at the same paths or addresses.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokctl import arrow
from tokctl.errors import TokctlError
from tokctl.model import Recipe
from tokctl.sources import opened
from tokctl.tokenizer import Tokenizer
from tokctl.training import Options

if TYPE_CHECKING:
    import pyarrow as pa

try:
    import ray
except ImportError as error:
    raise TokctlError("the engine ray needs Ray", "pip install 'tokctl[ray]'") from error

from tokctl.ray.counting import Cluster, dataset_source

__all__ = ["Cluster", "count", "encode", "train"]


def train(
    data: Any, *, text: str = "text", cluster: Cluster | None = None, **options: Any
) -> Tokenizer:
    """Trains on paths or addresses, or on a `ray.data.Dataset`: as `Tokenizer.train` does on one
    machine, with the same bytes.

    Args:
        data: as `Tokenizer.train` takes sources; or a dataset, whose rows are read in its order.
        text: the column of a dataset that holds the texts.
        cluster: None: `Cluster()`.
        options: those of `Tokenizer.train`. `memory` is that of a worker's tables. There is no
            `sample`, and no algorithm that reads the texts twice (BoundlessBPE).

    Raises:
        TokctlError: as `Tokenizer.train`; a cluster that can't be reached; a part whose workers
            died again and again.
    """
    if isinstance(data, ray.data.Dataset):
        data = dataset_source(data, text)
    return Tokenizer.train(data, engine=cluster or Cluster(), **options)


def count(
    data: Any,
    recipe: Recipe | Tokenizer | str | os.PathLike[str] = "bpe",
    *,
    text: str = "text",
    cluster: Cluster | None = None,
    errors: str = "strict",
    memory: int | None = None,
) -> pa.Table:
    """The distinct pre-tokens of paths, addresses or a `ray.data.Dataset`, in the order in which
    one machine sees them: a table as `tokctl.arrow.count_table` gives it, on this machine.

    Args:
        data, text, cluster: as those of `train`.
        recipe, errors: as those of `count_table`.
        memory: bytes that a worker may take; None: 1 GiB.

    Raises:
        TokctlError: as `train`.
    """
    sources = opened(dataset_source(data, text) if isinstance(data, ray.data.Dataset) else data)
    options = Options(1, errors=errors, memory=memory)
    counts, _ = (cluster or Cluster()).count(sources, arrow.recipe_of(recipe), options)
    return arrow.table_of_counts(counts, 0)


def encode(
    dataset: ray.data.Dataset, model: Tokenizer | str | Path, text: str = "text", **options: Any
) -> ray.data.Dataset:
    """The dataset with ids: `tokctl.arrow.encode_table` of each of its blocks, when it is read.

    Args:
        model: a path is read once by each worker, where it must lead to the same file.
        options: those of `encode_table`.
    """
    given = {"model": model, "text": text, **options}
    encoded: Any = arrow.encode_table
    return dataset.map_batches(encoded, batch_format="pyarrow", batch_size=None, fn_kwargs=given)
