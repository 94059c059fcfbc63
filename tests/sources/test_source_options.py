"""The options that say what is read: lists of names, and what does not go together."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import tokctl
from tests.errors import raises_code
from tests.sources.made import COMPRESS, all_of
from tokctl.cli.options.sources import ListedTexts
from tokctl.cli.world import Console
from tokctl.core.errors import TokctlError
from tokctl.sources import ReadOptions


def world(stdin: bytes = b"", *, terminal: bool = False) -> Console:
    streams: Any = (io.BytesIO(stdin), io.BytesIO(), io.StringIO())
    return Console(*streams, stdin_is_terminal=terminal)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("a.txt", "b.txt", "new\nline", "*.txt", os.fsdecode(b"\xff")):
        (tmp_path / name).write_bytes(os.fsencode(name))
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "c.txt").write_bytes(b"c")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_lists_of_names(folder: Path) -> None:
    (folder / "list").write_bytes(b"b.txt\n\n\xff\n*.txt\na.txt")
    (folder / "list0").write_bytes(b"new\nline\0\xff\0")
    both = ListedTexts(files_from="list", files0_from="list0")
    odd = os.fsdecode(b"\xff")
    expected = ["d/c.txt", "b.txt", odd, "*.txt", "a.txt", "new\nline", odd]
    assert both.names(world(), ["d/c.txt"]) == expected
    texts = [texts[0] for _, texts in all_of(both.open(world(), ["d/c.txt"]))]
    # A name that looks like a pattern is the file of that name.
    assert texts == [b"c", *(os.fsencode(name) for name in expected[1:])]
    (folder / "list.gz").write_bytes(COMPRESS["gz"](b"a.txt\n"))
    assert ListedTexts(files_from="list.gz").names(world(), None) == ["a.txt"]


def test_a_list_from_stdin_is_read_once() -> None:
    from_stdin = ListedTexts(files0_from="-")
    shell = world(b"a.txt\0b.txt\0")
    assert from_stdin.names(shell, ["d"]) == ["d", "a.txt", "b.txt"]
    assert [source.name for source in from_stdin.open(shell, None)] == ["a.txt", "b.txt"]
    # A list of nothing is nothing: stdin is not read for text instead.
    assert ListedTexts(files0_from="-").open(world(b"", terminal=True), None) == []


@pytest.mark.parametrize(
    ("listing", "stdin", "files", "says"),
    [
        ({"files_from": "-"}, b"a.txt\nnone\n", [], "stdin, line 2: can't read none: No such"),
        ({"files0_from": "-"}, b"a.txt\0\0x\0", [], "stdin, name 3: can't read x: No such file"),
        ({"files_from": "-"}, b"?.txt\n", [], r"stdin, line 1: can't read \?\.txt: No such file"),
        ({"files_from": "-"}, b"a.txt\nd\n", [], "stdin, line 2: d is a folder"),
        ({"files_from": "-"}, b"a\0b\n", [], "stdin, line 1: can't read"),
        ({"files_from": "-"}, b"a.txt\n", ["-"], "both a list of texts and a text"),
        ({"files_from": "-"}, b"-\n", [], "both a list of texts and a text"),
        ({"files_from": "-", "files0_from": "-"}, b"", [], "named twice"),
        ({"files0_from": "-"}, b"a.txt\nb.txt\n", [], r"name 1: can't read a\.txt"),
        ({"files_from": "none"}, b"", [], "can't read none: No such file"),
        ({"files_from": "d"}, b"", [], "d is a folder"),
        ({"files_from": ""}, b"", [], "the name of a file is empty"),
    ],
)
def test_lists_that_are_wrong(
    listing: dict[str, str], stdin: bytes, files: list[str], says: str
) -> None:
    with pytest.raises(TokctlError, match=says):
        ListedTexts(**listing).names(world(stdin), files)


def test_lines_are_no_names_that_end_with_nul() -> None:
    with pytest.raises(TokctlError) as caught:
        ListedTexts(files0_from="-").names(world(b"a.txt\nb.txt\n"), None)
    assert caught.value.hint is not None
    assert "--files-from takes lines" in caught.value.hint


def test_what_is_read_and_how() -> None:
    given = ListedTexts("jsonl", "a.b", ["*.md"], ["x", "y"])
    assert given.reading == ReadOptions("jsonl", "a.b", ("*.md",), ("x", "y"))
    assert ListedTexts().reading == ReadOptions()
    assert all_of(ListedTexts().open(world(b"text"), None)) == [("stdin", [b"text"])]
    with raises_code("missing-option"):
        ListedTexts().open(world(terminal=True), None)
    # Patterns without a folder change nothing.
    assert len(ListedTexts(include=["*.md"]).open(world(), ["a.txt"])) == 1
    lines = b'{"body": "x"}\n'
    assert all_of(ListedTexts(text_field="body").open(world(lines), None)) == [("stdin", [b"x"])]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"format": "csv"}, "invalid value 'csv' for --format"),
        ({"format": "text", "text_field": "a"}, "can't be used with --format text"),
        ({"format": "raw", "text_field": "a"}, "can't be used with --format raw"),
        ({"format": "tsv", "text_field": "a"}, "can't be used with --format tsv"),
        ({"text_field": ""}, "--text-field is empty"),
        ({"include": ["a", ""]}, "a pattern of --include is empty"),
        ({"exclude": [""]}, "a pattern of --exclude is empty"),
    ],
)
def test_what_does_not_go_together(options: dict[str, Any], says: str) -> None:
    with pytest.raises(TokctlError, match=says):
        ListedTexts(**options).open(world(), ["a.txt"])


def test_counts_that_are_compressed(folder: Path) -> None:
    (folder / "words.tsv.gz").write_bytes(COMPRESS["gz"](b"low\t5\nlower\t2\n"))
    (folder / "words.tsv").write_bytes(b"low\t5\nlower\t2\n")
    for name in ("words.tsv.gz", "words.tsv"):
        arguments = ["train", "--algo", "bpe", "--vocab", "260", "--word-counts", name, "-o"]
        done = tokctl(*arguments, f"{name}.json")
        assert done.code == 0, done.err
    assert (folder / "words.tsv.json").read_bytes() == (folder / "words.tsv.gz.json").read_bytes()
