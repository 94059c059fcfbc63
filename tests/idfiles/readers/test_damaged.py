"""Files that are damaged, cut short, or claim what they do not hold: an error, soon and small."""

from __future__ import annotations

import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.idfiles.readers import files
from tests.idfiles.readers.files import IDS, MODEL
from tokctl import TokctlError
from tokctl.idfiles.reader import read_text

pytest.importorskip("pyarrow")
pytest.importorskip("safetensors")

OUTSIDE = f"this model's ids are 0 to {MODEL.vocab_size - 1}"


def text(path: Path | str, **how: object) -> bytes:
    return b"".join(read_text(MODEL, path, **how))


def refused(path: Path | str, **how: object) -> TokctlError:
    with pytest.raises(TokctlError) as caught:
        text(path, **how)
    assert str(path).removesuffix(".bin").removesuffix(".idx") in caught.value.message
    return caught.value


def npy(header: dict[str, Any] | bytes, data: bytes = b"", version: int = 1) -> bytes:
    shown = header if isinstance(header, bytes) else repr(header).encode()
    width = "<H" if version == 1 else "<I"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(width, len(shown)) + shown + data


GOOD = {"descr": "<u2", "fortran_order": False, "shape": (3,)}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (npy(GOOD, b"\1\0\2\0"), "it ends after 2 of 3 ids"),
        (npy(GOOD, b"\1\0\2\0\3"), "it ends after 2 of 3 ids"),
        (
            npy(GOOD, bytes(8)),
            f"there is more data after the array, at byte {16 + len(repr(GOOD))}",
        ),
        (npy(GOOD)[:30], "it ends inside its header"),
        (npy(GOOD)[:7], "is not a .npy file"),
        (npy(GOOD, version=4), "it is of version 4 of the .npy format"),
        (npy(b"("), "its header can't be read"),
        (npy(b"[" * 9000), "its header can't be read"),
        (npy(b"{'descr': 3}"), "its header can't be read"),
        (npy(b"7"), "its header can't be read"),
        (npy(GOOD | {"descr": "<f4"}), "holds '<f4', which are not whole numbers"),
        (npy(GOOD | {"descr": "|O"}), "holds '|O', which are not whole numbers"),
        (npy(GOOD | {"descr": [("a", "<u2")]}), "which are not whole numbers"),
        (npy(GOOD | {"shape": (3, 2)}), "holds an array of shape (3, 2), not a row of ids"),
        (npy(GOOD | {"shape": ()}), "holds an array of shape (), not a row of ids"),
        (npy(GOOD | {"shape": (-1,)}), "its header claims -1 ids"),
        (npy(GOOD | {"shape": (True,)}), "its header claims True ids"),
        (npy(GOOD | {"shape": (2**63,)}), f"its header claims {2**63} ids"),
        (npy(GOOD | {"shape": (2**60,)}, bytes(6)), f"it ends after 3 of {2**60:,} ids"),
        (npy(b"", version=2)[:8] + b"\xff\xff\xff\x7f", "its header claims 2,147,483,647 bytes"),
    ],
)
def test_npy(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(data)
    assert message in refused(path, form="npy").message


def tensors(header: dict[str, Any] | bytes, data: bytes = b"", size: int | None = None) -> bytes:
    shown = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(shown) if size is None else size).to_bytes(8, "little") + shown + data


def tensor(dtype: str = "U16", shape: list[int] | None = None, begin: int = 0, end: int = 6) -> Any:
    return {"dtype": dtype, "shape": [3] if shape is None else shape, "data_offsets": [begin, end]}


OFFSETS = tensor("I64", [2], 6, 22)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "too small for its header"),
        (tensors(b"{}", size=1000), "too small for its header"),
        (tensors(b"{}", size=2**60), "too small for its header"),
        (tensors(b"{} {"), "its header can't be read"),
        (tensors(b"[1]"), "its header can't be read"),
        (tensors({"input_ids": {"dtype": "U16"}}), "its header can't be read"),
        (tensors({"input_ids": tensor("U12")}, bytes(6)), "its header can't be read"),
        (tensors({"input_ids": tensor(shape=[-3])}, bytes(6)), "its header can't be read"),
        (tensors({"input_ids": tensor(shape=[1] * 99)}, bytes(6)), "its header can't be read"),
        (tensors({"input_ids": tensor(end=-6)}, bytes(6)), "its header can't be read"),
        (tensors({"input_ids": tensor(shape=[True])}, bytes(6)), "its header can't be read"),
        (tensors({"input_ids": tensor(shape=[2**60])}, bytes(6)), "can't lie at bytes 0 to 6"),
        (tensors({"input_ids": tensor(begin=2, end=8)}, bytes(8)), "can't lie at bytes 2 to 8"),
        (
            tensors({"a": tensor(), "input_ids": tensor()}, bytes(6)),
            "can't lie at bytes 0 to 6",
        ),
        (tensors({"input_ids": tensor()}, bytes(4)), "and its tensors end at byte"),
        (tensors({"input_ids": tensor()}, bytes(9)), "and its tensors end at byte"),
        (tensors({"a": tensor()}, bytes(6)), "has no tensor 'input_ids'"),
        (tensors({"input_ids": tensor("F16")}, bytes(6)), "the tensor 'input_ids' is F16 of shape"),
        (
            tensors({"input_ids": tensor(shape=[1, 3, 1])}, bytes(6)),
            "the tensor 'input_ids' is U16 of shape [1, 3, 1]",
        ),
        (
            tensors(
                {"input_ids": tensor(), "offsets": OFFSETS}, bytes(6) + struct.pack("<qq", 0, 4)
            ),
            "offset 1 is 4, which is not a position in 3 ids after the one before",
        ),
        (
            tensors(
                {"input_ids": tensor(), "offsets": OFFSETS}, bytes(6) + struct.pack("<qq", 2, 1)
            ),
            "offset 1 is 1, which",
        ),
        (
            tensors(
                {"input_ids": tensor(), "offsets": OFFSETS}, bytes(6) + struct.pack("<qq", -1, 1)
            ),
            "offset 0 is -1, which",
        ),
    ],
)
def test_safetensors(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(data)
    assert message in refused(path, form="safetensors").message


HEADER = struct.Struct("<9sQBQQ")
MAGIC = b"MMIDIDX\0\0"


def index(sequences: int = 1, documents: int = 2, code: int = 8, version: int = 1) -> bytes:
    return HEADER.pack(MAGIC, version, code, sequences, documents)


def body(length: int = 3, begin: int = 0, firsts: tuple[int, ...] = (0, 1)) -> bytes:
    return struct.pack(f"<iq{len(firsts)}q", length, begin, *firsts)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"MMIDIDX", "is not an index of Megatron"),
        (b"X" * 40, "is not an index of Megatron"),
        (index(version=2) + body(), "it is of version 2 of Megatron's index"),
        (index(code=7) + body(), "its numbers are of kind 7, which are not whole numbers"),
        (index(code=99) + body(), "its numbers are of kind 99"),
        (index() + body()[:-1], "sequences and 2 ends of documents take 62"),
        (index() + body() + b"x", "it has 63 bytes"),
        (index(2**60, 2**60) + body(), "it has 62 bytes, and 1,152,921,504,606,846,976 sequences"),
        (index() + body(length=-1), "sequence 1 has -1 ids from byte 0 on"),
        (index() + body(length=4), "sequence 1 has 4 ids from byte 0 on, and"),
        (index() + body(begin=-2), "sequence 1 has 3 ids from byte -2 on"),
        (index() + body(begin=1, length=1), "sequence 1 has 1 ids from byte 1 on"),
        (
            index() + body(begin=2**62),
            "sequence 1 has 3 ids from byte 4,611,686,018,427,387,904 on",
        ),
        (index() + body(firsts=(1, 1)), "its first document begins with sequence 1"),
        (index() + body(firsts=(0, 2)), "document 1 ends with sequence 2 of 1, and begins with 0"),
        (index() + body(firsts=(0, -1)), "document 1 ends with sequence -1 of 1"),
        (index() + body(firsts=(0, 0)), "its documents end with sequence 0 of 1"),
        (index() + body(length=2), "its sequences end at byte 4, and"),
        (index(0, 1) + struct.pack("<q", 0), "its sequences end at byte 0, and"),
    ],
)
def test_megatron(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(6))
    (tmp_path / "a.idx").write_bytes(data)
    assert message in refused(tmp_path / "a.idx", form="megatron").message


def test_megatron_needs_both_files(tmp_path: Path) -> None:
    (tmp_path / "a.idx").write_bytes(index() + body())
    message = "Megatron's ids are two files, a .bin and an .idx of the same name"
    assert message in refused(tmp_path / "a.idx").message


def test_tables(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"

    def written(**columns: Any) -> str:
        pq.write_table(pa.table(columns), path)
        return refused(path).message

    assert written(text=["a"]).endswith("has no column 'input_ids' or 'ids'")
    assert written(input_ids=["a"]).endswith("is string, not lists of whole numbers")
    assert "not lists of whole numbers" in written(input_ids=[[0.5]])
    assert "not lists of whole numbers" in written(input_ids=[[[1]]])
    missing = "has no ids, or a number is missing in it"
    assert written(input_ids=[[1], None]).endswith(f"row 2 {missing}")
    assert written(input_ids=[[1], [2], [1, None]]).endswith(f"row 3 {missing}")
    files.parquet(path)
    assert refused(path, field="more").message.endswith("has no column 'more'")
    whole = path.read_bytes()
    for cut in (len(whole) // 2, len(whole) - 1, 10):
        path.write_bytes(whole[:cut])
        assert "can't be read from row 1 on" in refused(path, form="parquet").message
    files.arrow(tmp_path / "a.arrow")
    whole = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "a.arrow").write_bytes(whole[: len(whole) // 2])
    assert "can't be read from row 1 on" in refused(tmp_path / "a.arrow").message


def test_ids_outside_the_vocabulary_name_their_place(tmp_path: Path) -> None:
    documents = [[1, 2], [3, 4, 999]]
    told = {
        "ids.parquet": "row 2, number 3",
        "ids.arrow": "row 2, number 3",
        "ids.safetensors": "document 2, number 3",
    }
    for name, place in told.items():
        files.WRITERS[name](tmp_path / name, documents)  # type: ignore[call-arg]
        error = refused(tmp_path / name)
        assert error.message == f"{tmp_path / name}: {place}: id 999 is outside the vocabulary"
        assert error.hint == OUTSIDE
    files.mega(tmp_path / "a", documents)
    assert refused(tmp_path / "a").message.endswith(
        "a.bin: sequence 2, number 3: id 999 is outside the vocabulary"
    )
    for kind, start in (("<u2", 128), (">i8", 128)):
        np.save(tmp_path / "a.npy", np.array([1, 2, 999], dtype=kind))
        place = f"byte {start + 2 * np.dtype(kind).itemsize}"
        assert f"{place}: id 999 is outside" in refused(tmp_path / "a.npy").message
    for number in (-1, 2**40, -(2**63)):
        np.array([1, number], dtype="<i8").tofile(tmp_path / "n.bin")
        error = refused(tmp_path / "n.bin", dtype="int64")
        assert f"byte 8: id {number} is outside the vocabulary" in error.message
        files.parquet(tmp_path / "b.parquet", [[1], [number]], kind="int64")
        assert f"row 2, number 1: id {number} is outside" in refused(tmp_path / "b.parquet").message


def test_claims_take_no_memory(tmp_path: Path) -> None:
    """What a header claims is not made room for."""
    (tmp_path / "a.npy").write_bytes(npy(GOOD | {"shape": (2**60,)}, bytes(6)))
    (tmp_path / "a.safetensors").write_bytes(tensors(b"{}", size=99_000_000))
    (tmp_path / "a.bin").write_bytes(bytes(6))
    (tmp_path / "a.idx").write_bytes(index(2**58, 2**58) + body())
    read_text(MODEL, tmp_path / "a.bin")  # what is imported does not count
    tracemalloc.start()
    for name, form in (("a.npy", "npy"), ("a.safetensors", "safetensors"), ("a.idx", "megatron")):
        refused(tmp_path / name, form=form)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000_000


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("seeds")
    for name, write in files.WRITERS.items():
        write(folder / name)
    np.save(folder / "ids.npy", np.array([id_ for ids in IDS for id_ in ids], dtype="<u2"))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@given(data=st.data())
def test_any_damage_is_an_error_or_text(
    seeds: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(seeds)))
    damaged = bytearray(seeds[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(damaged))))
    folder = tmp_path_factory.mktemp("damaged")
    other = {"ids.idx": "ids.bin", "ids.bin": "ids.idx"}.get(name)
    if other:
        (folder / other).write_bytes(seeds[other])
    (folder / name).write_bytes(damaged[:cut])
    form = {"ids.idx": "megatron", "ids.bin": "megatron"}.get(name, name.removeprefix("ids."))
    for asked in (form, "auto"):
        try:
            found = text(folder / name, form=asked)
        except TokctlError as error:
            assert error.message
        else:
            assert isinstance(found, bytes)
