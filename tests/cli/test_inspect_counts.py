"""`tokctl inspect --word-counts`: the words of a list, where else a text is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.inspecting import inspect, rows, told
from tokctl import Tokenizer
from tokctl.sources.corpora import corpus_path

HUG = {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}


@pytest.fixture
def model() -> str:
    Tokenizer.train(HUG, vocab_size=11, algorithm="wordpiece").save("hug.json")
    return "hug.json"


def test_a_state_of_counted_words(model: str) -> None:
    words = str(corpus_path("slides-hug"))
    assert inspect(model, "--state", "0", words, "--word-counts").out == (
        "Before the first merge\n"
        "  10 h│##u│##g\n"
        "   5 p│##u│##g\n"
        "  12 p│##u│##n\n"
        "   4 b│##u│##n\n"
        "   5 h│##u│##g│##s\n"
        "5 words\n"
    )
    # The same as of a text that has each word so often.
    Path("hug.txt").write_text(" ".join(f"{word} " * count for word, count in HUG.items()))
    for question in (["--state", "2"], ["--pairs", "2"]):
        counted = inspect(model, *question, words, "--word-counts")
        assert counted == inspect(model, *question, "hug.txt")
        assert counted.code == 0


def test_the_slides_erratum(model: str) -> None:
    found = told(model, "--pairs", "2", str(corpus_path("slides-hug")), "--word-counts")["pairs"]
    scores = {(pair["left"], pair["right"]): pair["exact_score"] for pair in found}
    # The slides give (hu, ##g) 1/15 and take it; (hu, ##gs) has that.
    assert [found[0]["left"], found[0]["right"]] == ["hu", "##gs"]
    assert scores["hu", "##gs"] == "1/15"
    assert scores["hu", "##g"] == "2/45"
    assert scores["##u", "##n"] == "1/21"


def test_from_stdin(model: str) -> None:
    words = rows(model, "--state", "0", "-", "--word-counts", stdin=b"hug\t3\n")
    assert words == [["", "3", "h ##u ##g", ""]]


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
