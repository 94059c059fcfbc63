"""A model, and files of ids that the libraries write which define the forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.twins import megatron
from tokctl import Tokenizer, preset

WORDS = {"low": 5, "lower": 2, "newest": 6, "widest": 3, "a": 9}
MODEL = Tokenizer.train(WORDS, vocab_size=275, recipe=preset("gpt2"))

#: Documents, as they must come back.
TEXTS = [b"low lower\n", b"", b"newest \xff\xfe\n\nwidest", "été 🙂".encode(), b"\n", b"a" * 50]
IDS = [MODEL.encode_ids(text) for text in TEXTS]
SIGNED = ("int8", "int16", "int32", "int64")
KINDS = ("uint16", "int16", "uint32", "int32", "uint64", "int64")


def lines(texts: Sequence[bytes]) -> bytes:
    """The documents with a line feed behind each that does not end with one."""
    return b"".join(text if text.endswith(b"\n") else text + b"\n" for text in texts)


def parquet(path: Path, documents: Sequence[Sequence[int]] = IDS, **how: Any) -> None:
    """A column of lists; `kind` of numbers, `lists` of pyarrow's list types, `name`, `rows`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(table(pa, documents, how), path, row_group_size=how.get("rows"))


def arrow(path: Path, documents: Sequence[Sequence[int]] = IDS, **how: Any) -> None:
    """The same as an Arrow file, or with `stream` as a stream."""
    import pyarrow as pa

    made = table(pa, documents, how)
    new = pa.ipc.new_stream if how.get("stream") else pa.ipc.new_file
    with new(str(path), made.schema) as writer:
        writer.write_table(made, max_chunksize=how.get("rows"))


def table(pa: Any, documents: Sequence[Sequence[int]], how: dict[str, Any]) -> Any:
    kind = getattr(pa, how.get("kind", "int32"))()
    lists = how.get("lists", pa.list_)(kind)
    column = pa.array(documents, type=lists)
    before = pa.array([f"text {n}" for n in range(len(documents))])
    return pa.table({"text": before, how.get("name", "input_ids"): column})


def safetensors(path: Path, documents: Sequence[Sequence[int]] = IDS, **how: Any) -> None:
    """All ids, and unless `offsets` is false where documents end; other tensors around."""
    from safetensors.numpy import save_file

    flat = np.array([id_ for ids in documents for id_ in ids], dtype=how.get("kind", "uint16"))
    tensors = {how.get("name", "input_ids"): flat, "more": np.zeros((3, 2), dtype=np.float32)}
    if how.get("offsets", True):
        tensors["offsets"] = np.cumsum([0, *map(len, documents)], dtype=np.int64)
    save_file(tensors, path, {"note": "a test"})


def mega(path: Path, documents: Sequence[Sequence[int]] = IDS, code: int = 8) -> None:
    """One sequence for each document."""
    megatron.write(path.with_suffix(""), [[ids] for ids in documents], code)


#: Forms with documents, by the name of a file.
WRITERS: dict[str, Callable[[Path], None]] = {
    "ids.parquet": parquet,
    "ids.arrow": arrow,
    "ids.safetensors": safetensors,
    "ids.idx": mega,
}
