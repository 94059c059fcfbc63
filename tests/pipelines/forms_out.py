"""The ids of each document, read back from every form that `tokctl encode` writes, by the library
that defines the form."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

#: The ids of each document.
Documents = list[list[int]]


class Asked(NamedTuple):
    """options: of `encode`, behind which `-o PATH` follows. read: the documents of that path."""

    options: list[str]
    read: Callable[[Path], Documents]


def _split(ids: Sequence[int], offsets: Sequence[int]) -> Documents:
    return [[int(id_) for id_ in ids[start:end]] for start, end in pairwise(offsets)]


def _decimal(path: Path) -> Documents:
    lines = path.read_text("ascii").split("\n")
    assert lines.pop() == ""
    return [[int(word) for word in line.split()] for line in lines]


def _json_lines(path: Path) -> Documents:
    return [json.loads(line)["ids"] for line in path.read_bytes().splitlines()]


def _bin(path: Path) -> Documents:
    np = pytest.importorskip("numpy")
    index = np.load(path.with_name("index.npy"))
    return _split(np.memmap(path, dtype="<u2", mode="r") if path.stat().st_size else [], index)


def _npy(path: Path) -> Documents:
    np = pytest.importorskip("numpy")
    index = np.load(path.with_name("index.npy"))
    return _split(np.load(path, mmap_mode="r"), index)


def _parquet(path: Path) -> Documents:
    pq = pytest.importorskip("pyarrow.parquet")
    found: Documents = pq.read_table(path)["input_ids"].to_pylist()
    return found


def _safetensors(path: Path) -> Documents:
    numpy = pytest.importorskip("safetensors.numpy")
    found = numpy.load_file(path)
    return _split(found["input_ids"], found["offsets"])


def _megatron(path: Path) -> Documents:
    from tests.twins.megatron import read

    return read(path).sequences


def _shards(form: str, read: Callable[[Path], Documents]) -> Callable[[Path], Documents]:
    """Documents that end with their shard: those of all shards, in order."""

    def joined(folder: Path) -> Documents:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        assert manifest["form"] == form
        found: Documents = []
        for shard in manifest["shards"]:
            found += read(
                folder / Path(shard["file"]).with_suffix("")
                if form == "megatron"
                else folder / shard["file"]
            )
        return found

    return joined


def _bin_shards(folder: Path) -> Documents:
    """Documents run across shards: they are joined, and cut where each index says that one
    begins."""
    np = pytest.importorskip("numpy")
    ids: list[int] = []
    starts: list[int] = []
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    sizes = [shard["ids"] for shard in manifest["shards"]]
    assert all(size == 500 for size in sizes[:-1])
    for shard in manifest["shards"]:
        index = np.load(folder / shard["index"]["file"])
        starts += [len(ids) + int(start) for start in index]
        ids += np.fromfile(folder / shard["file"], dtype="<u2").tolist()
    assert starts[0] == 0
    return _split(ids, [*starts, len(ids)])


FORMS: dict[str, Asked] = {
    "ids": Asked(["--whole"], _decimal),
    "jsonl": Asked(["--whole", "--as", "jsonl", "--offsets"], _json_lines),
    "bin": Asked(["--as", "bin"], _bin),
    "npy": Asked(["--as", "npy"], _npy),
    "parquet": Asked(["--as", "parquet"], _parquet),
    "megatron": Asked(["--as", "megatron"], _megatron),
    "safetensors": Asked(["--as", "safetensors"], _safetensors),
    "bin, shards": Asked(["--as", "bin", "--shard-size", "500"], _bin_shards),
    "parquet, shards": Asked(
        ["--as", "parquet", "--shard-size", "700"], _shards("parquet", _parquet)
    ),
    "megatron, shards": Asked(
        ["--as", "megatron", "--shard-size", "600"], _shards("megatron", _megatron)
    ),
}
