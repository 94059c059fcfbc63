"""Texts in UTF-16 and UTF-32, and binary data: read as bytes, and a note says so; `.lzma`."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from tests.cli.run import tokctl
from tests.errors import raises_code
from tokctl import Tokenizer
from tokctl.sources import documents

TEXT = "The lamplighter climbs the hill. " * 20


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "m.json"
    Tokenizer.train(dict.fromkeys(TEXT.split(), 1), vocab_size=270).save(path)
    return path


@pytest.mark.parametrize(
    ("encoding", "kind"),
    [
        ("utf-16", "looks like UTF-16"),
        ("utf-16-le", "looks like UTF-16"),
        ("utf-16-be", "looks like UTF-16"),
        ("utf-32", "looks like UTF-32"),
        ("utf-32-be", "looks like UTF-32"),
    ],
)
def test_a_note_for_each_encoding(tmp_path: Path, model: Path, encoding: str, kind: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT.encode(encoding))
    for arguments, stdin in (([path], None), (["-"], path.read_bytes())):
        done = tokctl("encode", "-m", model, "--as", "bin", *arguments, stdin=stdin)
        assert done.code == 0
        assert kind in done.err
        assert done.err.startswith("note: ")
    assert tokctl("encode", "-m", model, path).out != b""


def test_a_note_for_binary_data(tmp_path: Path, model: Path) -> None:
    (tmp_path / "a").write_bytes(bytes([0, 0, 1, 0, 5, 0, 0, 3, 0, 200, 0, 0]) * 10)
    done = tokctl("encode", "--count", "-m", model, tmp_path / "a")
    assert (done.code, "note: " in done.err, "has many NUL bytes" in done.err) == (0, True, True)


@pytest.mark.parametrize("data", [b"", b"a", b"\0", b"a\0b", TEXT.encode(), "é".encode() * 99])
def test_no_note_for_text(tmp_path: Path, model: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    assert tokctl("encode", "--count", "-m", model, tmp_path / "a").err == ""


@pytest.mark.parametrize("preset", range(10))
def test_lzma(tmp_path: Path, preset: int) -> None:
    path = tmp_path / "a.lzma"
    packed = lzma.compress(TEXT.encode(), format=lzma.FORMAT_ALONE, preset=preset)
    path.write_bytes(packed)
    (found,) = documents([path])
    assert b"".join(found.blocks()) == TEXT.encode()
    path.write_bytes(packed[:-9])
    (found,) = documents([path])
    with raises_code("damaged"):
        list(found.blocks())


@pytest.mark.parametrize(
    "data", [b"]", b"]\0\0", b"]\0\0\0", b"] and more text", b"]]]]]]]]]]]]]]"]
)
def test_text_that_begins_as_lzma_does(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    (found,) = documents([tmp_path / "a"])
    assert b"".join(found.blocks()) == data
