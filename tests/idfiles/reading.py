"""Files of ids, read back by the libraries that define them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from safetensors.numpy import load_file

from tests.twins import megatron

#: What a file of each form is called.
NAMES = {form: f"ids.{form}" for form in ("bin", "npy", "parquet", "safetensors", "jsonl")}
NAMES["megatron"] = "ids"


def cut(ids: Any, ends: Any) -> list[list[int]]:
    """Ids end to end, as documents."""
    places = [int(end) for end in ends]
    return [ids[a:b].tolist() for a, b in pairwise(places)]


def documents(form: str, path: Path, index: Path | None = None, dtype: str = "<u2") -> Any:
    """The documents in a file; without an index, of `bin` and `npy` all ids as one."""
    if form == "megatron":
        dataset = megatron.read(path)
        assert dataset.documents == list(range(len(dataset.sequences) + 1))
        return dataset.sequences
    if form == "parquet":
        return pq.read_table(path)["input_ids"].to_pylist()
    if form == "safetensors":
        tensors = load_file(path)
        assert tensors.keys() - {"padding"} == {"input_ids", "offsets"}
        return cut(tensors["input_ids"], tensors["offsets"])
    ids: Any = np.load(path) if form == "npy" else np.fromfile(path, dtype)
    assert ids.ndim == 1
    if index is None:
        return [ids.tolist()]
    offsets = np.load(index)
    assert offsets.dtype == np.int64
    return cut(ids, offsets)
