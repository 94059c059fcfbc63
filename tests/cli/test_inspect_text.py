"""`tokctl inspect` with a text: pairs, the words of a token, the use of a vocabulary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.inspecting import inspect, printed, refused, rows, told
from tests.conftest import shared_file
from tests.explain import models
from tokctl import Tokenizer


@pytest.fixture
def island(tmp_path: Path, treasure_island: Path) -> str:
    path = tmp_path / "island.json"
    tokenizer = Tokenizer.train([treasure_island], vocab_size=1500, algorithm="bpe")
    tokenizer.save(path)
    return str(path)


def test_pairs(bpe: str, wordpiece: str, toy: str) -> None:
    found = rows(bpe, "--pairs", "0", toy)
    assert found[:3] == [
        ["*", "e", "s", "9", "1"],
        ["", "s", "t", "9", "never"],
        ["", "t", "_", "9", "never"],
    ]
    assert len(found) == 17
    assert rows(bpe, "--pairs", "0", "--limit", "2", toy) == found[:2]
    assert rows(bpe, "--pairs", "0", stdin=models.TOY.encode()) == found
    assert rows(wordpiece, "--pairs", "0", toy)[:2] == [
        ["*", "_n", "_g", "1", "1", "1", "1", "1.0", "1"],
        ["", "w", "_i", "3", "3", "3", "1/3", str(1 / 3), "2"],
    ]
    data = json.loads(printed(wordpiece, "--pairs", "1", toy, "--limit", "1", "--json"))
    assert data == {
        "step": 1,
        "unknown": 0,
        "known": True,
        "pairs": [
            {
                "left": "w",
                "right": "_i",
                "count": 3,
                "left_count": 3,
                "right_count": 3,
                "step": 2,
                "refused": None,
                "wins": True,
                "score": 1 / 3,
                "exact_score": "1/3",
            }
        ],
    }
    assert "score" not in json.loads(printed(bpe, "--pairs", "0", toy, "--json"))["pairs"][0]


def test_pairs_on_a_terminal(bpe: str, wordpiece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert printed(bpe, "--pairs", "8", "-", stdin=b"low low new", terminal=True) == (
        "Pairs after step 8\n"
        "\n"
        "     left   right   count   merged at\n"
        " ────────────────────────────────────\n"
        " *    low   _           2           9\n"
        "      new   _           1       never\n"
        "\n"
        "2 pairs; the one that would be merged next marked *\n"
    )
    out = printed(wordpiece, "--pairs", "0", "-", stdin=b"lowx lowx newest", terminal=True)
    assert " *      w" not in out
    assert "2 pairs of symbols that the model does not know left out\n" in out
    assert "The model merged _n + _g at step 1: its own text was\nanother.\n" in out
    assert "2/(2·2)" in out
    monkeypatch.setenv("COLUMNS", "100")
    assert "of left" in printed(wordpiece, "--pairs", "0", "-", stdin=b"low", terminal=True)


def test_pairs_before_and_after_all_there_is(bpe: str) -> None:
    assert printed(bpe, "--pairs", "9", "--csv", stdin=b"low") == ""
    assert "0 pairs" in printed(bpe, "--pairs", "9", "-", stdin=b"low", terminal=True)
    assert refused(bpe, "--pairs", "10", stdin=b"low").startswith("error: there is no step 10")


def test_the_words_of_a_token(bpe: str, toy: str) -> None:
    assert "word,tokens\n2,lower,low e r _\n" in printed(bpe, "--token", "low", toy, "--csv")
    never = printed(bpe, "--token", "es", toy)
    assert "Never used in the text, which has 37 tokens." in never
    out = printed(bpe, "--token", "e", "-", stdin=b"were lower", terminal=True)
    assert "Used 3 times in the text, " in out
    assert "1, 2 each  were   w│e│r│e│_\n" in out
    data = json.loads(printed(bpe, "--token", "low", toy, "--json"))
    assert data["text"] == {
        "uses": 2,
        "place": 10,
        "tokens_used": 13,
        "tokens": 37,
        "words_in_all": 1,
        "words": [
            {
                "word": {"text": "lower"},
                "count": 2,
                "uses": 2,
                "tokens": ["low", "e", "r", "_"],
            }
        ],
    }
    assert "text" not in json.loads(printed(bpe, "--token", "low", "--json"))


def test_the_words_of_a_token_in_a_book(island: str, treasure_island: Path) -> None:
    found = told(island, "--token", " sea", str(treasure_island), "--limit", "3")["text"]
    words = found["words"]
    assert len(words) == 3
    counts = [word["count"] for word in words]
    assert counts == sorted(counts, reverse=True)
    assert all(word["tokens"][0] == "Ġsea" for word in words)
    ids = Tokenizer.load(island).encode(treasure_island.read_bytes()).ids
    assert found["uses"] == ids.count(Tokenizer.load(island).vocabulary["Ġsea"])
    assert found["tokens"] == len(ids)
    out = printed(island, "--token", " sea", str(treasure_island), "--limit", "1", terminal=True)
    assert " more words: --limit " in out


def test_use(bpe: str, toy: str) -> None:
    tables = printed(bpe, "--use", toy, "--csv")
    assert (
        "\nby script\ngroup,tokens,used,share used,uses,share of uses\nLatin,20,12,0.6," in tables
    )
    few = told(bpe, "--use", toy, "--limit", "1")
    assert [len(few[name]) for name in ("frequent", "rarest", "never")] == [1, 1, 1]
    data = json.loads(printed(bpe, "--use", toy, "--json"))
    assert data["scripts"]["Latin"] == {"tokens": 20, "used": 12, "uses": 34}
    assert data["frequent"][0] == {"token": "newest_", "uses": 6}
    assert data["lengths"]["unit"] == "characters"
    out = printed(bpe, "--use", toy, terminal=True)
    assert out.startswith("37 tokens; the text uses 13 of the 21 that it could: 61.9%.\n")
    assert "never used: 8\n" in out


def test_use_of_nothing(bpe: str) -> None:
    out = printed(bpe, "--use", "-", stdin=b"", terminal=True)
    assert out.startswith("0 tokens; the text uses 0 of the 21 that it could: 0.0%.\n")


def test_nbest(tmp_path: Path) -> None:
    path = str(tmp_path / "m.json")
    Tokenizer.train({"▁low": 9, "▁lower": 4, "▁newer": 3}, vocab_size=20, algorithm="unigram").save(
        path
    )
    (one,), (three,) = (
        told(path, "--word", "lower", "--nbest", number)["words"] for number in ("1", "3")
    )
    assert [len(word["paths"]) for word in (one, three)] == [1, 3]
    shares = [path["probability"] for path in three["paths"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1.0001
    out = printed(path, "--word", "lower", "--nbest", "2", terminal=True)
    assert "of all ways to write it, by probability\n" in out
    assert "All other ways together have " in out


def test_what_is_refused(bpe: str, toy: str) -> None:
    assert refused(bpe, "--nbest", "3").startswith("error: --nbest needs --word\n")
    assert refused(bpe, "--word", "low", "--nbest", "3") == (
        "error: a bpe model has one segmentation of a text\n"
        "hint: a unigram model has several, and their scores: tokctl train --algo unigram\n"
    )
    assert refused(bpe, "--use", "--pairs", "3").startswith("error: --pairs and --use can't be")
    assert refused(bpe, "--merges-of", "es", "--state", "3", toy).startswith(
        "error: --merges-of and --state can't be asked together"
    )
    assert refused(bpe, "--token", "es", "--errors", "replace") == (
        "error: --errors needs a text\nhint: name a text, or leave --errors out\n"
    )
    assert refused(bpe, "--use", terminal=True).startswith("error: there is no text")
    assert refused(bpe, "--use", stdin=b"\xff").startswith("error: stdin: line 1, byte 0")
    assert told(bpe, "--use", "--errors", "replace", stdin=b"\xff")["tokens"] == 2


def test_merges_of(bpe: str, wordpiece: str) -> None:
    both = [["5", "lo", "w", "low", "7"], ["9", "low", "_", "low_", "5"]]
    assert rows(bpe, "--merges-of", "low") == both
    assert rows(bpe, "--merges-of", "low", "--merges", "6:") == both[1:]
    assert rows(bpe, "--merges-of", "low", "--limit", "1") == both[:1]
    assert rows(bpe, "--merges-of", "g") == []
    assert rows(bpe, "--merges", "-2:") == rows(bpe, "--merges", "8:9")
    assert rows(bpe, "--merges", "-99:") == rows(bpe, "--merges", ":")
    out = printed(bpe, "--merges-of", "*ow", "--limit", "1", terminal=True)
    assert out.splitlines()[-2:] == [
        "1 step of 9; --limit 2 shows all 2 that were asked for; of 2 tokens whose text",
        "ends with ow",
    ]
    assert printed(bpe, "--merges-of", "g", terminal=True) == (
        "0 steps of 9; in which g is left, right or made\n"
    )
    data = json.loads(printed(wordpiece, "--merges-of", "low", "--json"))
    assert [merge["token"] for merge in data["merges"]] == ["low", "lower"]
    assert refused(bpe, "--merges-of", "xyz*").startswith("error: no token of this model matches")
    assert refused(bpe, "--merges-of", "#99").startswith("error: there is no id 99")


@pytest.mark.parametrize("columns", ["60", "100", "160"])
def test_lines_fit_the_terminal(
    island: str, columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = str(tmp_path / "text.txt")
    data = shared_file("corpora/multilingual.txt").read_bytes()
    Path(text).write_bytes(b"\n".join(data.split(b"\n")[::40]))
    for question in (
        ["--pairs", "300", text],
        ["--state", "300", text],
        ["--token", "Ġthe", text],
        ["--use", text],
        ["--merges-of", "the*"],
    ):
        out = printed(island, *question, terminal=True)
        assert max(map(len, out.splitlines())) <= int(columns)


@pytest.mark.parametrize("question", ["--state", "--pairs"])
@pytest.mark.parametrize("blank", [b"", b"\n \n"])
def test_a_text_without_words_is_told(bpe: str, question: str, blank: bytes) -> None:
    note = "note: the text is empty or blank: it has no words to show\n"
    assert inspect(bpe, question, "1", "--csv", stdin=blank).err == note
    assert inspect(bpe, question, "1", "-q", stdin=blank).err == ""
