"""Packed sequences equal those of the definition, and every form holds the same."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.twins.packing import packed
from tokctl.idfiles.columns import open_columns
from tokctl.idfiles.dtypes import DTYPES
from tokctl.idfiles.packing import IDS, LENGTHS, MASK, OPEN, POSITIONS, Columns, Packer


def rows(documents: list[list[int]], size: int) -> list[Columns]:
    packer = Packer(size)
    found = [row for ids in documents for row in packer.add({IDS: ids, MASK: [i % 2 for i in ids]})]
    return [*found, *packer.rest()]


@given(st.lists(st.integers(0, 40), max_size=200), st.integers(1, 32))
def test_equal_to_the_definition(lengths: list[int], size: int) -> None:
    documents = [[number] * length for number, length in enumerate(lengths)]
    found = rows(documents, size)
    assert [
        [row[IDS][sum(row[LENGTHS][:at]) :][:count] for at, count in enumerate(row[LENGTHS])]
        for row in found
    ] == packed(documents, size, OPEN)
    for row in found:
        assert row[POSITIONS] == [place for count in row[LENGTHS] for place in range(count)]
        assert row[MASK] == [id_ % 2 for id_ in row[IDS]]
        assert 0 < len(row[IDS]) <= size


def test_sequences_are_full() -> None:
    """Short documents fill long sequences, and memory holds 64 of them."""
    documents = [[1] * (1 + 37 * number % 300) for number in range(3000)]
    found = rows(documents, 1024)
    assert sum(len(row[IDS]) for row in found) / (1024 * len(found)) > 0.98


def test_a_size_of_nothing_is_an_error() -> None:
    with raises_code("bad-value", "invalid value 0 for the length of sequences"):
        Packer(0)


def test_every_form_holds_the_same(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    numpy = pytest.importorskip("safetensors.numpy")
    found = rows([[number] * (number % 7) for number in range(100)], 16)
    dtypes = {
        IDS: DTYPES["uint16"],
        POSITIONS: DTYPES["int32"],
        LENGTHS: DTYPES["int32"],
        MASK: DTYPES["uint8"],
    }
    for form in ("jsonl", "parquet", "safetensors"):
        with open_columns(form, tmp_path / form, dtypes) as writer:
            for row in found:
                writer.add(row)
        stream = io.BytesIO()
        with open_columns(form, stream, dtypes) as writer:
            for row in found:
                writer.add(row)
        assert stream.getvalue() == (tmp_path / form).read_bytes()
    lines = (tmp_path / "jsonl").read_text(encoding="utf-8").splitlines()
    assert list(map(json.loads, lines)) == found
    assert parquet.read_table(tmp_path / "parquet").to_pylist() == found
    tensors = numpy.load_file(tmp_path / "safetensors")
    for name in dtypes:
        assert tensors[name].tolist() == [number for row in found for number in row[name]]
    ends = [0]
    for row in found:
        ends.append(ends[-1] + len(row[IDS]))
    assert tensors["offsets"].tolist() == ends


def test_nothing_is_left_of_what_fails(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError),
        open_columns("safetensors", tmp_path / "here" / "a", {IDS: DTYPES["uint16"]}) as writer,
    ):
        writer.add({IDS: [1]})
        raise RuntimeError
    assert list((tmp_path / "here").iterdir()) == []
