"""Megatron-LM's builder and reader of `.bin` and `.idx`, from the description of the layout in
`megatron/core/datasets/indexed_dataset.py`: the header `MMIDIDX`, a version, the number of the
type, how many sequences and entries of documents; then the sequences' lengths (32 bits), where
they begin (bytes, 64 bits), and with which sequence each document begins (64 bits), behind the
last of which is their number.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

#: The numbers of the types.
TYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 6: "<f8", 7: "<f4", 8: "<u2"}


class Dataset(NamedTuple):
    """What a pair of files holds."""

    sequences: list[list[int]]
    documents: list[int]
    dtype: Any

    @property
    def sequences_of_documents(self) -> list[list[list[int]]]:
        """The documents, each some sequences."""
        return [self.sequences[begin:end] for begin, end in pairwise(self.documents)]


def write(prefix: str | Path, documents: Sequence[Sequence[Sequence[int]]], code: int = 8) -> None:
    """Documents, each some sequences of ids."""
    dtype = np.dtype(TYPES[code])
    sequences = [ids for document in documents for ids in document]
    lengths = np.array([len(ids) for ids in sequences], dtype="<i4")
    pointers = (np.cumsum([0, *lengths]) * dtype.itemsize)[: len(sequences)].astype("<i8")
    firsts = np.cumsum([0, *map(len, documents)]).astype("<i8")
    Path(f"{prefix}.bin").write_bytes(
        b"".join(np.array(ids, dtype=dtype).tobytes() for ids in sequences)
    )
    header = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(sequences), len(firsts))
    Path(f"{prefix}.idx").write_bytes(
        header + b"".join(numbers.tobytes() for numbers in (lengths, pointers, firsts))
    )


def read(prefix: str | Path) -> Dataset:
    """The sequences, read as Megatron-LM reads them: one after the other, by its pointer."""
    index = Path(f"{prefix}.idx").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    version, code = int(np.frombuffer(index, "<u8", 1, 9)[0]), index[17]
    assert version == 1
    dtype = np.dtype(TYPES[code])
    sequences, entries = (int(number) for number in np.frombuffer(index, "<u8", 2, 18))
    place = 34
    lengths = np.frombuffer(index, "<i4", sequences, place)
    place += lengths.nbytes
    pointers = np.frombuffer(index, "<i8", sequences, place)
    place += pointers.nbytes
    documents = np.frombuffer(index, "<i8", entries, place)
    assert place + documents.nbytes == len(index)
    assert len(documents) == 0 or documents[-1] == sequences
    data = Path(f"{prefix}.bin").read_bytes()
    found = [
        np.frombuffer(data, dtype, length, pointer).tolist()
        for length, pointer in zip(lengths, pointers, strict=True)
    ]
    assert sum(lengths) * dtype.itemsize == len(data)
    return Dataset(found, documents.tolist(), dtype)
