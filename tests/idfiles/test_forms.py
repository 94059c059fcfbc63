"""Each form, read back by the library that defines it."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.run import tokctl
from tests.errors import raises_code
from tests.idfiles import made
from tests.idfiles.reading import NAMES, documents
from tests.twins import megatron
from tokctl import TokctlError, Tokenizer, idfiles
from tokctl.idfiles import Chunk, dtype_for, open_writer, parquet

Models = dict[str, Tokenizer]
MODELS = ("bytes", "characters", "wordpiece", "no-unknown", "unigram")


def index_of(form: str) -> Path | None:
    return Path("index.npy") if form in ("bin", "npy") else None


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_documents_come_back(models: Models, form: str, name: str) -> None:
    texts = made.texts_of(name)
    expected = made.ids_of(models[name], texts)
    for threads in (1, 3):
        index = index_of(form)
        done = idfiles.write(
            models[name], made.mixed(texts), NAMES[form], form=form, index=index, threads=threads
        )
        assert documents(form, Path(NAMES[form]), index) == expected
        assert (done.documents, done.ids) == (len(texts), sum(map(len, expected)))
        assert done.manifest is None


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_lines_are_documents(models: Models, form: str, name: str) -> None:
    texts = made.texts_of(name)
    expected = made.ids_of(models[name], [li for text in texts for li in made.lines_of(text)])
    for threads in (1, 3):
        sources = [made.document(text) for text in texts]
        index = index_of(form)
        idfiles.write(
            models[name], sources, NAMES[form], form=form, lines=True, index=index, threads=threads
        )
        assert documents(form, Path(NAMES[form]), index) == expected


def test_a_record_is_whole_even_by_lines(models: Models) -> None:
    source = made.records([b"low\nlow\n", b"", b"low"])
    idfiles.write(models["bytes"], [source], "ids.parquet", form="parquet", lines=True)
    expected = made.ids_of(models["bytes"], [b"low\nlow\n", b"", b"low"])
    assert documents("parquet", Path("ids.parquet")) == expected


@pytest.mark.parametrize("sources", [[], [made.records([])], [made.archive([])]])
@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_no_documents(models: Models, form: str, sources: list[made.Source]) -> None:
    index = index_of(form)
    done = idfiles.write(models["bytes"], sources, NAMES[form], form=form, index=index)
    assert documents(form, Path(NAMES[form]), index) == []
    assert done == idfiles.Written(0, 0)


@pytest.mark.parametrize("form", ["bin", "npy", "parquet", "safetensors"])
def test_a_pipe_gets_the_same(models: Models, models_folder: Path, form: str) -> None:
    text = b"low lower\nnewest\n\nlow" * 30
    Path("a.txt").write_bytes(text)
    model = models_folder / "bytes.json"
    done = tokctl("encode", "-m", model, "--as", form, "--lines", "a.txt")
    assert tokctl("encode", "-m", model, "--as", form, "--lines", "-o", "out", "a.txt").code == 0
    assert (done.code, done.err, done.out) == (0, "", Path("out").read_bytes())
    idfiles.write(models["bytes"], ["a.txt"], os.devnull, form=form)


def test_npy_is_what_numpy_writes(models: Models) -> None:
    ids = models["bytes"].encode_ids(b"low lower" * 50)
    idfiles.write(models["bytes"], [made.document(b"low lower" * 50)], "ids.npy", form="npy")
    theirs = io.BytesIO()
    np.save(theirs, np.array(ids, "<u2"))
    assert Path("ids.npy").read_bytes() == theirs.getvalue()
    mapped = np.load("ids.npy", mmap_mode="r")
    assert (mapped.dtype, mapped.tolist()) == (np.uint16, ids)


def test_the_types_of_each_form(models: Models) -> None:
    def dtypes(size: int) -> list[str]:
        return [dtype_for(form, size).name for form in idfiles.BINARY_FORMS]

    assert dtypes(100) == dtypes(65_499) == ["uint16", "uint16", "int32", "uint16", "uint16"]
    assert dtypes(65_500) == dtypes(65_536) == ["uint16", "uint16", "int32", "int32", "uint16"]
    assert dtypes(65_537) == ["uint32", "uint32", "int32", "int32", "uint32"]
    source = made.document(b"low lower")
    ids = models["bytes"].encode_ids(b"low lower")
    for forced, plain in (("uint16", np.uint16), ("uint32", np.uint32), ("int32", np.int32)):
        for form in idfiles.BINARY_FORMS:
            if form == "megatron" and forced == "uint32":
                continue
            idfiles.write(models["bytes"], [source], NAMES[form], form=form, dtype=forced)
            path = Path(NAMES[form])
            found = documents(form, path, dtype=np.dtype(plain).str)
            assert found == [ids], (form, forced)
        assert np.load("ids.npy").dtype == plain
        assert pq.read_table("ids.parquet").schema.field(0).type.value_type == getattr(pa, forced)()
    idfiles.write(models["bytes"], [source], "ids", form="megatron")
    assert megatron.read("ids").dtype == np.uint16


def test_a_type_that_is_too_small_is_refused() -> None:
    dtype_for("bin", 65_536, "uint16")
    for forced, form, message in (
        ("uint16", "bin", "can't hold every id of this model: they go up to 65,536"),
        ("uint32", "megatron", "Megatron's files can't have the dtype uint32"),
        ("float", "npy", "invalid value 'float' for --dtype"),
    ):
        with pytest.raises(TokctlError, match=message):
            dtype_for(form, 65_537, forced)


def test_row_groups_end_with_documents(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_IDS", 50)
    monkeypatch.setattr(parquet, "GROUP_DOCUMENTS", 4)
    texts = [*made.TEXTS, *[b""] * 10, *made.TEXTS]
    for block in (1, 1000):
        sources = [made.document(text, block=block) for text in texts]
        idfiles.write(models["bytes"], sources, "ids.parquet", form="parquet")
        file = pq.ParquetFile("ids.parquet")
        groups = [
            file.read_row_group(n)["input_ids"].to_pylist() for n in range(file.num_row_groups)
        ]
        assert [row for group in groups for row in group] == made.ids_of(models["bytes"], texts)
        assert all(len(group) <= 4 for group in groups)
        assert all(sum(map(len, group[:-1])) < 50 for group in groups)
        assert all(len(g) == 4 or sum(map(len, g)) >= 50 for g in groups[:-1])
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_hugging_face_datasets_loads_parquet(models: Models, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    idfiles.write(models["bytes"], made.mixed(made.TEXTS), "ids.parquet", form="parquet")
    loaded = datasets.load_dataset(
        "parquet", data_files="ids.parquet", split="train", cache_dir=str(tmp_path / "cache")
    )
    assert loaded["input_ids"][:] == made.ids_of(models["bytes"], made.TEXTS)


def test_torch_sees_aligned_numbers(models: Models) -> None:
    """Its reader can't take 64-bit numbers that do not begin at a multiple of 8."""
    for text in (b"", b"low", b"low low", b"low low low", b"low low low low"):
        idfiles.write(models["bytes"], [made.document(text)], "ids.st", form="safetensors")
        data = Path("ids.st").read_bytes()
        size = int.from_bytes(data[:8], "little")
        assert (8 + size) % 8 == (len(data) - 8 - size - 16) % 8 == 0
        assert documents("safetensors", Path("ids.st")) == made.ids_of(models["bytes"], [text])


def test_ids_made_elsewhere() -> None:
    dtype = dtype_for("npy", 1000)
    with open_writer("npy", "ids.npy", dtype, index="index.npy") as writer:
        writer.add(Chunk.of([[1, 2], [], [3]], dtype))
        writer.add(Chunk.of([[4]], dtype))
        assert not Path("ids.npy").exists()
    assert documents("npy", Path("ids.npy"), Path("index.npy")) == [[1, 2], [], [3], [4]]


@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_whole_or_absent(models: Models, folder: Path, form: str) -> None:
    bad = made.document(b"low\xff")
    with raises_code("not-utf8", "document: line 1, byte 3 is not UTF-8"):
        idfiles.write(models["wordpiece"], [bad], NAMES[form], form=form, index=index_of(form))
    assert list(folder.iterdir()) == []
