"""`tokctl inspect`: what it prints, to the letter where that is short."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.inspecting import printed
from tests.explain import models
from tokctl import Tokenizer


def test_merges(bpe: str, wordpiece: str) -> None:
    assert printed(bpe, "--merges", ":2") == "1\te\ts\tes\t9\n2\tes\tt\test\t9\n"
    assert printed(bpe, "--merges", "8:") == "8\tnew\test_\tnewest_\t6\n9\tlow\t_\tlow_\t5\n"
    assert printed(bpe, "--merges", "9:99") == "9\tlow\t_\tlow_\t5\n"
    assert printed(bpe, "--merges", "9") == "9\tlow\t_\tlow_\t5\n"
    assert len(printed(bpe, "--merges", ":").splitlines()) == 9
    assert printed(wordpiece, "--merges", "4") == "4\tl\t_o\tlo\t8\t1/8\t0.125\n"


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
    final = "3\tw i d est_\n1\tlo n g e r _\n2\tlow e r _\n6\tnewest_\n5\tlow_\tlow _\n"
    assert printed(bpe, "--state", "9", toy) == final
    assert printed(bpe, "--state", "9", "-", stdin=models.TOY.encode()) == final
    assert printed(bpe, "--state", "9", stdin=models.TOY.encode()) == final
    assert printed("-m", bpe, "--state", "9", toy) == final
    assert printed("--state", "9", toy, "-m", bpe, "--limit", "1") == "3\tw i d est_\n"
    # Each file is a text of its own.
    assert printed(bpe, "--state", "0", toy, toy).startswith("10\tl o w _\n4\tl o w e r _\n")


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
    assert printed(bpe, "--state", "0", "-", stdin=b"low").startswith("1\tl o w _")


def test_word(bpe: str, bert: str) -> None:
    assert printed(bpe, "--word", "newé") == (
        "word\tnewé\n"
        "symbols\tn e w é _\n"
        "step\t6\tn e\tne\t6\tne w é _\n"
        "step\t7\tne w\tnew\t6\tnew é _\n"
        "rest\tnew é\té is not in the alphabet\n"
        "rest\té _\té is not in the alphabet\n"
        "tokens\tnew é _\n"
    )
    assert printed(bert, "--word", "lowtests aé") == (
        "word\tlowtests\n"
        "match\tlow\tlow\tno token: lowtests, …, lowte, lowt\n"
        "match\tt\t##t\tno token: ##tests, …, ##tes, ##te\n"
        "match\te\t##e\tno token: ##ests, ##est, ##es\n"
        "match\tsts\t##sts\tnothing longer is left\n"
        "tokens\tlow ##t ##e ##sts\n"
        "word\taé\n"
        "match\ta\ta\tno token: aé\n"
        "unknown\tnothing fits the rest, é: the whole word is unknown\n"
        "tokens\t[UNK]\n"
    )
    assert printed(bert, "--word", " ") == ""


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
    expected = (
        "token\tlow\n"
        "id\t16\n"
        "bytes\t6c6f77\n"
        "kind\tmerged\n"
        "merge\t4\tl\to\tlo\t8\n"
        "merge\t5\tlo\tw\tlow\t7\n"
        "use\t9\t_\tleft\tlow_\n"
    )
    assert printed(bpe, "--token", "low") == expected
    assert printed(bpe, "--token", "#16") == expected


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
    assert printed(str(path), "--token", "#1").startswith("token\t#1\nid\t3\n")
    assert printed(str(path), "--token", "1").startswith("token\t1\nid\t2\n")
    assert printed(str(path), "--token", "#2").startswith("token\t1\nid\t2\n")


def test_what_a_terminal_obeys_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "evil.json"
    counts = {"\x1b[31m\t\u202e": 2}
    recipe = models.CHARACTERS
    Tokenizer.train(counts, vocab_size=30, recipe=recipe).save(path)
    for terminal in (False, True):
        for question in (["--merges", ":"], ["--word", "\x1b[31m"], []):
            out = printed(str(path), *question, terminal=terminal)
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
    assert "◌" not in printed(str(path), "--word", "e\u0301")


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
    assert printed(str(path), "--token", last).count("\nmerge\t") == 1099
    data = json.loads(printed(str(path), "--token", last, "--json"))
    assert len(data["merges"]) == 1099
