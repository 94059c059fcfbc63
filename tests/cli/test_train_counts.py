"""`train --save-counts` and `train --word-counts`: a file of counts stands for the text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.run import error, tokctl
from tokctl import Tokenizer, formats
from tokctl.training import counts

TEXT = (
    "the sea, the SEA! naïve café\n\n\tthe  islands' 1234 don't \\n \\ back\r\n"
    "東京 東京都 🙂🙂 lower lowest newest widest the\u2028the \u00a0 x\n"
) * 3
RAW = TEXT.encode() + b"\xff\xfe \xe2\x96 the\n"


@pytest.mark.parametrize(
    "options",
    [
        "--algo bpe --vocab 320",
        "--algo bpe --chars --vocab 80",
        "--algo wordpiece --vocab 120",
        "--algo unigram --vocab 90",
        "--algo word --vocab 30",
        "--algo char --vocab 60",
        "--algo char --graphemes --vocab 60",
        "--preset gpt2 --vocab 330",
        "--preset bert --vocab 120",
        "--preset llama2 --vocab 350",
        "--preset gpt2 --pretokenize deepseek-v3 --vocab 330",
        "--algo bpe --vocab 320 --normalize nfc,lowercase --pretokenize digits,gpt2",
        "--algo bpe --vocab 300 --min-frequency 4 --max-token-length 5",
    ],
)
def test_the_same_model(options: str) -> None:
    is_bytes = "320" in options or "330" in options or "300" in options
    Path("text.txt").write_bytes(RAW if is_bytes else TEXT.encode())
    given = options.split()
    done = tokctl("train", "-q", *given, "--save-counts", "w.tsv", "-o", "a.json", "text.txt")
    assert (done.code, done.out) == (0, b"a.json\n"), done.err
    plain = tokctl("train", "-q", *given, "-o", "plain.json", "text.txt")
    assert plain.code == 0 and Path("plain.json").read_bytes() == Path("a.json").read_bytes()
    done = tokctl("train", "-q", *given, "--word-counts", "w.tsv", "-o", "b.json")
    assert (done.code, done.out) == (0, b"b.json\n"), done.err
    first, second = formats.load("a.json"), formats.load("b.json")
    assert first.training and second.training
    read = {"bytes": first.training.bytes, "sha256": first.training.sha256}
    assert replace(second, training=replace(second.training, **read)) == first
    # Counted again from the counts, they are the same lines.
    done = tokctl(
        "train", "-q", *given, "--word-counts", "w.tsv", "-o", "c.json", "--save-counts", "v"
    )
    assert done.code == 0 and Path("v").read_bytes() == Path("w.tsv").read_bytes()
    words = counts.read("w.tsv")
    assert words == counts.count("text.txt", first.recipe)
    third = Tokenizer.train(
        words,
        vocab_size=first.training.vocab_size,
        recipe=first.recipe,
        min_frequency=first.training.min_frequency,
        max_token_length=first.training.max_token_length,
    )
    assert third.model.tokens == first.tokens and third.merges == first.merges


def test_on_any_number_of_threads() -> None:
    Path("text.txt").write_bytes(RAW * 400)
    for threads in ("1", "4"):
        done = tokctl("train", "-q", "--vocab", "300", "--threads", threads, "--save-counts",
                      f"{threads}.tsv", "-o", "m.json", "text.txt")  # fmt: skip
        assert done.code == 0
    assert Path("1.tsv").read_bytes() == Path("4.tsv").read_bytes()
    assert Path("1.tsv").read_bytes().startswith(b"the\t")


def test_weights() -> None:
    Path("a").write_bytes(b"x y\n")
    Path("b").write_bytes(b"y\n")
    done = tokctl("train", "-q", "--vocab", "300", "--weight", "b=3", "--save-counts", "w.tsv",
                  "-o", "m.json", "a", "b")  # fmt: skip
    assert done.code == 0
    assert counts.read("w.tsv") == {b"x": 1, b" y": 1, b"\n": 4, b"y": 3}
    Path("w.tsv").unlink()
    done = tokctl("train", "-q", "--vocab", "300", "--weight", "b=1.5", "--save-counts", "w.tsv",
                  "-o", "n.json", "a", "b")  # fmt: skip
    what = "weights with decimals make counts that are not whole numbers, which a file of counts "
    assert done.err == error(f"{what}can't hold", "give whole weights, or leave --save-counts out")
    assert not Path("w.tsv").exists() and not Path("n.json").exists()


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ("-", "the counts can't go to stdout"),
        ("m.json", "-o and --save-counts name the same file"),
        ("./m.json", "-o and --save-counts name the same file"),
        ("a", "can't write a: it is one of the files to read"),
        ("no/w.tsv", "can't write no/w.tsv: there is no folder no"),
        (".", "can't write .: it is a folder"),
    ],
)
def test_places_that_are_none(place: str, what: str) -> None:
    Path("a").write_bytes(b"x y\n")
    done = tokctl("train", "-q", "--vocab", "300", "--save-counts", place, "-o", "m.json", "a")
    assert done.code == 2 and done.err.startswith(f"error: {what}\n"), done.err
    assert "-o PATH" not in done.err
    assert sorted(map(str, Path().iterdir())) == ["a"]


def test_counts_are_no_model() -> None:
    Path("w.tsv").write_bytes(b"the\t3\n")
    done = tokctl("encode", "-m", "w.tsv", stdin=b"the")
    hint = "train a model on these counts: tokctl train --word-counts w.tsv"
    assert done == (2, b"", error("w.tsv holds word counts, not a model", hint))
    done = tokctl("train", "-q", "--word-counts", "w.tsv", "--chars", stdin=None)
    assert done.code == 0
    Path("w.tsv").write_bytes(b"the\t3\n\\xff\t1\n")
    done = tokctl("train", "-q", "--word-counts", "w.tsv", "--chars")
    assert done.code == 2 and "w.tsv: line 2: the word is not UTF-8" in done.err
