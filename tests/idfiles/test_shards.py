"""Folders of shards: what is in them, and that nothing depends on how they were made."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokctl
from tests.cli.run import error
from tests.cli.run import tokctl as run
from tests.idfiles import made
from tests.idfiles.reading import documents
from tokctl import TokctlError, Tokenizer, idfiles
from tokctl.idfiles.manifest import MANIFEST_HINT

Models = dict[str, Tokenizer]
EXACT = ("bin", "npy")
BY_DOCUMENT = ("parquet", "megatron", "safetensors")


def sharded(tokenizer: Tokenizer, texts: list[bytes], form: str, size: int, **more: Any) -> Any:
    """The manifest of a fresh folder `shards`."""
    shutil.rmtree("shards", ignore_errors=True)
    done = idfiles.write(tokenizer, made.mixed(texts), "shards", form=form, shard_size=size, **more)
    manifest = orjson.loads(Path("shards/manifest.json").read_bytes())
    assert done.manifest == manifest
    return manifest


def joined(manifest: Any) -> tuple[list[int], list[int]]:
    """All ids of exact shards, and where documents begin among them."""
    ids: list[int] = []
    starts: list[int] = []
    for shard in manifest["shards"]:
        path = Path("shards") / shard["file"]
        found = np.load(path) if path.suffix == ".npy" else np.fromfile(path, "<u2")
        begun = np.load(Path("shards") / shard["index"]["file"])
        assert (len(found), len(begun)) == (shard["ids"], shard["documents"])
        starts += (begun + len(ids)).tolist()
        ids += found.tolist()
    return ids, starts


@given(
    texts=st.lists(
        st.sampled_from([b"", b"low", b"newest low\n", b"abab " * 9, "東京 🙂".encode()]),
        max_size=9,
    ),
    size=st.integers(1, 60),
    form=st.sampled_from([*EXACT, *BY_DOCUMENT]),
    eos=st.sampled_from([None, "<|end|>"]),
    threads=st.sampled_from([1, 2]),
)
def test_shards_joined_are_the_whole(
    models: Models, texts: list[bytes], size: int, form: str, eos: str | None, threads: int
) -> None:
    texts = [*texts, b""]
    tokenizer = models["bytes"]
    end = [] if eos is None else [tokenizer.special_ids[eos]]
    expected = made.ids_of(tokenizer, texts, *end)
    manifest = sharded(tokenizer, texts, form, size, eos=eos, threads=threads)
    shards = manifest["shards"]
    total = sum(map(len, expected))
    assert manifest["totals"]["ids"] == sum(shard["ids"] for shard in shards) == total
    assert manifest["totals"]["documents"] == len(texts)
    if form in EXACT:
        ids, starts = joined(manifest)
        assert ids == [id_ for row in expected for id_ in row]
        assert starts == np.cumsum([0, *map(len, expected[:-1])]).tolist()
        assert {shard["ids"] for shard in shards[:-1]} <= {size}
        assert all(0 < shard["ids"] <= size or total == 0 for shard in shards)
        return
    found = []
    for shard in shards:
        name = shard["file"].removesuffix(".bin") if form == "megatron" else shard["file"]
        rows = documents(form, Path("shards") / name)
        assert (len(rows), sum(map(len, rows))) == (shard["documents"], shard["ids"])
        found += rows
        while rows and not rows[-1]:
            rows.pop()  # empty ones behind the last id belong to it
        assert sum(map(len, rows[:-1])) < size
    assert found == expected
    assert all(shard["ids"] >= size for shard in shards[:-1])


@pytest.mark.few(2)
@pytest.mark.parametrize("form", idfiles.BINARY_FORMS)
def test_the_bytes_are_the_same_however_they_are_made(models: Models, form: str) -> None:
    texts = [*made.TEXTS, "low 東京 newest\n".encode() * 5000, *made.TEXTS]
    seen = []
    for threads, block in ((1, 1 << 20), (3, 1 << 20), (2, 5000)):
        for lines in (False, True):
            shutil.rmtree("shards", ignore_errors=True)
            sources = [made.document(text, block=block) for text in texts]
            idfiles.write(
                models["bytes"],
                sources,
                "shards",
                form=form,
                shard_size=777,
                threads=threads,
                lines=lines,
            )
            seen.append(made.contents(Path("shards")))
    assert seen[0] == seen[2] == seen[4]
    assert seen[1] == seen[3] == seen[5]


def test_the_manifest_says_what_is_there(models: Models, models_folder: Path) -> None:
    Path("a.txt").write_bytes(b"low lower\nnewest\n" * 9)
    Path("b.txt").write_bytes(b"")
    model = models_folder / "bytes.json"
    done = run(
        "encode", "-m", model, "--as", "bin", "--shard-size", "10", "--eos", "<|end|>",
        "-o", "shards", "a.txt", "b.txt",
    )  # fmt: skip
    assert done == (0, b"", "")
    manifest = orjson.loads(Path("shards/manifest.json").read_bytes())
    ids = len(models["bytes"].encode_ids(b"low lower\nnewest\n" * 9)) + 2
    assert manifest["model"] == {
        "sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
        "vocab_size": models["bytes"].vocab_size,
    }
    known = {
        key: manifest[key] for key in ("manifest", "tokctl", "form", "dtype", "shard_size", "eos")
    }
    assert known == {
        "manifest": 1, "tokctl": tokctl.__version__, "form": "bin", "dtype": "uint16",
        "shard_size": 10, "eos": "<|end|>",
    }  # fmt: skip
    assert manifest["sources"] == [
        {"name": "a.txt", "bytes": 153, "documents": 1, "ids": ids - 1},
        {"name": "b.txt", "bytes": 0, "documents": 1, "ids": 1},
    ]
    files = made.contents(Path("shards"))
    listed = {"manifest.json"}
    for shard in manifest["shards"]:
        for file in (shard, shard["index"]):
            data = files[file["file"]]
            assert file["bytes"] == len(data)
            assert file["sha256"] == hashlib.sha256(data).hexdigest()
            listed.add(file["file"])
    assert files.keys() == listed
    sizes = sum(len(data) for name, data in files.items() if name != "manifest.json")
    assert manifest["totals"] == {
        "shards": -(-ids // 10), "documents": 2, "ids": ids, "bytes": sizes
    }  # fmt: skip
    mapped = np.memmap("shards/shard-00000.bin", dtype=np.uint16)
    assert len(mapped) == 10


def test_jsonl_in_shards_is_jsonl(models_folder: Path, models: Models, sample: str) -> None:
    del models
    Path("a.txt").write_text(sample, encoding="utf-8")
    whole = ("encode", "-m", models_folder / "bytes.json", "--as", "jsonl", "--offsets", "a.txt")
    assert run(*whole, "--shard-size", "500", "-o", "shards").code == 0
    manifest = orjson.loads(Path("shards/manifest.json").read_bytes())
    lines = [
        (Path("shards") / shard["file"]).read_bytes().splitlines() for shard in manifest["shards"]
    ]
    assert [line for some in lines for line in some] == run(*whole).out.splitlines()
    for some, shard in zip(lines, manifest["shards"], strict=True):
        ids = [len(orjson.loads(line)["ids"]) for line in some]
        assert (len(ids), sum(ids)) == (shard["documents"], shard["ids"])
    assert len(lines) > 5


def test_a_name_that_is_not_utf8(models: Models) -> None:
    name = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    Path(name).write_bytes(b"low")
    done = idfiles.write(models["bytes"], [name], "shards", shard_size=5)
    assert done.manifest is not None
    assert done.manifest["sources"][0]["name"] == {"bytes": "Y2Fm6S50eHQ="}


def test_no_documents_make_no_shards(models: Models) -> None:
    for form in idfiles.BINARY_FORMS:
        shutil.rmtree("shards", ignore_errors=True)
        done = idfiles.write(models["bytes"], [], "shards", form=form, shard_size=5)
        manifest = done.manifest
        assert manifest is not None
        assert (manifest["shards"], manifest["totals"]["documents"]) == ([], 0)
        assert list(made.contents(Path("shards"))) == ["manifest.json"]


def test_a_folder_that_holds_something_is_refused(models: Models, models_folder: Path) -> None:
    del models
    command = (
        "encode", "-m", models_folder / "bytes.json", "--as", "bin", "--shard-size", "9", "-o", "f",
    )  # fmt: skip
    Path("f").mkdir()
    Path("f/note").touch()
    other = "choose another folder with -o"
    for more in ((), ("--resume",)):
        done = run(*command, *more, stdin=b"low")
        assert done == (2, b"", error("f is not empty", other))
    Path("f/note").unlink()
    assert run(*command, "--resume", stdin=b"low").code == 0  # nothing to go on with: it begins
    done = run(*command, stdin=b"low")
    assert done == (2, b"", error("f holds finished shards", f"remove it first, or {other}"))
    Path("g").touch()
    done = run(*command[:-1], "g", stdin=b"low")
    assert done == (2, b"", error("can't write shards to g: it is not a folder", other))
    Path("f/manifest.json").write_bytes(b"{}")
    done = run(*command, "--resume", stdin=b"low")
    problem = "f/manifest.json is not a manifest of shards: 'form' is missing"
    assert done == (2, b"", error(problem, MANIFEST_HINT))


def test_an_index_or_one_file_is_not_for_shards(models: Models) -> None:
    for more in ({"index": "i"}, {"shard_size": 0}):
        with pytest.raises(TokctlError):
            idfiles.write(models["bytes"], [], "f", **{"shard_size": 5, **more})  # type: ignore[arg-type]
    with pytest.raises(TokctlError):
        idfiles.write(models["bytes"], [], "f", resume=True)
    assert not Path("f").exists()
