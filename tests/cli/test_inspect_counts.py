"""`tokctl inspect --word-counts`: the words of a list, where else a text is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.inspecting import inspect
from tokctl import Tokenizer
from tokctl.sources.corpora import corpus_path

HUG = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}


@pytest.fixture
def model() -> str:
    Tokenizer.train_on_counts(HUG, vocab_size=11, algorithm="wordpiece").save("hug.json")
    return "hug.json"


def test_a_state_of_counted_words(model: str) -> None:
    words = str(corpus_path("slides-hug"))
    assert inspect(model, "--state", "0", words, "--word-counts").out == (
        "10\th ##u ##g\n5\tp ##u ##g\n12\tp ##u ##n\n4\tb ##u ##n\n5\th ##u ##g ##s\n"
    )
    # The same as of a text that has each word so often.
    Path("hug.txt").write_text(" ".join(f"{word} " * count for word, count in HUG.items()))
    for question in (["--state", "2"], ["--pairs", "2"]):
        counted = inspect(model, *question, words, "--word-counts")
        assert counted == inspect(model, *question, "hug.txt")
        assert counted.code == 0


def test_the_slides_erratum(model: str) -> None:
    ran = inspect(model, "--pairs", "2", str(corpus_path("slides-hug")), "--word-counts")
    rows = [line.split("\t") for line in ran.out.splitlines()]
    scores = {(row[0], row[1]): row[-2] for row in rows}
    # The slides give (hu, ##g) 1/15 and take it; (hu, ##gs) has that.
    assert rows[0][:2] == ["hu", "##gs"]
    assert scores["hu", "##gs"] == "1/15"
    assert scores["hu", "##g"] == "2/45"
    assert scores["##u", "##n"] == "1/21"


def test_from_stdin(model: str) -> None:
    ran = inspect(model, "--state", "0", "-", "--word-counts", stdin=b"hug\t3\n")
    assert ran.out == "3\th ##u ##g\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--merges", "1", "--word-counts"],
            "error: --word-counts needs --state, --pairs or --watch\n",
        ),
        (["--word-counts"], "error: --word-counts needs --state, --pairs or --watch\n"),
        (["--state", "0", "a", "b", "--word-counts"], "error: --word-counts takes one file\n"),
        (
            ["--state", "0", "a", "--word-counts", "--errors", "strict"],
            "error: --errors is about text",
        ),
    ],
)
def test_what_is_refused(model: str, arguments: list[str], message: str) -> None:
    ran = inspect(model, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(message)


def test_a_list_that_is_none(model: str) -> None:
    Path("bad.tsv").write_text("hug\n")
    ran = inspect(model, "--state", "0", "bad.tsv", "--word-counts")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: bad.tsv: ")
