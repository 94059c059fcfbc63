"""`--algo boundless` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.run import tokctl
from tokctl import Tokenizer

TEXT = "one of the cats of the house\nsome of the cats, and one of the 12 houses of the cat\n" * 4


@pytest.fixture
def model() -> str:
    Path("text.txt").write_text(TEXT, encoding="utf-8")
    done = tokctl("train", "--algo", "boundless", "--vocab", "300", "text.txt")
    assert done.out == b"text.boundless.json\n", done.err
    assert "superwords  " in done.err and "Hugging Face refuses this file" in done.err
    return "text.boundless.json"


def test_stdin_and_memory_and_threads_make_the_same_model(model: str) -> None:
    names = ("stdin.json", "memory.json", "threads.json")
    for name, options in zip(names, (["-"], ["--memory", "16M"], ["--threads", "3"]), strict=True):
        given = [] if "-" in options else ["text.txt"]
        tokctl("train", "-q", "-a", "boundless", "--vocab", "300", "-o", name, *given, *options,
               stdin=TEXT.encode())  # fmt: skip
        assert Path(name).read_bytes() == Path(model).read_bytes()


def test_json_counts_supermerges(model: str) -> None:
    done = tokctl("train", "-q", "-a", "boundless", "--vocab", "300", "--json", "text.txt")
    supermerges = Tokenizer.load(model).model.supermerges
    assert orjson.loads(done.out)["supermerges"] == len(supermerges) > 0


def test_a_text_comes_back_and_each_line_is_its_own(model: str) -> None:
    encoded = tokctl("encode", "--whole", "-m", model, "text.txt")
    tokenizer = Tokenizer.load(model)
    assert list(map(int, encoded.out.split())) == tokenizer.encode_ids(TEXT)
    assert tokctl("decode", "-m", model, stdin=encoded.out).out == f"{TEXT}\n".encode()
    lines = tokctl("encode", "-m", model, "text.txt").out.split(b"\n")
    assert [list(map(int, line.split())) for line in lines[:2]] == [
        tokenizer.encode_ids(line) for line in TEXT.split("\n")[:2]
    ]


def test_inspect_explains_superwords(model: str) -> None:
    def told(*question: str) -> Any:
        return orjson.loads(tokctl("inspect", model, *question, "--json").out)

    assert told()["supermerges"] > 0
    token = told("--token", " of the")
    assert (token["kind"], token["merge"]["token"]) == ("superword", "ĠofĠthe")
    assert any(word["joined"] for word in told("--word", " of the house")["words"])
    (last,) = told("--merges", "-1:")["merges"]
    assert last["token"] == Tokenizer.load(model).tokens[-1]
    tokenizer = Tokenizer.load(model)
    ids = tokenizer.encode_ids(TEXT)
    used = max(tokenizer.model.superword_ids, key=ids.count)
    assert told("--token", f"#{used}", "text.txt")["text"]["uses"] == ids.count(used) > 0


@pytest.mark.usefixtures("model")
def test_compare_trains_it() -> None:
    done = tokctl("compare", "--algo", "bpe,boundless", "--vocab", "280", "text.txt")
    assert done.code == 0 and b"boundless" in done.out, done.err


def test_pruning_gives_a_smaller_training(model: str) -> None:
    tokctl("convert", model, "--prune", "280", "-o", "pruned.json")
    tokctl("train", "-q", "-a", "boundless", "--vocab", "280", "-o", "small.json", "text.txt")
    assert Tokenizer.load("pruned.json") == Tokenizer.load("small.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--chars", "boundless reads bytes, and can't be trained on characters"),
        ("--word-counts", "boundless needs texts"),
        ("--marker end", "--marker is for"),
        ("--show-steps 2", "--show-steps is for"),
        ("--score likelihood", "--score is for"),
        ("--segment merges", "--segment is for"),
        ("--pretokenize whitespace", "does not keep the text as it is"),
        ("--vocab 255", "a vocabulary of 255 is too small"),
    ],
)
@pytest.mark.usefixtures("model")
def test_refused(options: str, message: str) -> None:
    done = tokctl("train", "-a", "boundless", *options.split(), "text.txt")
    assert done.code == 2 and message in done.err


def test_a_model_of_superwords_is_not_extended(model: str) -> None:
    done = tokctl("train", "--extend", model, "--vocab", "400", "text.txt")
    assert "a model of superwords can't be extended" in done.err
