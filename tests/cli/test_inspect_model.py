"""`tokctl inspect`: the summary of a model, its recipe, JSON, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.inspecting import printed, refused, rows
from tests.explain import models
from tokctl import Tokenizer


def test_summary(bpe: str) -> None:
    out = printed(bpe)
    facts = {line[:12].strip(): line[12:] for line in out.splitlines()[1:14]}
    assert facts == {
        "format": "tokctl model file",
        "algorithm": "BPE, recipe notebook-bpe",
        "vocabulary": "21 ids, 9 merges",
        "special": "none",
        "split": "whitespace (words between white space, which is dropped)",
        "symbols": "characters, the symbol _ after each word",
        "merged": "the pair with the highest count; of equals the one seen first, rewritten words "
        "moved to the end (rewritten-last)",
        "encoded": "merges by rank, the earliest learned first",
        "unknown": "an error: there is no unknown token",
        "elsewhere": "Hugging Face refuses it: without an unknown token it drops characters that "
        "have no token, in silence",
        "trained on": "1 document, 26 bytes, sha256 ffed6e441951…",
        "counted": "17 pre-tokens, 5 distinct",
        "asked for": "21 ids",
    }
    bar = "█" * 30
    assert f"\ntokens by content\nletters          20  {bar}\nthe word marker   1  ██\n" in out
    assert "\nlongest tokens, in characters\n6  newest_\n3  est\n3  est_\n" in out
    assert printed(bpe, "--csv").endswith(
        "\n"
        "last merges\n"
        "step,left,right,token,count\n"
        "9,low,_,low_,5\n"
        "\n"
        "checks\n"
        "fact,value\n"
        "unreachable tokens,none\n"
        "duplicates,none\n"
        'holes in ids,"none: 0 to 20, checked when the file was read"\n'
        'texts with two tokens,"2, one with _ and one without"\n'
        "tokens made twice,none\n"
        'more checks,"--check, with a text or without"\n'
    )


def test_recipe(bpe: str) -> None:
    assert printed(bpe, "--recipe") == (
        "recipe      notebook-bpe\n"
        "format      tokctl model file\n"
        "algorithm   bpe\n"
        "split       whitespace (words between white space, which is dropped)\n"
        "symbols     characters, the symbol _ after each word\n"
        "merged      the pair with the highest count; of equals the one seen first, rewritten "
        "words moved to the end (rewritten-last)\n"
        "encoded     merges by rank, the earliest learned first\n"
        "unknown     an error: there is no unknown token\n"
        "special     none\n"
        "trained on  1 document, 26 bytes, sha256 ffed6e441951…\n"
        "counted     17 pre-tokens, 5 distinct\n"
        "asked for   21 ids\n"
    )
    assert rows(bpe, "--recipe")[:2] == [
        ["recipe", "notebook-bpe"],
        ["format", "tokctl model file"],
    ]
    (line,) = printed(bpe, "--recipe", "--json").splitlines()
    assert json.loads(line) == models.NOTEBOOK_BPE.to_dict() | {
        "normalizers": [],
        "special_tokens": [],
        "format": "tokctl",
        "origin": None,
        "companions": [],
    }


def test_json(bpe: str, wordpiece: str, bert: str, toy: str) -> None:
    def data(*arguments: str) -> dict[str, object]:
        (line,) = printed(*arguments, "--json").splitlines()
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    assert data(wordpiece, "--merges", "4") == {
        "merges": [
            {
                "step": 4,
                "left": "l",
                "right": "_o",
                "token": "lo",
                "count": 8,
                "score": 0.125,
                "exact_score": "1/8",
            }
        ]
    }
    state = data(bpe, "--state", "9", toy, "--limit", "1")
    assert state["step"] == 9
    unchanged = {"count": 3, "changed": False, "before": None, "places": []}
    assert state["words"] == [{"tokens": ["w", "i", "d", "est_"], **unchanged}]
    words = data(bpe, "--state", "8", toy)["words"]
    assert isinstance(words, list)
    assert words[-1] == {
        "tokens": ["newest_"],
        "count": 6,
        "changed": True,
        "before": ["new", "est_"],
        "places": [0],
    }
    word = data(bpe, "--word", "newer")
    assert word["word"] == {"text": "newer"}
    failed = data(bert, "--word", "é")
    assert failed["words"] == [
        {
            "pre_token": {"text": "é"},
            "matches": [],
            "failure": {"reason": "unmatchable", "rest": "é", "characters": 1, "limit": 100},
            "tokens": ["[UNK]"],
            "ids": [0],
        }
    ]
    assert data(bpe, "--token", "low")["uses"] == [
        {"step": 9, "partner": "_", "side": "left", "result": "low_"}
    ]
    summary = data(bpe)
    assert (summary["vocab_size"], summary["merges"]) == (21, 9)


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "bytes.json"
    models.model("bytes").save(path)
    data = json.loads(printed(str(path), "--word", "a\udcff", "--json"))
    assert data["word"] == {"bytes": "Yf8="}
    assert data["words"][-1]["tokens"] == ["ÿ"]
    assert rows(str(path), "--state", "0", stdin=b"\xff") == [["", "1", "ÿ", ""]]


def test_text_that_a_character_model_cannot_read(bpe: str) -> None:
    assert refused(bpe, "--state", "1", stdin=b"low \xff") == (
        "error: stdin: line 1, byte 4 is not UTF-8, and this model reads characters\n"
        "hint: use --errors replace to put U+FFFD in its place, or a byte-level model\n"
    )
    words = rows(bpe, "--state", "1", "--errors", "replace", stdin=b"low \xff")
    assert words == [["", "1", "l o w _", ""], ["", "1", "\ufffd _", ""]]


def test_the_models_name_can_come_from_the_environment(bpe: str, wordpiece: str) -> None:
    environ = {"TOKCTL_MODEL": bpe}
    assert rows("--merges", "1", environ=environ) == [["1", "e", "s", "es", "9"]]
    assert rows("--state", "0", environ=environ, stdin=b"low") == [["", "1", "l o w _", ""]]
    assert rows(wordpiece, "--merges", "1", environ=environ)[0][:3] == ["1", "_n", "_g"]
    assert refused(wordpiece, "--state", "1", environ=environ) == (
        f"error: can't tell whether '{wordpiece}' is the model or the text: $TOKCTL_MODEL is set, "
        "too\n"
        f"hint: name the model and the text ({wordpiece} -), or give the model with -m\n"
    )


def test_what_is_refused(bpe: str, toy: str) -> None:
    assert refused() == (
        "error: no model is given\n"
        "hint: name one first, with -m or in $TOKCTL_MODEL; to make one: tokctl train book.txt\n"
    )
    assert refused(bpe, "--word", "a", "--token", "b") == (
        "error: --word and --token can't be asked together\nhint: ask one, then the other\n"
    )
    assert refused(bpe, "--state", "10", toy) == (
        "error: there is no step 10: this model has 9 merges\nhint: choose a step from 0 to 9\n"
    )
    assert refused(bpe, "--merges", "0") == (
        "error: there is no step 0: this model has 9 merges\nhint: choose a step from 1 to 9\n"
    )
    assert refused(bpe, "--merges", "3:2") == (
        "error: --merges 3:2 is empty: step 2 comes before step 3\n"
        "hint: give the earlier step first: --merges 2:3\n"
    )
    for wrong in ("a", "1-2", "", "1:2:3", "9" * 5000):
        assert refused(bpe, "--merges", wrong).startswith("error: invalid value ")
    assert refused(bpe, "--token", "loww") == (
        "error: 'loww' is not a token of this model\n"
        "hint: did you mean low or low_ or lo? (or how the text is split: --word 'loww')\n"
    )
    assert refused(bpe, "--token", "#21") == (
        "error: there is no id 21\nhint: this model's ids are 0 to 20\n"
    )
    assert refused(bpe, toy).startswith(f"error: '{toy}' is one argument too many")
    assert "--watch, --html or --plot\n" in refused(bpe, toy)
    assert refused(bpe, "--word", "low", "--nbest", "513") == (
        "error: invalid value 513 for --nbest\nhint: give a whole number from 1 to 512\n"
    )
    assert refused(bpe, "--limit", "3").startswith("error: --limit needs --merges, ")
    assert refused(bpe, "--errors", "strict").startswith("error: --errors needs --state")
    assert refused(bpe, "--state", "1", "--errors", "no").startswith(
        "error: invalid value 'no' for --errors"
    )
    assert refused("-", "--merges", "1").startswith("error: can't read a model from stdin")
    assert refused(bpe, "--state", "1", terminal=True).startswith("error: there is no text")


def test_treasure_island(treasure_island: Path, tmp_path: Path) -> None:
    path = tmp_path / "island.json"
    tokenizer = Tokenizer.train(
        [treasure_island], vocab_size=2000, recipe=models.RECIPES["start"][0]
    )
    tokenizer.save(path)
    words = rows(str(path), "--state", str(len(tokenizer.merges)), str(treasure_island))
    assert tokenizer.model.training is not None
    counts = [int(word[1]) for word in words]
    assert len(counts) == tokenizer.model.training.distinct_pre_tokens
    assert sum(counts) == tokenizer.model.training.pre_tokens
