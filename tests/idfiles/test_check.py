"""`tokctl check`: folders of shards that are whole, and what is said of others."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from tests.cli.run import error, slashed
from tests.cli.run import tokctl as run
from tests.idfiles import made
from tokctl import Tokenizer, idfiles
from tokctl.core.humanize import plural
from tokctl.idfiles.manifest import MANIFEST_HINT

Models = dict[str, Tokenizer]


def shards(tokenizer: Tokenizer, form: str, size: int = 60) -> Any:
    """A fresh folder of shards, and its manifest."""
    shutil.rmtree("shards", ignore_errors=True)
    idfiles.write(tokenizer, made.mixed(made.TEXTS), "shards", form=form, shard_size=size)
    return orjson.loads(Path("shards/manifest.json").read_bytes())


def faults(manifest: Any = None) -> list[str]:
    """The lines of `tokctl check shards`, with another manifest where one is given."""
    if manifest is not None:
        made.write_manifest(Path("shards"), manifest)
    done = run("check", "shards")
    assert (done.code, done.err) == (1, "")
    return slashed(done.out.decode()).splitlines()


@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_a_folder_that_is_whole(models: Models, form: str) -> None:
    for size in (60, 10**9):
        totals = shards(models["bytes"], form, size)["totals"]
        summary = (
            f"shards: whole: {plural(totals['shards'], 'shard')} ({form}), {totals['documents']:,} "
            f"documents, {totals['ids']:,} ids, {totals['bytes']:,} bytes\n"
        )
        for name in ("shards", "shards/manifest.json"):
            assert run("check", name) == (0, summary.replace("shards:", f"{name}:", 1).encode(), "")


def test_shards_of_jsonl(models_folder: Path) -> None:
    Path("a.txt").write_bytes(b"low lower\nnewest\n\n" * 9)
    model = models_folder / "bytes.json"
    made = run(
        "encode", "-m", model, "--as", "jsonl", "--shard-size", "20", "-o", "shards", "a.txt"
    )
    assert made.code == 0
    done = run("check", "shards", "shards")
    assert (done.code, done.out.count(b"shards: whole: ")) == (0, 2)
    manifest = orjson.loads(Path("shards/manifest.json").read_bytes())
    manifest["shards"][0]["documents"] += 1
    first, *_ = faults(manifest)
    assert first.startswith("shards/shard-00000.jsonl has ")


@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_files_that_are_not_as_they_were(models: Models, form: str) -> None:
    first, second, *_ = shards(models["bytes"], form)["shards"]
    path = Path("shards", first["file"])
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)
    Path("shards", second["file"]).unlink()
    Path("shards/shard-12345.bin").write_bytes(b"")
    assert faults() == [
        f"shards/{first['file']} has another checksum (SHA-256)",
        f"shards/{second['file']} is missing",
        "shards/shard-12345.bin is in the folder and not in shards/manifest.json",
    ]
    path.write_bytes(data[:-1])
    assert faults()[0] == (
        f"shards/{first['file']} has {len(data) - 1:,} bytes, not {first['bytes']:,}"
    )


@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_a_manifest_whose_numbers_are_others(models: Models, form: str) -> None:
    manifest = shards(models["bytes"], form)
    shard, totals = manifest["shards"][-1], dict(manifest["totals"])
    shard["ids"] -= 1
    shard["documents"] += 2
    name = f"shards/{shard['file']}"
    assert faults(manifest) == [
        f"{name} has {shard['ids'] + 1:,} ids, and the manifest says {shard['ids']:,}",
        f"{name} has {shard['documents'] - 2:,} documents, and the manifest says "
        f"{shard['documents']:,}",
        f"shards/manifest.json has {totals['documents']:,} documents in all, and its shards "
        f"{totals['documents'] + 2:,}",
        f"shards/manifest.json has {totals['ids']:,} ids in all, and its shards "
        f"{totals['ids'] - 1:,}",
    ]


def test_an_index_and_a_size_that_do_not_fit(models: Models) -> None:
    manifest = shards(models["bytes"], "npy")
    index = manifest["shards"][0]["index"]
    path = Path("shards", index["file"])
    starts = np.load(path)
    starts[-1] = 61
    np.save(path, starts)
    from hashlib import sha256

    index["sha256"] = sha256(path.read_bytes()).hexdigest()
    assert faults(manifest) == [
        f"shards/{index['file']}: document {len(starts)} begins with id 61 of 60"
    ]
    manifest = shards(models["bytes"], "bin")
    manifest["shard_size"] = 61
    assert faults(manifest)[0] == "shards/shard-00000.bin has 60 ids, where shards have 61"
    del manifest["shards"][0]["index"]
    assert faults(manifest)[0] == "shards/shard-00000.bin has 1 files, which bin has not"


def test_no_folder() -> None:
    hint = "name one: tokctl check shards/"
    assert run("check") == (2, b"", error("no folder of shards is named", hint))


def test_folders_without_a_manifest(models: Models) -> None:
    Path("empty").mkdir()
    assert run("check", "empty") == (
        2, b"", error("empty is a folder without manifest.json", "name the files in it"),
    )  # fmt: skip
    manifest = shards(models["bytes"], "bin")
    for key in ("shards", "totals", "form", "shard_size", "sources", "dtype"):
        made.write_manifest(Path("shards"), {**manifest, key: "?"})
        done = run("check", "shards")
        assert (done.code, done.out) == (2, b"")
        assert done.err.startswith("error: shards/manifest.json is ")
    manifest["totals"]["ids"] += 1
    Path("shards/manifest.json").write_bytes(orjson.dumps(manifest))
    message = "shards/manifest.json was changed after it was written"
    assert run("check", "shards") == (2, b"", error(message, MANIFEST_HINT))
    manifest["shards"][0]["file"] = "../other"
    made.write_manifest(Path("shards"), manifest)
    assert run("check", "shards").code == 2
