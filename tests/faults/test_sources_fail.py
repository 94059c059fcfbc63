"""Sources that are damaged, or change while they are read: an error that names them."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import systems
from tests.cli.run import command, names, process, tokctl
from tokctl import Tokenizer
from tokctl.sources import blocks


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Tokenizer.train({"low": 3, "lower": 2}, vocab_size=260).save("model.json")
    Path("text.txt").write_bytes(b"low lower lowest\n" * 1000)
    return tmp_path


COMMANDS = {
    "encode": ["encode", "-m", "model.json", "-o", "out"],
    "shards": ["encode", "-m", "model.json", "--as", "bin", "--shard-size", "50K", "-o", "out"],
    "count": ["encode", "-m", "model.json", "--count"],
    "train": ["train", "-q", "--vocab", "300", "-o", "out"],
    "compare": ["compare", "-m", "model.json"],
    "inspect": ["inspect", "-m", "model.json", "--use"],
}


def failed(name: str, *sources: str, said: str, stdin: bytes = b"") -> None:
    """The command fails with an error that says so, and leaves no output but whole shards."""
    done = tokctl(*COMMANDS[name], *sources, stdin=stdin)
    assert done.code == 2, done
    first = next(line for line in done.err.splitlines() if line.startswith("error: "))
    assert said in first, done.err
    assert "Traceback" not in done.err
    if name == "shards":
        shutil.rmtree("out", ignore_errors=True)
    assert "out" not in names(Path())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_truncated_gzip(name: str) -> None:
    whole = gzip.compress(Path("text.txt").read_bytes())
    for length in (len(whole) - 1, len(whole) - 8, len(whole) // 2, 12):
        Path("cut.gz").write_bytes(whole[:length])
        failed(name, "text.txt", "cut.gz", said="cut.gz")
    failed(name, "-", said="stdin", stdin=whole[:-9])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_table_without_the_column(name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"body": ["low"], "url": ["x"]}), "table.parquet")
    failed(name, "table.parquet", said="table.parquet")
    done = tokctl(*COMMANDS[name], "table.parquet", stdin=b"")
    assert "body" in done.err
    shutil.rmtree("out", ignore_errors=True)
    Path("lines.jsonl").write_bytes(b'{"text": "low"}\n{"body": "low"}\n')
    failed(name, "lines.jsonl", said="lines.jsonl: line 2")


@pytest.mark.few(2)
@systems.named_pipes
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "count"])
def test_a_source_that_vanishes(name: str) -> None:
    """A pipe holds the command up, between the check of its sources and the last of them."""
    os.mkfifo("pipe")
    Path("last.txt").write_bytes(b"lower\n")
    with subprocess.Popen(
        command(*COMMANDS[name], "pipe", "last.txt"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        with Path("pipe").open("wb") as pipe:  # when this opens, the command reads
            pipe.write(b"low\n")
            Path("last.txt").unlink()
        _, err = process.communicate(timeout=600)
    assert process.returncode == 2, err
    assert b"error: can't read last.txt: No such file or directory" in err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_source_that_shrinks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind its first block."""
    Path("large.txt").write_bytes(b"low lower lowest\n" * 500_000)
    read_blocks = blocks.read_blocks

    def shrinking(stream: Any, size: int = blocks.BLOCK_SIZE) -> Iterator[bytes]:
        for block in read_blocks(stream, size):
            yield block
            if size == blocks.BLOCK_SIZE and stream.name == "large.txt":
                os.truncate("large.txt", 3_000_000)

    monkeypatch.setattr(blocks, "read_blocks", shrinking)
    failed(name, "large.txt", said="large.txt became shorter while it was read: ")


@pytest.mark.slow
def test_thousands_of_small_files() -> None:
    texts = Path("texts")
    texts.mkdir()
    for number in range(3_000):
        part = texts / f"{number % 100:02}"
        part.mkdir(exist_ok=True)
        (part / f"{number:05}.md").write_bytes(b"low lower %d\n" % number)
    counted = tokctl("encode", "-m", "model.json", "--count", "texts", stdin=b"")
    assert counted.code == 0, counted.err
    rows = counted.out.decode().splitlines()
    assert len(rows) == 3_001
    listed = "".join(f"{path}\0" for path in sorted(texts.rglob("*.md"))).encode()
    again = tokctl("encode", "-m", "model.json", "--count", "--files0-from", "-", stdin=listed)
    assert again == counted
    total = int(rows[-1].split()[0])
    encoded = tokctl("encode", "-m", "model.json", "--whole", "texts", stdin=b"")
    assert len(encoded.out.split()) == total
    trained = tokctl("train", "-q", "--vocab", "300", "-o", "m.json", "texts", stdin=b"")
    assert trained.code == 0, trained.err


def test_names_that_are_not_utf8() -> None:
    name = os.fsdecode(b"caf\xe9.txt")
    try:
        Path(name).write_bytes(b"low lower\n")
    except OSError:
        pytest.skip("this file system takes UTF-8 names alone")
    expected = process("encode", "-m", "model.json", stdin=b"low lower\n").out
    assert process("encode", "-m", "model.json", name).out == expected
    assert process("encode", "-m", "model.json", ".", "--include", "caf*").out == expected
    listed = process("encode", "-m", "model.json", "--files0-from", "-", stdin=b"caf\xe9.txt\0")
    assert listed.out == expected
    counted = process("encode", "-m", "model.json", "--count", name)
    assert counted.code == 0
    counted.out.decode("ascii")  # shown with escapes
    Path(name).write_bytes(b'{"text": 1}\n')
    done = process("encode", "-m", "model.json", name, "--format", "jsonl")
    assert done.code == 2
    assert "caf\\udce9.txt: line 1" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode", "-m", "model.json", "text.txt", "text.txt", "-o", "out"],
        ["encode", "-m", "model.json", "text.txt", "--as", "npy", "-o", "out"],
        ["train", "-q", "--vocab", "300", "text.txt", "-o", "out"],
    ],
    ids=["ids", "npy", "train"],
)
def test_two_writers_of_one_file(folder: Path, arguments: list[str]) -> None:
    assert process(*arguments).code == 0
    expected = Path("out").read_bytes()
    running = [
        subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    codes = [each.wait(timeout=600) for each in running]
    for each in running:
        assert each.stderr is not None
        each.stderr.close()
    assert codes == [0, 0, 0, 0]
    assert Path("out").read_bytes() == expected
    assert [name for name in names(folder) if name.startswith(".")] == []


def test_two_writers_of_one_folder() -> None:
    def shards(target: str) -> list[str]:
        how = ["--as", "bin", "--shard-size", "500", "--resume", "-o", target]
        return ["encode", "-m", "model.json", *how, *["text.txt"] * 5]

    from tests.faults.killing import digests

    assert process(*shards("whole")).code == 0
    running = [
        subprocess.Popen(
            command(*shards("both")), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    ended = [(each.communicate(timeout=600)[1], each.returncode) for each in running]
    for err, code in ended:
        # One may come when the other is done: then there is nothing to do.
        assert code == 0 or (code == 2 and b"both" in err), ended
    assert 0 in [code for _, code in ended]
    assert digests(Path("both")) == digests(Path("whole"))
