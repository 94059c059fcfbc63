"""`bench`: who is measured, what stands there, and what `--validate` says."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import tokctl
from tokctl import Tokenizer
from tokctl.analysis import bench, verification
from tokctl.analysis.verification import LoadedTokenizer, Peer
from tokctl.sources import open_sources

LINES = ["low lower", "", "newest widest é"]


@pytest.fixture
def text() -> Path:
    path = Path("a.txt")
    path.write_text("\n".join(LINES), encoding="utf-8")
    return path


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """One other library: what it does with the ids that are right, by name."""
    does: dict[str, Any] = {"change": lambda ids: ids}

    def load(_path: Path, model: Any) -> LoadedTokenizer:
        if "error" in does:
            raise ValueError(does["error"])
        right = Tokenizer(model)

        def encode(texts: Any, _around: bool) -> list[list[int]]:
            return [does["change"](ids) for ids in right.encode_ids(texts)]

        return LoadedTokenizer("tokenizers 1.0", encode, right.decode, right.tokens.__getitem__)

    monkeypatch.setattr(verification, "PEERS", {"huggingface": (Peer("tokenizers", load),)})
    monkeypatch.setattr(bench, "PEERS", verification.PEERS)
    monkeypatch.setattr(bench, "LIBRARIES", {"tokenizers": ("json", "huggingface")})
    return does


def test_what_is_measured(models: dict[str, Path], text: Path, peers: dict[str, Any]) -> None:
    assert peers
    done = tokctl("bench", models["bytes"], text, "--json", "--repeat", "3", "--validate")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    tok = Tokenizer.load(models["bytes"])
    rows = [tok.encode_ids(line) for line in LINES]
    packed = b"".join(struct.pack(f"<{len(row)}I", *row) for row in rows)
    packed += struct.pack("<3Q", *map(len, rows))
    assert [speed["name"].split()[0] for speed in found["speeds"]] == ["tokctl", "tokenizers"]
    assert [speed["file"] for speed in found["speeds"]] == ["own", "huggingface"]
    for speed in found["speeds"]:
        assert speed["digest"] == hashlib.sha256(packed).hexdigest()[:16]
        assert speed["same"] and speed["ids"] == sum(map(len, rows))
        assert len(speed["seconds"]) == 3
        assert 0 < speed["slowest"] <= speed["again"] <= speed["fastest"]
    assert found["speeds"][0]["ratio"] == 1
    assert (found["texts"], found["bytes"]) == (3, sum(len(line.encode()) for line in LINES))
    assert found["validated"] and not found["differences"]


def test_other_ids_are_shown(models: dict[str, Path], text: Path, peers: dict[str, Any]) -> None:
    peers["change"] = lambda ids: [*ids[:1], 0, *ids[2:]] if len(ids) > 4 else ids
    done = tokctl("bench", models["bytes"], text, "--repeat", "1", "--validate")
    assert done.code == 1
    lines = done.out.decode().splitlines()
    assert lines[4].endswith("   own") and "differ" not in lines[4]
    assert lines[5].endswith(" differ   huggingface")
    assert "gives other ids: a.txt, line " in done.out.decode()
    tables = tokctl("bench", models["bytes"], text, "--repeat", "1", "--csv").out.decode()
    names, own, _other = csv.reader(tables.splitlines())
    assert names == ["library", "first", "again", "min-max", "time", "ids", "file"]
    assert (own[0].split()[0], own[4], own[6]) == ("tokctl", "1.0", "own")
    assert tokctl("bench", models["bytes"], text, "--repeat", "1").code == 0


def test_who_is_left_out(
    models: dict[str, Path],
    text: Path,
    peers: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def left_out() -> str:
        done = tokctl("bench", models["bytes"], text, "--repeat", "1", "--json")
        assert done.code == 0
        (one,) = json.loads(done.out)["not_measured"]
        return str(one["reason"])

    peers["error"] = "of no use"
    assert left_out() == "can't load it: of no use"
    del peers["error"]
    peers["change"] = lambda _ids: 1 // 0
    assert "division" in left_out()
    monkeypatch.setattr(bench, "LIBRARIES", {"tiktoken": ("no_such_module", "tiktoken")})
    assert left_out() == "is not installed"


@pytest.mark.parametrize("name", ["bytes", "wordpiece"])
def test_the_libraries_agree(models: dict[str, Path], text: Path, name: str) -> None:
    """Whoever is installed gives the same ids, from its own file or a converted one."""
    pytest.importorskip("tokenizers")
    found = bench.bench(models[name], open_sources([text]), repeat=1, validate=True)
    assert not found.failed
    assert len(found.speeds) >= 2
    assert all(speed.same for speed in found.speeds)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_on_a_terminal(
    models: dict[str, Path],
    text: Path,
    peers: dict[str, Any],
    width: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert peers
    monkeypatch.setenv("COLUMNS", str(width))
    done = tokctl("bench", models["bytes"], text, "--validate", stdout_is_terminal=True)
    shown = done.out.decode()
    assert done.code == 0
    assert "tokenizers 1.0" in shown and "1.00x" in shown
    if width == 200:
        assert "huggingface" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    for line in plain.splitlines():
        assert len(line) <= width or "/" in line  # the path of the model


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["none.json", "a.txt"], "none.json"),
        (["MODEL", "none.txt"], "none.txt"),
        (["MODEL", "empty.txt"], "there is no text to encode"),
        (["MODEL", "a.txt", "--repeat", "0"], "--repeat"),
        (["MODEL", "a.txt", "--threads", "0"], "--threads"),
        (["MODEL", "a.txt", "--json", "--markdown"], "two outputs"),
        (["MODEL", "not.txt"], "is not UTF-8"),
        (["MODEL"], "there is no text: stdin is a terminal"),
    ],
)
def test_errors(models: dict[str, Path], text: Path, arguments: list[str], told: str) -> None:
    assert text.exists()
    Path("empty.txt").write_bytes(b"")
    Path("not.txt").write_bytes(b"\xff")
    model = str(models["bytes"])
    done = tokctl("bench", *[model if each == "MODEL" else each for each in arguments])
    assert done.code == 2
    assert told in done.err and done.err.startswith("error: ")
