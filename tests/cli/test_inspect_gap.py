"""`tokctl inspect --gap`: how far the tokens of a text are from the fewest."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.inspecting import inspect, printed, refused
from tests.conftest import shared_file
from tests.explain import models
from tokctl import Tokenizer, preset, token_gap
from tokctl.analysis.metrics import Undefined
from tokctl.report.inspect.gap import _BOUNDS


def losing_model() -> Tokenizer:
    """It merges `a b` first, so that it never finds its token `bcd` in `abcd`."""
    counts = {"ab": 200, "bcd": 80, "bc": 40}
    return Tokenizer.train(counts, vocab_size=260, recipe=preset("gpt2"))


@pytest.fixture
def greedy(tmp_path: Path) -> str:
    path = tmp_path / "greedy.json"
    losing_model().save(path)
    return str(path)


def test_lines(greedy: str) -> None:
    table = printed(greedy, "--gap", "--csv", stdin=b"abbcd xabcd abcd").split("\n\n")[0]
    figures = {row[0]: int(row[1]) for row in list(csv.reader(table.splitlines()))[2:]}
    data = json.loads(printed(greedy, "--gap", "--json", stdin=b"abbcd xabcd abcd"))
    assert (data["tokens"], data["fewest"], data["bound"], data["across"]) == tuple(
        figures.values()
    )
    assert data["fewest"] <= data["tokens"]
    assert data["bound"] == max(data["bounds"].values()) <= data["fewest"]
    assert data["lost"] == data["tokens"] - data["fewest"]


def test_what_loses_the_most(bpe: str, toy: str) -> None:
    data = json.loads(printed(bpe, "--gap", toy, "--json"))
    assert (data["tokens"], data["distinct_pre_tokens"]) == (37, 5)
    assert data["losers"] == [] or data["losers"][0]["lost"] > 0
    out = printed(bpe, "--gap", toy, terminal=True)
    assert "The lower bound is proven" in out
    assert "Nothing is computed across pre-tokens: the word marker says" in out.replace("\n", " ")


def test_a_model_that_loses(tmp_path: Path, greedy: str) -> None:
    text = tmp_path / "t.txt"
    text.write_text("abcd abcd\nabcd xy", encoding="utf-8")
    found = losing_model().token_gap(text)
    assert (found.tokens, found.fewest, found.lost) == (14, 11, 3)
    first, second = found.losers
    assert (first.data, first.count, first.lost) == (b"abcd", 2, 2)
    assert (first.tokens, first.fewest) == (("ab", "c", "d"), ("a", "bcd"))
    assert (second.tokens, second.fewest) == (("Ġ", "ab", "c", "d"), ("Ġ", "a", "bcd"))
    out = printed(greedy, "--gap", str(text), terminal=True)
    assert "14 tokens; with the same vocabulary 3 could be saved, 21.43%" in out
    assert "pre-tokens that lose the most, of 2 among 4 distinct ones" in out
    assert "a│bcd" in out
    both, one = (
        printed(greedy, "--gap", str(text), "--csv", *limit).split("\n\n")[1].splitlines()
        for limit in ([], ["--limit", "1"])
    )
    assert (len(both), len(one)) == (4, 3)  # with title and names


def test_texts_without_tokens_and_not_utf8(bpe: str, greedy: str) -> None:
    data = json.loads(printed(greedy, "--gap", "--json", stdin=b""))
    assert (data["tokens"], data["fewest"], data["bound"], data["lost_share"]) == (0, 0, 0, None)
    assert "The text has no tokens." in printed(greedy, "--gap", "-", terminal=True)
    data = json.loads(printed(greedy, "--gap", "--json", stdin=b"ab\xff\xfe ab\xc3"))
    assert data["tokens"] == data["fewest"] and data["characters"] == 8
    assert refused(bpe, "--gap", stdin=b"\xff").startswith("error: stdin: line 1, byte 0")
    printed(bpe, "--gap", "--errors", "replace", stdin=b"\xff low")


def test_what_it_goes_with(bpe: str, toy: str) -> None:
    assert refused(bpe, "--gap", "--use", toy).startswith("error: --use and --gap can't be")
    assert refused(bpe, "--gap", "--word-counts", toy).startswith("error: --word-counts needs")
    assert refused(bpe, "--gap", "--nbest", "3", toy).startswith("error: --nbest needs --word")
    assert refused(bpe, "--gap", terminal=True).startswith("error: there is no text")


def test_unknown_text_counts_as_it_is(tmp_path: Path) -> None:
    tokenizer = Tokenizer.train({"low": 5}, vocab_size=10, algorithm="wordpiece")
    path = tmp_path / "w.json"
    tokenizer.save(path)
    data = json.loads(printed(str(path), "--gap", "--json", stdin=b"low zzz low"))
    assert data["unspelled"] == {"pre_tokens": 1, "tokens": 1}
    assert data["bound"] >= 3


@pytest.mark.parametrize("name", ["gpt2.tokenizer.json", "sentencepiece-unigram-en.model"])
def test_published_models(name: str) -> None:
    model = shared_file(f"vocab/{name}")
    text = shared_file("corpora/udhr/eng.txt")
    found = token_gap(Tokenizer.load(model), text)
    assert found.bound <= found.fewest <= found.tokens
    assert isinstance(found.across, Undefined) or found.across <= found.fewest
    ran = inspect(str(model), "--gap", str(text), "--json")
    assert json.loads(ran.out)["fewest"] == found.fewest


def test_documents_are_apart_and_count_as_often_as_they_say(tmp_path: Path, greedy: str) -> None:
    once, often = tmp_path / "once.txt", tmp_path / "often.tsv"
    once.write_text(models.TOY, encoding="utf-8")
    often.write_text(f"{models.TOY}\t3\nab cd\t2\n", encoding="utf-8")
    one = json.loads(printed(greedy, "--gap", str(once), "--json"))
    other = json.loads(printed(greedy, "--gap", "--json", stdin=b"ab cd"))
    both = json.loads(printed(greedy, "--gap", str(often), "--format", "tsv", "--json"))
    for name in ("tokens", "fewest", "across", "characters", "pre_tokens"):
        assert both[name] == 3 * one[name] + 2 * other[name], name


def test_the_page_has_every_bound() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gap.md").read_text(encoding="utf-8")
    for name in _BOUNDS:
        assert f"| `{name}` |" in page
