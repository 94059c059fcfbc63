"""What may not change between a run that stopped and the one that goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from tests.cli.run import Result, error, tokctl
from tests.idfiles import made

SAME = "give the same sources and options as before, or write to another folder"
ELSEWHERE = "write to another folder: the shards of f have the text as it was"
Encode = Callable[..., Result]


@pytest.fixture
def encode(models_folder: Path, models: object) -> Encode:
    """`tokctl encode` of three files, the last of which is no UTF-8, into the folder f."""
    del models
    Path("a.txt").write_bytes(b"low lower\n" * 30)
    Path("b.txt").write_bytes(b"newest widest\n" * 30)
    Path("c.txt").write_bytes(b"low\xff\n")
    Path("m.json").write_bytes((models_folder / "wordpiece.json").read_bytes())

    def run(*more: str, files: tuple[str, ...] = ("a.txt", "b.txt", "c.txt"), form: str = "bin",
            size: str = "50", stdin: bytes | None = None) -> Result:  # fmt: skip
        fixed = ("encode", "-m", "m.json", "--as", form, "--shard-size", size, "-o", "f")
        return tokctl(*fixed, *more, *files, stdin=stdin)

    return run


def test_a_source_that_fails_can_be_mended(encode: Encode) -> None:
    done = encode()
    message = "c.txt: line 1, byte 3 is not UTF-8, and this model reads characters"
    hint = (
        "use --errors replace to put U+FFFD in its place, or a byte-level model; the complete "
        "shards stay in f; to continue, repeat the command with --resume"
    )
    assert (done.code, done.err) == (2, error(message, hint))
    assert encode("--resume").err == done.err
    listed = sorted(path.name for path in Path("f").iterdir())
    assert listed[0] == "journal.jsonl"
    assert all(name.startswith("shard-") for name in listed[1:])
    refused = encode()
    hint = "continue with --resume, or choose another folder with -o"
    assert refused.err == error("f holds shards of a run that stopped", hint)
    Path("c.txt").write_bytes(b"low\n")
    resumed = encode("--resume", files=("./a.txt", "b.txt", ".//c.txt"))
    shards = len(list(Path("f").glob("*.bin")))
    assert resumed == (0, b"", f"note: {shards - 1} of {shards} shards in f were already there\n")
    found = made.contents(Path("f"))
    shutil.rmtree("f")
    assert encode().code == 0
    assert made.contents(Path("f")) == found
    finished = f"note: f is finished, with {shards} shards; nothing was done\n"
    assert encode("--resume") == (0, b"", finished)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"form": "npy"}, "form bin, and now it is npy"),
        ({"size": "51"}, "shard_size 50, and now it is 51"),
        (("--dtype", "uint32"), "dtype uint16, and now it is uint32"),
        (("--lines",), "lines no, and now it is yes"),
        (("--eos", "[UNK]"), "eos none, and now it is [UNK]"),
        (("--errors", "replace"), "errors strict, and now it is replace"),
        (("--special", "all"), "special none, and now it is all"),
        (("--max-length", "9"), "max_length none, and now it is 9"),
        (("--format", "text"), "format auto, and now it is text"),
    ],
)
def test_changed_options(encode: Encode, more: dict[str, str] | tuple[str, ...], what: str) -> None:
    encode()
    before = made.contents(Path("f"))
    done = encode("--resume", **more) if isinstance(more, dict) else encode("--resume", *more)
    assert done == (2, b"", error(f"f was begun with {what}", SAME))
    assert made.contents(Path("f")) == before


def test_a_changed_model(encode: Encode, models_folder: Path) -> None:
    encode()
    Path("m.json").write_bytes((models_folder / "characters.json").read_bytes())
    done = encode("--resume")
    assert done.code == 2
    assert done.err.startswith("error: f was begun with model sha256 ")


@pytest.mark.parametrize(
    ("files", "what"),
    [
        (("b.txt", "a.txt", "c.txt"), "number 1 was a.txt, and now it is b.txt"),
        (("a.txt", "b.txt"), "number 3 was c.txt, and now it is none"),
        (("a.txt", "b.txt", "c.txt", "a.txt"), "number 4 was none, and now it is a.txt"),
    ],
)
def test_other_sources(encode: Encode, files: tuple[str, ...], what: str) -> None:
    encode()
    done = encode("--resume", files=files)
    assert done == (2, b"", error(f"f was begun from other sources: {what}", SAME))


def test_changed_sources(encode: Encode) -> None:
    encode()
    status = Path("a.txt").stat()
    text = Path("a.txt").read_bytes()
    Path("a.txt").write_bytes(text + b"low")
    message = f"a.txt has {status.st_size + 3} bytes now; it had {status.st_size} when it was read"
    assert encode("--resume").err == error(message, ELSEWHERE)
    Path("a.txt").write_bytes(text)
    os.utime("a.txt", ns=(0, status.st_mtime_ns + 1000))
    assert encode("--resume").err == error("a.txt was changed after it was read", ELSEWHERE)
    os.utime("a.txt", ns=(0, status.st_mtime_ns))
    assert "c.txt: line 1" in encode("--resume").err
    Path("a.txt").unlink()
    assert "can't read a.txt" in encode("--resume").err


def test_a_shard_that_is_not_as_it_was(encode: Encode) -> None:
    encode()
    Path("c.txt").write_bytes(b"low\n")
    Path("f/shard-00001.bin").write_bytes(b"")
    fault = "f/shard-00001.bin has 0 bytes, not 100"
    shards = len(list(Path("f").glob("*.bin"))) + 1
    said = (
        f"note: {fault}: it and the shards after it are encoded again\n"
        f"note: 1 of {shards} shards in f were already there\n"
    )
    assert encode("--resume") == (0, b"", said)
    found = made.contents(Path("f"))
    shutil.rmtree("f")
    assert encode().code == 0
    assert made.contents(Path("f")) == found
    # A finished folder does not say where in the sources a shard begins.
    Path("f/shard-00001.bin").write_bytes(b"")
    hint = "copy the file again from where it came, or remove the folder f and encode again"
    assert encode("--resume") == (2, b"", error(fault, hint))


def test_a_damaged_journal(encode: Encode) -> None:
    encode()
    path = Path("f/journal.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{\n", *lines[1:]]))
    hint = "begin again in another folder"
    assert encode("--resume").err == error("f/journal.jsonl: line 2 is damaged", hint)
    path.write_bytes(b"")
    assert encode("--resume").err == error("f/journal.jsonl: line 1 is damaged", hint)
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    assert encode("--resume").err == error("f/journal.jsonl: line 2 is damaged", hint)
    entry = orjson.loads(lines[1])
    del entry["next"]
    path.write_bytes(lines[0] + orjson.dumps(entry) + b"\n" + lines[2])
    assert encode("--resume").err == error("f/journal.jsonl: line 2 is damaged", hint)


def test_stdin_can_be_read_only_once(encode: Encode) -> None:
    text = b"low lower newest\n" * 40
    assert encode(files=("-", "c.txt"), stdin=text).code == 2
    # Into the shards went a part of it.
    shutil.copytree("f", "g")
    Path("f/shard-00000.bin").unlink()
    hint = "begin again in another folder: stdin can't be read again"
    done = encode("--resume", files=("-", "c.txt"), stdin=text)
    assert done == (2, b"", error("f/shard-00000.bin is missing", hint))
    shutil.rmtree("f")
    Path("g").rename("f")
    done = encode("--resume", files=("-", "c.txt"), stdin=text)
    message = "stdin can't be read again: a part of it is in the shards of f"
    hint = "write to another folder; from a file, a run can be resumed"
    assert done == (2, b"", error(message, hint))
    shutil.rmtree("f")
    # Nothing of it did: it can be given again.
    assert encode(files=("a.txt", "c.txt", "-"), stdin=text).code == 2
    Path("c.txt").write_bytes(b"low\n")
    assert encode("--resume", files=("a.txt", "c.txt", "-"), stdin=text).code == 0
    found = made.contents(Path("f"))
    shutil.rmtree("f")
    assert encode(files=("a.txt", "c.txt", "-"), stdin=text).code == 0
    assert made.contents(Path("f")) == found


@pytest.mark.parametrize("form", ["bin", "jsonl"])
@pytest.mark.parametrize(
    "more",
    [
        ("--alpha", "0.1", "--seed", "3", "--lines"),
        ("--max-length", "4", "--stride", "1", "--lines"),
        ("--max-length", "4", "--stride", "1"),
        ("--add-special", "--lines"),
    ],
)
def test_what_is_put_around_texts_comes_again(
    encode: Encode, models_folder: Path, form: str, more: tuple[str, ...]
) -> None:
    """Drawn segmentations go on with the seeds of their texts, windows behind their text."""
    Path("m.json").write_bytes((models_folder / "unigram.json").read_bytes())
    if form == "jsonl":
        more = tuple("--whole" if one == "" else one for one in more if one != "--lines")
    assert encode(*more, form=form).code == 2
    Path("c.txt").write_bytes(b"low\n")
    resumed = encode(*more, "--resume", form=form)
    assert (resumed.code, "were already there" in resumed.err) == (0, True)
    found = made.contents(Path("f"))
    shutil.rmtree("f")
    assert encode(*more, form=form).code == 0
    assert made.contents(Path("f")) == found


def test_a_run_that_stopped_before_its_first_shard_is_forgotten(encode: Encode) -> None:
    """A wrong option is found out at the first record: then there is nothing to go on with, and
    no `--resume` to ask for."""
    Path("a.jsonl").write_bytes(b'{"body": "low lower"}\n' * 90)
    wrong = encode(files=("a.jsonl",))
    hint = "--text-field names it; there is: body"
    assert (wrong.code, wrong.err) == (2, error("a.jsonl: line 1: has no field text", hint))
    assert [path.name for path in Path("f").iterdir()] == ["journal.jsonl"]
    right = encode("--text-field", "body", files=("a.jsonl",))
    assert right == (0, b"", "")
    assert len(list(Path("f").glob("*.bin"))) > 1
