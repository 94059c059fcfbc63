"""Folders of shards, whole and damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.run import tokctl as run
from tests.errors import raises_code
from tests.idfiles.readers import files
from tests.idfiles.readers.files import IDS, MODEL, TEXTS, lines
from tokctl import TokctlError, idfiles
from tokctl.idfiles.reader import read_text

pytest.importorskip("pyarrow")
pytest.importorskip("safetensors")

FLAT = [id_ for ids in IDS for id_ in ids]


def text(path: Path, **how: object) -> bytes:
    return b"".join(read_text(MODEL, path, **how))


def folder(path: Path, form: str, names: list[str], **more: Any) -> Path:
    """The manifest of shards that lie there; the second file of a shard is its index."""
    shards = []
    for name in names:
        size = (path / name).stat().st_size
        shards.append({"file": name, "bytes": size, "ids": 1, "index": {"file": "x.npy"}})
    said = {"manifest": 1, "form": form, "dtype": "uint16", "shards": shards} | more
    (path / "manifest.json").write_text(json.dumps(said))
    return path


@pytest.mark.parametrize("form", ["bin", "npy"])
def test_a_document_goes_on_in_the_next_shard(tmp_path: Path, form: str) -> None:
    names = []
    for number, at in enumerate(range(0, len(FLAT), 3)):
        names.append(f"shard-{number:05}.{form}")
        some = np.array(FLAT[at : at + 3], dtype="<u2")
        if form == "bin":
            some.tofile(tmp_path / names[-1])
        else:
            np.save(tmp_path / names[-1], some)
    folder(tmp_path, form, names)
    assert text(tmp_path) == text(tmp_path / "manifest.json") == b"".join(TEXTS)
    assert text(tmp_path, form=form) == b"".join(TEXTS)
    with pytest.raises(TokctlError, match=f"holds {form}, not parquet"):
        text(tmp_path, form="parquet")


@pytest.mark.parametrize("name", files.WRITERS)
def test_shards_of_documents(tmp_path: Path, name: str) -> None:
    ending = Path(name).suffix
    for number in range(3):
        path = tmp_path / f"shard-{number:05}{ending}"
        files.WRITERS[name](path, IDS[2 * number : 2 * number + 2])  # type: ignore[call-arg]
    form = {".idx": "megatron"}.get(ending, ending[1:])
    ending = ".bin" if form == "megatron" else ending
    folder(tmp_path, form, [f"shard-{number:05}{ending}" for number in range(3)])
    assert text(tmp_path) == lines(TEXTS)


def test_shards_of_lines(tmp_path: Path) -> None:
    for number, ids in enumerate(IDS):
        (tmp_path / f"{number}.jsonl").write_text(json.dumps({"ids": ids}) + "\n")
    folder(tmp_path, "jsonl", [f"{number}.jsonl" for number in range(len(IDS))], dtype=None)
    assert text(tmp_path) == b"".join(text + b"\n" for text in TEXTS)


def test_the_dtype_of_the_manifest(tmp_path: Path) -> None:
    np.array(FLAT, dtype="<i4").tofile(tmp_path / "a.bin")
    assert text(folder(tmp_path, "bin", ["a.bin"], dtype="int32")) == b"".join(TEXTS)


def test_damage(tmp_path: Path) -> None:
    np.array(FLAT, dtype="<u2").tofile(tmp_path / "a.bin")
    np.array(FLAT, dtype="<u2").tofile(tmp_path / "b.bin")
    folder(tmp_path, "bin", ["a.bin", "b.bin"])

    def refused(path: Path = tmp_path) -> str:
        with pytest.raises(TokctlError) as caught:
            read_text(MODEL, path)  # before anything is read
        return caught.value.message

    (tmp_path / "b.bin").write_bytes(b"\1\0")
    assert refused().endswith(f"b.bin has 2 bytes, not {2 * len(FLAT)}")
    (tmp_path / "b.bin").unlink()
    assert refused() == f"the shard {tmp_path / 'b.bin'} is missing"
    for name in ("../a.bin", "/etc/passwd", "..", "", 7, "a\0"):
        folder(tmp_path, "bin", ["a.bin"], shards=[{"file": name}])
        assert ": shards[0].file is " in refused()
    for said in ("[]", "{}", '{"shards": 1, "form": "bin"}', '{"shards": []}'):
        (tmp_path / "manifest.json").write_text(said)
        assert "manifest.json is not a manifest of shards: " in refused()
    (tmp_path / "manifest.json").write_text("{")
    assert "manifest.json is not valid JSON" in refused()
    (tmp_path / "manifest.json").unlink()
    assert refused().endswith("is a folder without manifest.json")
    (tmp_path / "journal.jsonl").write_text("")
    assert refused() == f"{tmp_path} holds shards of a run that stopped"
    folder(tmp_path, "spam", ["a.bin"])
    with raises_code("damaged", "holds 'spam', which is not a form of ids"):
        text(tmp_path)


@pytest.mark.parametrize("form", ["bin", "npy", "parquet", "megatron", "safetensors"])
def test_digests_are_compared(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text before a damaged shard comes, the rest does not, and no file appears."""
    monkeypatch.chdir(tmp_path)
    text_path, shards = tmp_path / "a.txt", tmp_path / "shards"
    text_path.write_bytes(b"\n".join(TEXTS))
    idfiles.write(MODEL, [text_path], shards, form=form, lines=True, shard_size=5)
    whole = text(shards)
    listed = json.loads((shards / "manifest.json").read_text())["shards"]
    assert len(listed) > 2
    names = [listed[1]["file"]]
    if form == "megatron":
        names.append(listed[1]["index"]["file"])
    for name in names:
        data = bytearray((shards / name).read_bytes())
        data[-1] ^= 1
        (shards / name).write_bytes(data)
        came = []
        fault = f"the shard {shards / name} has another checksum (SHA-256)"
        with pytest.raises(TokctlError) as caught:
            came.extend(read_text(MODEL, shards))
        assert (caught.value.message, bool(caught.value.hint)) == (fault, True)
        assert whole.startswith(b"".join(came))
        MODEL.save("m.json")
        fault = f"error: the shard {Path('shards', name)} has another checksum (SHA-256)\n"
        done = run("decode", "-m", "m.json", "-o", "out", "shards")
        assert (done.code, done.err.startswith(fault)) == (2, True)
        assert not [path for path in tmp_path.iterdir() if "out" in path.name]
        data[-1] ^= 1
        (shards / name).write_bytes(data)
    assert text(shards) == whole


@pytest.mark.parametrize("form", ["bin", "npy", "parquet", "megatron", "safetensors", "jsonl"])
def test_what_encode_writes(tmp_path: Path, form: str) -> None:
    """The folders that the writers of this package make."""
    idfiles = pytest.importorskip("tokctl.idfiles")
    if not hasattr(idfiles, "write"):
        pytest.skip("the writers are not here yet")
    names = []
    for number, one in enumerate(TEXTS[:4]):
        names.append(tmp_path / f"{number}.txt")
        names[-1].write_bytes(one)
    if form != "jsonl":
        target = tmp_path / "one"
        idfiles.write(MODEL, names, target, form=form)
        how = {"form": form} if form in ("bin", "megatron") else {}
        assert text(target, separator=b"", **how) == b"".join(TEXTS[:4])
        idfiles.write(MODEL, names, tmp_path / "shards", form=form, shard_size=5)
        assert text(tmp_path / "shards", separator=b"") == b"".join(TEXTS[:4])
