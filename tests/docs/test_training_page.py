"""The commands and the code of `docs/training.md` do what it says."""

from __future__ import annotations

import gzip
import hashlib
import re
import shlex
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.cli.run import tokctl
from tests.exact.spilled import BYTES, counted, records
from tokctl import formats
from tokctl.cli.numbers import spoken
from tokctl.cli.train import LEAST_MEMORY

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    tokctl (train .+)$", PAGE, re.MULTILINE)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(sample, encoding="utf-8")


def test_the_least_memory_is_what_the_page_says() -> None:
    assert f"; the minimum is {spoken(LEAST_MEMORY)}" in PAGE.replace("\n", " ")


def test_the_commands_are_taken() -> None:
    """With a text that is here, in place of theirs."""
    given = [
        shlex.split(re.sub(r"corpus/( more.jsonl.zst)?|huge.txt.zst", "a.txt", command))
        for command in COMMANDS
        if "--word-counts" not in command
    ]
    assert len(given) == 9 and len(COMMANDS) == 10
    Path("terms.txt").write_text("doubloon\n binnacle\n")
    for arguments in given:
        # All of them are trained on one text here, so that default names are the same.
        assert tokctl(*arguments, "-q", "--force").code == 0, arguments
    Path("words.tsv").write_bytes(gzip.decompress(Path("words.tsv.gz").read_bytes()))
    again = COMMANDS[-1].replace(".gz", "").replace("50000", "300")
    assert tokctl(*shlex.split(again), "-q").code == 0


def test_a_model_of_counts_differs_in_what_was_read() -> None:
    Path("b.txt").write_text("x y\n")
    given = ("train", "-q", "--vocab", "400", "--weight", "b.txt=2", "--sample", "0.9",
             "--seed", "7")  # fmt: skip
    assert tokctl(*given, "--save-counts", "w.tsv", "-o", "a.json", "a.txt", "b.txt").code == 0
    assert (
        tokctl("train", "-q", "--vocab", "400", "--word-counts", "w.tsv", "-o", "b.json").code == 0
    )
    first, second = formats.load("a.json"), formats.load("b.json")
    assert first.training and second.training
    records_of = [asdict(model.training) for model in (first, second) if model.training]
    differ = {key for key in records_of[0] if records_of[0][key] != records_of[1][key]}
    named = re.search(r"of the texts that were read \((.*?)\)", PAGE, re.DOTALL)
    assert named and differ == set(re.findall(r"`(\w+)`", named[1]))
    assert (first.tokens, first.merges) == (second.tokens, second.merges)


def test_the_digest_is_what_the_page_says() -> None:
    assert "its length and its count, as little-endian 8-byte numbers" in PAGE
    stream = b"".join(
        len(text).to_bytes(8, "little") + times.to_bytes(8, "little") + text
        for text, times in ((b"one", 1), (b"two", 3))
    )
    _, read = counted([records("r", [b"one", b"two"], [1, 3])], BYTES)
    assert read.digest == hashlib.sha256(stream).hexdigest()


def test_the_code_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    # Folders are read by what reads all forms; here a file stands for one.
    exec(compile(code.replace('"corpus/"', '"a.txt"'), "training.md", "exec"), {})
    assert gzip.decompress(Path("words.tsv.gz").read_bytes()).count(b"\n") > 100
