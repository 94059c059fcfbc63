"""`tokctl inspect`: what it prints, to the letter where that is short."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.inspecting import inspect, printed, rows, told
from tests.explain import models
from tokctl import Tokenizer


def test_merges(bpe: str, wordpiece: str) -> None:
    assert rows(bpe, "--merges", ":2") == [["1", "e", "s", "es", "9"], ["2", "es", "t", "est", "9"]]
    last = [["9", "low", "_", "low_", "5"]]
    assert rows(bpe, "--merges", "8:") == [["8", "new", "est_", "newest_", "6"], *last]
    assert rows(bpe, "--merges", "9:99") == rows(bpe, "--merges", "9") == last
    assert len(rows(bpe, "--merges", ":")) == 9
    assert printed(wordpiece, "--merges", "4:5", "--csv") == (
        "step,left,right,token,count,score,decimal score\n"
        "4,l,_o,lo,8,1/8,0.125\n"
        "5,lo,_ng,long,1,1/8,0.125\n"
    )


def test_a_pipe_gets_what_a_terminal_shows(
    bpe: str, toy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for question in (
        ["--merges", ":"],
        ["--state", "8", toy],
        ["--word", "lowest"],
        ["--token", "low"],
        ["--check"],
    ):
        piped = inspect(bpe, *question, environ={"NO_COLOR": ""}).out
        assert not any(line.endswith(" ") for line in piped.split("\n"))
        monkeypatch.setenv("COLUMNS", "160")  # as wide as a pipe without COLUMNS
        assert inspect(bpe, *question, terminal=True).out == piped
        monkeypatch.setenv("COLUMNS", "40")
        assert max(map(len, inspect(bpe, *question).out.splitlines())) <= 40
        monkeypatch.delenv("COLUMNS")
    assert inspect(bpe, terminal=True).out.startswith("╭─")
    assert inspect(bpe).out.startswith(f"{bpe}\nformat      tokctl model file\n")


def test_merges_on_a_terminal(wordpiece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert printed(wordpiece, "--merges", "4:5", terminal=True) == (
        "\n"
        " step   left   right   token   count   score       ≈\n"
        " ───────────────────────────────────────────────────\n"
        "    4      l   _o      lo          8     1/8   0.125\n"
        "    5     lo   _ng     long        1     1/8   0.125\n"
        "\n"
        "2 steps of 17\n"
    )


def test_state(bpe: str, toy: str) -> None:
    final = [
        ["", "3", "w i d est_", ""],
        ["", "1", "lo n g e r _", ""],
        ["", "2", "low e r _", ""],
        ["", "6", "newest_", ""],
        ["*", "5", "low_", "low _"],
    ]
    assert rows(bpe, "--state", "9", toy) == final
    assert rows(bpe, "--state", "9", "-", stdin=models.TOY.encode()) == final
    assert rows(bpe, "--state", "9", stdin=models.TOY.encode()) == final
    assert rows("-m", bpe, "--state", "9", toy) == final
    # Up to half of the lines are of words that the step has changed.
    assert rows("--state", "9", toy, "-m", bpe, "--limit", "2") == [final[0], final[-1]]
    # Each file is a text of its own.
    assert rows(bpe, "--state", "0", toy, toy)[:2] == [
        ["", "10", "l o w _", ""],
        ["", "4", "l o w e r _", ""],
    ]


def test_csv_has_all_rows(bpe: str) -> None:
    text = " ".join(f"{'low' * n}" for n in range(1, 50)).encode()
    assert len(rows(bpe, "--state", "9", stdin=text)) == 49
    assert len(rows(bpe, "--state", "9", "--limit", "3", stdin=text)) == 3
    assert "… 19 words" in printed(bpe, "--state", "9", stdin=text)
    longest = rows(bpe, "--state", "9", stdin=b"low" * 90)[0]
    assert longest[2].split() == ["low"] * 89 + ["low_"]


def test_state_on_a_terminal(bpe: str, toy: str) -> None:
    assert printed(bpe, "--state", "8", toy, terminal=True) == (
        "After step 8: new + est_ → newest_\n"
        "  3 w│i│d│est_\n"
        "  1 lo│n│g│e│r│_\n"
        "  5 low│_\n"
        "  2 low│e│r│_\n"
        "* 6 [newest_]    was new│est_\n"
        "5 words; 1 changed by this step, marked * and [ ]\n"
    )
    # What the step has changed is shown even where the tie rule puts it far behind.
    assert printed(bpe, "--state", "8", toy, "--limit", "2", terminal=True) == (
        "After step 8: new + est_ → newest_\n"
        "  3 w│i│d│est_\n"
        "    … 3 words\n"
        "* 6 [newest_]  was new│est_\n"
        "5 words; 1 changed by this step, marked * and [ ]; --limit 5 shows all\n"
    )
    assert rows(bpe, "--state", "0", "-", stdin=b"low") == [["", "1", "l o w _", ""]]


def test_word(bpe: str, bert: str) -> None:
    (word,) = told(bpe, "--word", "newé")["words"]
    assert word["symbols"] == ["n", "e", "w", "é", "_"]
    assert [(step["merge"]["step"], step["state"]) for step in word["steps"]] == [
        (6, ["ne", "w", "é", "_"]),
        (7, ["new", "é", "_"]),
    ]
    assert [(rest["left"], rest["reason"], rest["lacks"]) for rest in word["not_merged"]] == [
        ("new", "unknown", ["é"]),
        ("é", "unknown", ["é"]),
    ]
    assert "not merged: new + é  é is not in the alphabet\n" in printed(bpe, "--word", "newé")
    assert printed(bert, "--word", "lowtests aé", "--csv") == (
        "lowtests  low ##t ##e ##sts\n"
        "piece,note\n"
        'low,"no token: lowtests, …, lowte, lowt"\n'
        '##t,"no token: ##tests, …, ##tes, ##te"\n'
        '##e,"no token: ##ests, ##est, ##es"\n'
        "##sts,nothing longer is left\n"
        "\n"
        "aé  [UNK]\n"
        "piece,note\n"
        "a,no token: aé\n"
    )
    assert told(bert, "--word", " ")["words"] == []


def test_word_on_a_terminal(bpe: str, bert: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert printed(bpe, "--word", "lowest", terminal=True) == (
        "lowest  low│est_\n"
        "   symbols  l│o│w│e│s│t│_\n"
        "1  e + s    l│o│w│[es]│t│_\n"
        "   count 9  later: l + o (step 4)\n"
        "2  es + t   l│o│w│[est]│_\n"
        "   count 9  later: l + o (step 4)\n"
        "3  est + _  l│o│w│[est_]\n"
        "   count 9  later: l + o (step 4)\n"
        "4  l + o    [lo]│w│est_\n"
        "   count 8\n"
        "5  lo + w   [low]│est_\n"
        "   count 7\n"
        "  not merged: low + est_  never merged in training\n"
    )
    assert printed(bert, "--word", "é", terminal=True) == (
        "é  [UNK]\nnothing fits, é: the whole word is unknown.\n"
    )
    assert printed(bert, "--word", "", terminal=True) == ("An empty text has no tokens.\n")
    assert printed(bert, "--word", " ", terminal=True) == (
        "The pre-tokenizer leaves nothing of this text: it has no\ntokens.\n"
    )


def test_token(bpe: str) -> None:
    token = told(bpe, "--token", "low")
    assert (token["token"], token["id"], token["kind"]) == ("low", 16, "merged")
    assert [(merge["step"], merge["token"], merge["count"]) for merge in token["merges"]] == [
        (4, "lo", 8),
        (5, "low", 7),
    ]
    assert told(bpe, "--token", "#16") == token
    assert rows(bpe, "--token", "low") == [["9", "low", "_", "low_"]]


def test_token_on_a_terminal(bpe: str, wordpiece: str) -> None:
    assert printed(bpe, "--token", "low", terminal=True) == (
        "low  id 16, merged\n"
        "3 bytes: 6c 6f 77\n"
        "\n"
        "low  step 5, count 7\n"
        "├── lo  step 4, count 8\n"
        "│   ├── l\n"
        "│   └── o\n"
        "└── w\n"
        "\n"
        "1 token made with it:\n"
        "\n"
        " step   left   right   token\n"
        " ───────────────────────────\n"
        "    9    low   _       low_\n"
        "\n"
    )
    assert "low  step 7, count 7, score ≈ " in printed(wordpiece, "--token", "low", terminal=True)


def test_a_number_that_is_a_token_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "numbers.json"
    counts = {"#1": 3, "1": 2}
    recipe = models.CHARACTERS
    Tokenizer.train(counts, vocab_size=9, recipe=recipe).save(path)
    assert printed(str(path), "--token", "#1").startswith("#1  id 3, ")
    assert printed(str(path), "--token", "1").startswith("1  id 2, ")
    assert printed(str(path), "--token", "#2").startswith("1  id 2, ")


def test_what_a_terminal_obeys_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "evil.json"
    counts = {"\x1b[31m\t\u202e": 2}
    recipe = models.CHARACTERS
    Tokenizer.train(counts, vocab_size=30, recipe=recipe).save(path)
    for form in ([], ["--csv"]):
        for question in (["--merges", ":"], ["--word", "\x1b[31m"], []):
            out = printed(str(path), *question, *form)
            assert "\x1b" not in out
            assert "\u202e" not in out
    assert "\\x1b" in printed(str(path), "--word", "\x1b[31m")


def test_a_mark_that_combines_stands_on_a_circle(tmp_path: Path) -> None:
    path = tmp_path / "marks.json"
    counts = {"e\u0301": 2, "\u0301e": 1}
    Tokenizer.train(counts, vocab_size=9, recipe=models.CHARACTERS).save(path)
    assert printed(str(path), "--word", "e\u0301", terminal=True).splitlines()[1].split() == [
        "symbols",
        "e│◌\u0301",
    ]
    assert "◌" not in rows(str(path), "--word", "e\u0301")[0][2]


@pytest.mark.parametrize("columns", ["60", "100"])
def test_lines_fit_the_terminal(
    bert: str, toy: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for question in (
        [],
        ["--merges", ":"],
        ["--state", "20", toy],
        ["--word", "lowtests newest"],
        ["--token", "##sts"],
    ):
        out = printed(bert, *question, terminal=True)
        assert max(map(len, out.splitlines())) <= int(columns)


def test_a_token_of_a_thousand_levels(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    word = "".join(map(chr, range(0x400, 0x400 + 1100)))
    recipe = models.CHARACTERS
    Tokenizer.train({word: 1}, vocab_size=5000, recipe=recipe).save(path)
    last = f"#{len(Tokenizer.load(path).tokens) - 1}"
    shown = printed(str(path), "--token", last, terminal=True)
    assert "(1,100 long)" in shown
    assert len(shown) < 20_000
    assert len(told(str(path), "--token", last)["merges"]) == 1099
