"""Folders that `datasets` saved, with and without that library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises_code
from tests.sources.made import all_of, read, records
from tokctl.core.errors import TokctlError
from tokctl.sources import ReadOptions, Records, open_sources

pa = pytest.importorskip("pyarrow")


def dataset(folder: Path, parts: list[list[str]], **state: Any) -> Path:
    """As `Dataset.save_to_disk` writes it."""
    folder.mkdir(parents=True)
    names = [f"data-{n:05}-of-{len(parts):05}.arrow" for n in range(len(parts))]
    for name, texts in zip(names, parts, strict=True):
        table = pa.table({"text": texts, "id": range(len(texts))})
        with pa.ipc.new_stream(str(folder / name), table.schema) as writer:
            writer.write_table(table)
    files = {"_data_files": [{"filename": name} for name in names], "_split": "train", **state}
    (folder / "state.json").write_text(json.dumps(files))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def test_files_in_the_order_of_the_state(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "d", [["a", "b"], ["c"], []])
    state = json.loads((folder / "state.json").read_text())
    state["_data_files"].reverse()
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "cache-1.arrow").write_bytes(b"of no interest")
    opened = open_sources([folder])
    assert all(isinstance(source, Records) for source in opened)
    assert [name.rsplit("/", 1)[1][:10] for name, _ in all_of(opened)] == [
        "data-00002",
        "data-00001",
        "data-00000",
    ]
    assert [texts for _, texts in all_of(opened)] == [[], [b"c"], [b"a", b"b"]]
    with raises_code("bad-record"):
        open_sources([folder], ReadOptions(text_field="body"))


def test_splits_in_their_order(tmp_path: Path) -> None:
    for split in ("test", "train"):
        dataset(tmp_path / "dd" / split, [[split]])
    (tmp_path / "dd" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert [texts for _, texts in read(tmp_path / "dd")] == [[b"train"], [b"test"]]
    assert [texts for _, texts in read(tmp_path / "dd" / "test")] == [[b"test"]]


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("{", r"state\.json is damaged"),
        ("[" * 10**5, r"state\.json is damaged"),
        ("[]", "is a list of 0, not an object"),
        ("{}", "'_data_files' is missing"),
        ('{"_data_files": [{"filename": "../../secret.arrow"}]}', "not the name of a file"),
        ('{"_data_files": [7]}', r"_data_files\[0\] is 7, not an object"),
        ('{"_data_files": [{"filename": "gone.arrow"}]}', r"gone\.arrow: No such file"),
        ('{"_data_files": [], "_indices_files": [{"filename": "i.arrow"}]}', "before 2.0"),
    ],
)
def test_damaged_descriptions(state: str, says: str, tmp_path: Path) -> None:
    folder = dataset(tmp_path / "d", [["a"]])
    (folder / "state.json").write_text(state)
    with pytest.raises(TokctlError, match=says):
        open_sources([folder])


def test_damaged_splits(tmp_path: Path) -> None:
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train"]}')
    with raises_code("unreadable", r"train/state\.json: No such file"):
        open_sources([tmp_path])
    for wrong in ("{}", '{"splits": ["../x"]}', '{"splits": [""]}'):
        (tmp_path / "dataset_dict.json").write_text(wrong)
        with raises_code("damaged", r"dataset_dict\.json is damaged"):
            open_sources([tmp_path])


def test_against_the_library(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    texts = [f"text {n} " * (n % 5) for n in range(2500)]
    whole = datasets.Dataset.from_dict({"text": texts, "n": list(range(2500))})
    shuffled = whole.shuffle(seed=1).select(range(0, 2000, 3))
    several = datasets.DatasetDict({"train": whole, "test": shuffled})
    whole.save_to_disk(tmp_path / "whole", num_shards=3)
    shuffled.save_to_disk(tmp_path / "shuffled")
    several.save_to_disk(tmp_path / "several")
    for name in ("whole", "shuffled", "several/train", "several/test"):
        expected = datasets.load_from_disk(str(tmp_path / name))["text"]
        found = [text for _, part in read(tmp_path / name) for text in part]
        assert [text.decode() for text in found] == list(expected), name
    both = datasets.load_from_disk(str(tmp_path / "several"))
    opened = open_sources([tmp_path / "several"])
    found = [text.decode() for source in opened for text in records(source)]
    assert found == [text for split in both for text in both[split]["text"]]
    large = whole.cast_column("text", datasets.Value("large_string"))
    large.save_to_disk(tmp_path / "large")
    assert [text.decode() for _, part in read(tmp_path / "large") for text in part] == texts
