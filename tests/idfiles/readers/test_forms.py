"""What other libraries write comes back as text, whatever the widths and types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.idfiles.readers import files
from tests.idfiles.readers.files import IDS, KINDS, MODEL, TEXTS, lines
from tests.twins import megatron
from tokctl.idfiles.reader import read_text
from tokctl.sources.blocks import BlockStream

pa = pytest.importorskip("pyarrow")
pytest.importorskip("safetensors")

FLAT = [id_ for ids in IDS for id_ in ids]
WHOLE = b"".join(TEXTS)


def text(path: Path | str, **how: object) -> bytes:
    return b"".join(read_text(MODEL, path, **how))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", KINDS)
def test_npy(tmp_path: Path, kind: str, order: str) -> None:
    dtype = np.dtype(kind).newbyteorder(order)
    path = tmp_path / "ids.npy"
    np.save(path, np.array(FLAT, dtype=dtype))
    assert text(path) == text(path, form="npy") == WHOLE
    for version in ((1, 0), (2, 0), (3, 0)):
        with path.open("wb") as file:
            np.lib.format.write_array(file, np.array(FLAT, dtype=dtype), version=version)
        assert text(path) == WHOLE
    np.save(path, np.array([], dtype=dtype))
    assert text(path) == b""


def test_npy_of_bytes_and_of_fortran(tmp_path: Path) -> None:
    low = [id_ for id_ in FLAT if id_ < 128]
    for kind in ("uint8", "int8"):
        np.save(tmp_path / "a.npy", np.array(low, dtype=kind))
        assert text(tmp_path / "a.npy") == MODEL.decode_bytes(low)
    np.save(tmp_path / "a.npy", np.asfortranarray(np.array(FLAT, dtype="<u4")))
    assert text(tmp_path / "a.npy") == WHOLE


@pytest.mark.parametrize("kind", KINDS)
def test_bin(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "ids.bin"
    np.array(FLAT, dtype=kind).tofile(path)
    assert text(path, dtype=kind) == text(path, dtype=kind, form="bin") == WHOLE
    other = tmp_path / "ids"
    path.rename(other)
    assert text(other, dtype=kind) == WHOLE  # a dtype is for bin


@pytest.mark.parametrize("lists", ["list_", "large_list"])
@pytest.mark.parametrize("kind", ["uint16", "int32", "int64", "uint64"])
def test_tables(tmp_path: Path, kind: str, lists: str) -> None:
    how = {"kind": kind, "lists": getattr(pa, lists)}
    for rows in (None, 2):
        files.parquet(tmp_path / "a.parquet", rows=rows, **how)
        assert text(tmp_path / "a.parquet") == lines(TEXTS)
        files.arrow(tmp_path / "a.arrow", rows=rows, **how)
        assert text(tmp_path / "a.arrow") == lines(TEXTS)
        files.arrow(tmp_path / "b.arrow", rows=rows, stream=True, **how)
        assert text(tmp_path / "b.arrow") == lines(TEXTS)


def test_tables_of_lists_of_one_size(tmp_path: Path) -> None:
    rows = [FLAT[at : at + 4] for at in range(0, len(FLAT) - 4, 4)]
    for writer, name in ((files.parquet, "a.parquet"), (files.arrow, "a.arrow")):
        writer(tmp_path / name, rows, lists=lambda kind: pa.list_(kind, 4), rows=3)
        shown = text(tmp_path / name, separator=b"|")
        assert shown == b"|".join(MODEL.decode_bytes(row) for row in rows) + b"|"


def test_slices_of_arrow(tmp_path: Path) -> None:
    made = files.table(pa, IDS, {}).slice(2, 3)
    with pa.ipc.new_stream(str(tmp_path / "a.arrow"), made.schema) as writer:
        writer.write_table(made)
    assert text(tmp_path / "a.arrow") == lines(TEXTS[2:5])


@pytest.mark.parametrize("kind", KINDS)
def test_safetensors(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.safetensors"
    files.safetensors(path, kind=kind)
    assert text(path) == lines(TEXTS)
    files.safetensors(path, kind=kind, offsets=False)
    assert text(path) == WHOLE
    files.safetensors(path, [], kind=kind)
    assert text(path) == b""


def test_safetensors_with_a_row_for_each_document(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    rows = np.array(FLAT[: len(FLAT) // 5 * 5], dtype="<u2").reshape(-1, 5)
    save_file({"input_ids": rows}, tmp_path / "a.safetensors")
    shown = text(tmp_path / "a.safetensors", separator=b"|")
    assert shown == b"".join(MODEL.decode_bytes(row.tolist()) + b"|" for row in rows)


@pytest.mark.parametrize("code", [3, 4, 5, 8])
def test_megatron(tmp_path: Path, code: int) -> None:
    files.mega(tmp_path / "a", code=code)
    for name in ("a", "a.bin", "a.idx"):
        assert text(tmp_path / name) == lines(TEXTS)
        assert text(tmp_path / name, form="megatron") == lines(TEXTS)
    documents = [[IDS[0], IDS[2]], [], [IDS[3]], [[], IDS[5]]]
    megatron.write(tmp_path / "b", documents, code)
    assert megatron.read(tmp_path / "b").sequences_of_documents == documents
    assert text(tmp_path / "b") == lines([TEXTS[0] + TEXTS[2], b"", TEXTS[3], TEXTS[5]])
    megatron.write(tmp_path / "c", [], code)
    assert text(tmp_path / "c") == b""


def test_megatron_of_bytes(tmp_path: Path) -> None:
    low = [id_ for id_ in FLAT if id_ < 128]
    for code in (1, 2):
        files.mega(tmp_path / "a", [low, low[:3]], code)
        wanted = [MODEL.decode_bytes(low), MODEL.decode_bytes(low[:3])]
        assert text(tmp_path / "a") == lines(wanted)


@pytest.mark.parametrize("name", files.WRITERS)
def test_what_stands_between_documents(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    files.WRITERS[name](path)
    assert text(path) == lines(TEXTS)
    assert text(path, separator=b"") == WHOLE
    assert text(path, separator=b"\n") == b"".join(text + b"\n" for text in TEXTS)
    assert text(path, separator=b"<>") == b"".join(text + b"<>" for text in TEXTS)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.safetensors", "a.jsonl"])
def test_ids_of_another_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "a.jsonl":
        path.write_bytes(b"".join(b'{"labels":%r}\n' % ids for ids in IDS))
        wanted = b"".join(text + b"\n" for text in TEXTS)
    else:
        files.WRITERS["ids" + path.suffix](path, name="labels")  # type: ignore[call-arg]
        wanted = lines(TEXTS)
    assert text(path, field="labels") == wanted


def test_a_document_of_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokctl.idfiles import random_access

    monkeypatch.setattr(random_access, "BLOCK", 16)
    for name, write in files.WRITERS.items():
        write(tmp_path / name)
        assert text(tmp_path / name) == lines(TEXTS)


@given(
    st.lists(st.lists(st.integers(0, MODEL.vocab_size - 1), max_size=12), max_size=6),
    st.booleans(),
)
def test_any_ids_in_every_form(
    tmp_path_factory: pytest.TempPathFactory, documents: list[list[int]], skip: bool
) -> None:
    folder = tmp_path_factory.mktemp("ids")
    wanted = lines([MODEL.decode_bytes(ids, skip_special=skip) for ids in documents])
    for name, write in files.WRITERS.items():
        write(folder / name, documents)  # type: ignore[call-arg]
        assert text(folder / name, skip_special=skip) == wanted
    flat = [id_ for ids in documents for id_ in ids]
    np.save(folder / "a.npy", np.array(flat, dtype="<u4"))
    assert text(folder / "a.npy", skip_special=skip) == MODEL.decode_bytes(flat, skip_special=skip)


@given(st.lists(st.binary(min_size=1, max_size=9)), st.lists(st.integers(0, 12), max_size=5))
def test_a_stream_gives_what_it_was_given(blocks: list[bytes], sizes: list[int]) -> None:
    data = b"".join(blocks)
    stream = BlockStream(iter(blocks))
    taken = b""
    for size in sizes:
        assert stream.peek(size) == data[len(taken) :][:size]
        taken += stream.read(size)
    assert taken + b"".join(stream.rest()) == data
