"""tokctl on Ray (https://ray.io): a cluster counts and encodes, with byte-identical results.

    import tokctl.extras.ray

    tokenizer = tokctl.extras.ray.train("corpus/", vocab_size=50_000)
    dataset = tokctl.extras.ray.encode(ray.data.read_parquet("corpus/"), tokenizer)

Every node needs tokctl, and must find the texts at the same paths or addresses.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokctl.core.errors import Unsupported
from tokctl.extras import arrow
from tokctl.model import Recipe
from tokctl.sources import opened
from tokctl.tokenizer import Tokenizer
from tokctl.training import TrainOptions

if TYPE_CHECKING:
    import pyarrow as pa

try:
    import ray
except ImportError as error:
    raise Unsupported(
        "the engine ray needs Ray", "pip install 'tokctl[ray]'", "missing-package"
    ) from error

from tokctl.extras.ray.counting import Cluster, dataset_source

__all__ = ["Cluster", "count", "encode", "train"]


def train(
    data: Any, *, text: str = "text", cluster: Cluster | None = None, **options: Any
) -> Tokenizer:
    """Train on paths or addresses, or on a `ray.data.Dataset`.

    The model is byte for byte the one that `Tokenizer.train` makes on one machine.

    Args:
        data: sources as for `Tokenizer.train`, or a dataset, whose rows are read in its order.
        text: the column of a dataset that holds the texts.
        cluster: the cluster; None: `Cluster()`.
        options: options of `Tokenizer.train`. `memory` is the memory of each worker. `sample`, and
            algorithms that read the texts twice (BoundlessBPE), are not possible.

    Raises:
        TokctlError: as `Tokenizer.train`; the cluster can't be reached; the workers of a part died
            repeatedly.

    Example:
        tokenizer = tokctl.extras.ray.train("corpus/", vocab_size=50_000)
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
    """Return the distinct pre-tokens of paths, addresses or a dataset, in first-seen order.

    The result is a table on this machine, as `tokctl.extras.arrow.count_table` returns it.

    Args:
        data: see `train`.
        recipe: see `count_table`.
        text: see `train`.
        cluster: see `train`.
        errors: see `count_table`.
        memory: the maximum memory of a worker in bytes; None: 1 GiB.

    Raises:
        TokctlError: as `train`.

    Example:
        table = tokctl.extras.ray.count("corpus/", "bpe")
    """
    sources = opened(dataset_source(data, text) if isinstance(data, ray.data.Dataset) else data)
    options = TrainOptions(errors=errors, memory=memory)
    counts, _ = (cluster or Cluster()).count(sources, arrow.recipe_of(recipe), options)
    return arrow.table_of_counts(counts, 0)


def encode(
    dataset: ray.data.Dataset, model: Tokenizer | str | Path, text: str = "text", **options: Any
) -> ray.data.Dataset:
    """Return the dataset with ids.

    `tokctl.extras.arrow.encode_table` is applied to each block when the dataset is read.

    Args:
        dataset: a dataset with a column of texts.
        model: a tokenizer or a path. A path is read once by each worker, and must lead to the same
            file everywhere.
        text: the column that holds the texts.
        options: options of `encode_table`.

    Example:
        dataset = tokctl.extras.ray.encode(ray.data.read_parquet("corpus/"), "book.json")
    """
    arguments = {"model": model, "text": text, **options}
    encoded: Any = arrow.encode_table
    return dataset.map_batches(
        encoded, batch_format="pyarrow", batch_size=None, fn_kwargs=arguments
    )
