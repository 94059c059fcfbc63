"""`train --memory`, `--save-counts`, and the names that a model gets by itself."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import systems
from tests.cli.run import error, names, process, tokctl
from tests.errors import raises_code
from tests.exact.spilled import document, records
from tokctl.cli import train
from tokctl.cli.numbers import size_of, spoken
from tokctl.model.presets import BPE
from tokctl.sources import Source
from tokctl.training import counts


def words(number: int, seed: int = 1) -> bytes:
    """So many words of twelve letters; half of them come twice."""
    digits = random.Random(seed).randbytes(4 * number)
    letters = bytes.maketrans(b"0123456789", b"ghijklmnop")
    once = digits.hex(" ", 6).encode().translate(letters) + b"\n"
    return once + once[: len(once) // 2]


def test_the_same_model_and_counts() -> None:
    Path("text").write_bytes(words(400_000))
    results = []
    for number, given in enumerate(("", "--memory 16M", "--memory 16M --threads 1")):
        made = ("train", "-q", "--vocab", "300", "--min-count", "2", *given.split(),
                "--save-counts", f"{number}.tsv", "-o", f"{number}.json", "text")  # fmt: skip
        assert tokctl(*made) == (0, f"{number}.json\n".encode(), "")
        results.append((Path(f"{number}.json").read_bytes(), Path(f"{number}.tsv").read_bytes()))
    assert results[0] == results[1] == results[2]
    assert results[0][1].count(b"\n") > 90_000
    # From the counts, within a limit, too.
    made = ("train", "-q", "--vocab", "300", "--memory", "16M", "--word-counts", "0.tsv",
            "--save-counts", "again.tsv")  # fmt: skip
    assert tokctl(*made).code == 0
    assert Path("again.tsv").read_bytes() == results[0][1]
    assert sorted(names(Path())) == [
        "0.bpe.json", "0.json", "0.tsv", "1.json", "1.tsv", "2.json", "2.tsv", "again.tsv", "text",
    ]  # fmt: skip


def test_more_is_left_than_was_allowed() -> None:
    Path("text").write_bytes(words(900_000))
    made = tokctl("train", "--vocab", "300", "--memory", "16M", "text")
    assert made.code == 0
    what = "pre-tokens that are left take 16.6M, more than --memory 16M, and training takes more"
    assert f"{what} than that: --memory limits the counting" in made.err, made.err
    assert "--memory" not in tokctl("train", "--vocab", "300", "--memory", "99M", "text").err


@pytest.mark.parametrize(
    ("given", "bytes_"),
    [("16M", 16 << 20), ("2g", 2 << 30), ("1.5G", 3 << 29), ("20000000", 20_000_000),
     ("0.5GiB", 1 << 29), ("1T", 1 << 40), (" 32768K ", 1 << 25),
     ("1_000M", 1000 << 20), ("1,000M", 1000 << 20)],
)  # fmt: skip
def test_sizes(given: str, bytes_: int) -> None:
    assert size_of("--memory", given, 16 << 20) == bytes_
    assert size_of("--memory", spoken(bytes_)) == pytest.approx(bytes_, rel=0.005)


@pytest.mark.parametrize("given", ["", "G", "-1G", "2GB", "2 G", "1e9", "two", "1__000M", "٣M"])
def test_no_sizes(given: str) -> None:
    with raises_code("bad-value", "for --memory"):
        size_of("--memory", given)


def test_too_little_memory_is_refused_before_a_text_is_read() -> None:
    done = tokctl("train", "--memory", "15M", "missing.txt")
    assert done == (2, b"", error("invalid value '15M' for --memory", "give at least 16M"))


@systems.limits
def test_a_full_disk_is_named(tmp_path: Path) -> None:
    Path("text").write_bytes(words(400_000))
    made = ("train", "-q", "--vocab", "300", "--memory", "16M", "-o", "m.json", "text")

    hint = (
        "they go there because of --memory: name a folder with more room in $TMPDIR, or allow "
        "more memory"
    )
    (tmp_path / "there").mkdir()
    cases: list[tuple[str, str, dict[str, Any]]] = [
        (str(tmp_path / "there"), "File too large", {"preexec_fn": systems.no_file_grows(100_000)}),
        (str(tmp_path / "none"), "No such file or directory", {}),
    ]
    for folder, reason, options in cases:
        done = process(*made, env={"TMPDIR": folder}, **options)
        what = f"can't keep counts in a temporary file in {folder}: {reason}"
        assert done == (2, b"", error(what, hint))
    assert names(Path()) == ["text"] and names(tmp_path / "there") == []


def test_temporary_files_go_beside_the_model_unless_a_folder_is_named(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    world: Any = SimpleNamespace(environ=environ)
    found = train.temporary_folder(world, str(tmp_path / "m.json"))
    assert found == str(tmp_path)
    assert train.temporary_folder(world, os.devnull) is None
    environ["TMPDIR"] = "/elsewhere"
    assert train.temporary_folder(world, str(tmp_path / "m.json")) == "/elsewhere"


def test_counts_are_written_before_the_training() -> None:
    Path("a").write_bytes("a b c d e é\n".encode())
    made = ("train", "-q", "--chars", "--vocab", "4", "--save-counts", "w.tsv", "a")
    done = tokctl(*made)
    assert done.code == 2 and "too small" in done.err
    assert names(Path()) == ["a", "w.tsv"]
    done = tokctl(
        "train", "-q", "--chars", "--vocab", "40", "--word-counts", "w.tsv", "-o", "m.json"
    )
    assert done == (0, b"m.json\n", "")


def test_counts_are_packed_by_their_name() -> None:
    Path("a").write_bytes(b"x y \xff x\n" * 3)
    for name in ("w.tsv", "w.tsv.gz", "again.GZ"):
        made = ("train", "-q", "--vocab", "260", "--save-counts", name, "-o", "m.json", "a")
        assert tokctl(*made).code == 0
    packed = Path("w.tsv.gz").read_bytes()
    assert gzip.decompress(packed) == Path("w.tsv").read_bytes()
    assert Path("again.GZ").read_bytes() == packed
    counts.write("by-hand.gz", counts.read("w.tsv"))
    assert Path("by-hand.gz").read_bytes() == packed


def test_options_of_texts_mean_nothing_for_counts() -> None:
    Path("w.tsv").write_bytes(b"a\t1\n")
    for given in ("--format jsonl", "--text-field t", "--include a", "--exclude b"):
        done = tokctl("train", "--word-counts", *given.split(), "w.tsv")
        assert done.code == 2 and "--word-counts reads lines of words and counts" in done.err, given


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("-", "stdin"),
        ("book.txt", "book"),
        ("a/corpus.jsonl.zst", "corpus"),
        ("corpus.tar.gz", "corpus"),
        ("my.book.gz", "my.book"),
        ("my.book.txt", "my.book"),
        ("notes.v2", "notes"),
        (".txt.gz", ".txt"),
        ("texts/", "texts"),
        ("v1.5", "v1.5"),
        ("texts/..", "here"),
        ("https://host/a/corpus.parquet?token=a/b#c", "corpus"),
        ("s3://bucket/corpus.txt.xz", "corpus"),
        ("https://host/", "host"),
    ],
)
def test_a_model_is_named_after_its_first_source(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str, expected: str
) -> None:
    (tmp_path / "here" / "texts").mkdir(parents=True)
    (tmp_path / "here" / "v1.5").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert train.stem(source) == expected


def test_a_pattern_and_a_list_give_the_name_of_their_first_file() -> None:
    read: list[Source] = [document("corpus/a.txt", b""), records("b.jsonl", [])]
    for files in (["corpus/*.txt", "b.jsonl"], []):
        assert train.model_path(None, files, read, BPE) == "a.bpe.json"
    Path("c.txt").write_bytes(b"")
    assert train.model_path(None, ["c.txt"], read, BPE) == "c.bpe.json"
    assert train.model_path("o", ["c.txt"], read, BPE) == "o"
