"""A slow twin of Megatron-LM's `IndexedDatasetBuilder` and `IndexedDataset`.

As `megatron/core/datasets/indexed_dataset.py` has them: the names of dtypes by their codes, an
`.idx` with the lengths, the bytes and the documents of all sequences, a `.bin` of bare numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

MAGIC = b"MMIDIDX\x00\x00"
CODES = {
    1: np.uint8,
    2: np.int8,
    3: np.int16,
    4: np.int32,
    5: np.int64,
    6: np.float64,
    7: np.float32,
    8: np.uint16,
}


def write(prefix: Path, documents: Sequence[Sequence[Sequence[int]]], code: int = 8) -> None:
    """Documents, each some sequences of ids."""
    dtype = CODES[code]
    sequences = [ids for document in documents for ids in document]
    lengths = np.array([len(ids) for ids in sequences], dtype=np.int32)
    bytes_each = lengths.astype(np.int64) * np.dtype(dtype).itemsize
    pointers = np.concatenate([[0], np.cumsum(bytes_each)])[: len(sequences)].astype(np.int64)
    firsts = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    with prefix.with_suffix(".bin").open("wb") as data:
        for ids in sequences:
            data.write(np.array(ids, dtype=dtype).tobytes(order="C"))
    with prefix.with_suffix(".idx").open("wb") as index:
        index.write(MAGIC)
        index.write(struct.pack("<Q", 1))
        index.write(struct.pack("<B", code))
        index.write(struct.pack("<Q", len(sequences)))
        index.write(struct.pack("<Q", len(firsts)))
        for numbers in (lengths, pointers, firsts):
            index.write(numbers.tobytes(order="C"))


def read(prefix: Path) -> list[list[list[int]]]:
    """The documents, each some sequences of ids."""
    index = prefix.with_suffix(".idx").read_bytes()
    assert index[:9] == MAGIC
    version, code, count, ends = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1
    lengths = np.frombuffer(index, dtype=np.int32, count=count, offset=34)
    pointers = np.frombuffer(index, dtype=np.int64, count=count, offset=34 + 4 * count)
    firsts = np.frombuffer(index, dtype=np.int64, count=ends, offset=34 + 12 * count)
    data = np.memmap(prefix.with_suffix(".bin"), mode="r") if count else b""
    sequences = [
        np.frombuffer(data, dtype=CODES[code], count=length, offset=pointer).tolist()
        for length, pointer in zip(lengths, pointers, strict=True)
    ]
    return [sequences[a:b] for a, b in pairwise(firsts)]
