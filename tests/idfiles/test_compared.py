"""What a run that goes on, or finds itself finished, is compared with."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import error, tokctl
from tests.idfiles import made
from tokctl import TokctlError, Tokenizer, idfiles
from tokctl.idfiles import writer
from tokctl.idfiles.manifest import MANIFEST_HINT

Models = dict[str, Tokenizer]
SAME = "give the same sources and options as before, or write to another folder"


def write(tokenizer: Tokenizer, sources: list[Any], **more: Any) -> Any:
    return idfiles.write(tokenizer, sources, "f", **{"shard_size": 50, "form": "bin", **more})


def encode(*more: str) -> Any:
    fixed = ("encode", "-m", "m.json", "--as", "bin", "--shard-size", "50", "-o", "f")
    return tokctl(*fixed, *more)


@pytest.fixture(autouse=True)
def texts(models: Models) -> None:
    """Two texts, the second of which is no UTF-8."""
    models["wordpiece"].save("m.json")
    Path("a.txt").write_bytes(b"low lower\n" * 60)
    Path("b.txt").write_bytes(b"low\xff\n")


def test_an_option_that_the_other_caller_does_not_have(models: Models) -> None:
    """The command line has options that `idfiles.write` has not; what is off is the same."""
    assert encode("a.txt", "b.txt", "--max-length", "9", "--lines").code == 2
    with pytest.raises(TokctlError) as caught:
        write(models["wordpiece"], ["a.txt", "b.txt"], lines=True, resume=True)
    assert caught.value.message == "f was begun with max_length 9, and now it is none"
    shutil.rmtree("f")
    for first_is_command in (True, False):
        for special in ("none", "all"):
            Path("b.txt").write_bytes(b"low\xff\n")
            options = ["--special", special, "a.txt", "b.txt"]
            if first_is_command:
                assert encode(*options).code == 2
            else:
                with pytest.raises(TokctlError):
                    write(models["wordpiece"], ["a.txt", "b.txt"], special=special)
            Path("b.txt").write_bytes(b"low\n")
            if first_is_command:
                done = write(models["wordpiece"], ["a.txt", "b.txt"], special=special, resume=True)
                assert done.kept
            else:
                assert encode("--resume", *options).code == 0
            shutil.rmtree("f")


def test_a_text_that_changed_after_the_run_had_finished() -> None:
    Path("b.txt").write_bytes(b"low\n")
    assert encode("a.txt", "b.txt").code == 0
    assert "nothing was done" in encode("--resume", "a.txt", "b.txt").err
    Path("b.txt").write_bytes(b"low low\n")
    message = "b.txt has 8 bytes now; it had 4 when it was read"
    hint = "write to another folder: the shards of f have the text as it was"
    assert encode("--resume", "a.txt", "b.txt") == (2, b"", error(message, hint))


def test_a_file_that_is_called_stdin() -> None:
    Path("a.txt").rename("stdin")
    assert encode("stdin", "b.txt").code == 2
    Path("b.txt").write_bytes(b"low\n")
    assert encode("--resume", "./stdin", "b.txt").code == 0
    found = made.contents(Path("f"))
    shutil.rmtree("f")
    assert encode("stdin", "b.txt").code == 0
    assert made.contents(Path("f")) == found
    shutil.rmtree("f")
    Path("b.txt").write_bytes(b"low\xff\n")
    assert encode("stdin", "b.txt").code == 2
    os.utime("stdin", ns=(0, 1))
    assert encode("--resume", "stdin", "b.txt").err.startswith("error: stdin was changed after")


def test_a_model_of_two_files(models: Models) -> None:
    """The name of one is given, and the other decides, too."""
    from tokctl import formats

    for name, data in formats.write(models["bytes"].model, "vocab-merges").items():
        Path(name).write_bytes(data)
    path = "vocab.json"
    before = writer.model_facts(Tokenizer.load(path), path)
    merges = Path("merges.txt").read_bytes().splitlines(keepends=True)
    Path("merges.txt").write_bytes(b"".join(merges[:-1]))
    assert writer.model_facts(Tokenizer.load(path), path) != before
    single = writer.model_facts(Tokenizer.load("m.json"), "m.json")
    assert single["vocab_size"] == models["wordpiece"].vocab_size


ENTRY = {
    "shard": {
        "file": "shard-00000.bin",
        "bytes": 4,
        "sha256": "0" * 64,
        "ids": 2,
        "documents": 0,
    },
    "next": [[0, 0], [0, 0, 0, 0, 0], 0, 2],
    "units": [[0, 0, 0, 2, 0]],
    "facts": [[0, 600, None]],
}


@pytest.mark.parametrize(
    ("line", "header", "entry"),
    [
        (1, [], {}),
        (1, 5, {}),
        (1, {"sources": 5}, {}),
        (2, {"sources": ["a.txt"]}, 5),
        (2, {"sources": ["a.txt"]}, {"shard": {}}),
        (2, {"sources": ["a.txt"]}, {"shard": {"file": 5, "bytes": 4}}),
        (2, {"sources": ["a.txt"]}, {"shard": {**ENTRY["shard"], "bytes": "4"}}),  # type: ignore[dict-item]
        (2, {"sources": ["a.txt"]}, {"units": [[7, 0, 0, 2, 0]], "facts": [[7, 600, None]]}),
        (2, {"sources": ["a.txt"]}, {"facts": [[0, 600]]}),
        (2, {"sources": ["a.txt"]}, {"facts": []}),
        (2, {"sources": ["a.txt"]}, {"next": [[0, 0], [0, 0, 0, 3, 0], 0, 2]}),
        (2, {"sources": ["a.txt"], "part_size": 9}, {}),
        (3, {"sources": ["a.txt"]}, {}),
    ],
)
def test_a_journal_that_is_none(line: int, header: Any, entry: Any) -> None:
    entry = {**ENTRY, **entry} if isinstance(entry, dict) else entry
    Path("f").mkdir()
    Path("f/journal.jsonl").write_bytes(made.journal_of(header, entry, {}))
    hint = "begin again in another folder"
    done = encode("--resume", "a.txt")
    assert done == (2, b"", error(f"f/journal.jsonl: line {line} is damaged", hint))


@pytest.mark.parametrize("sources", [None, 5, [5], [{}], [{"name": "a.txt"}]])
def test_a_manifest_that_is_none(sources: Any) -> None:
    Path("f").mkdir()
    made.write_manifest(Path("f"), {"form": "bin", "shards": [], "sources": sources})
    done = encode("--resume", "a.txt")
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("error: f/manifest.json is not a manifest of shards: ")
    assert MANIFEST_HINT in done.err
