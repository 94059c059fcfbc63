"""`tokctl inspect`: what it prints, to the letter where that is short."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.explain import models
from tokctl import Tokenizer
from tokctl.cli.app import run
from tokctl.cli.world import World


@dataclass
class Ran:
    code: int
    out: str
    err: str


def inspect(
    *arguments: str,
    terminal: bool = False,
    stdin: bytes = b"",
    environ: dict[str, str] | None = None,
) -> Ran:
    stdout, stderr = io.BytesIO(), io.StringIO()
    world = World(
        stdin=io.BytesIO(stdin),
        stdout=stdout,
        stderr=stderr,
        stdin_is_terminal=terminal,
        stdout_is_terminal=terminal,
        environ={"NO_COLOR": "1", **(environ or {})},
    )
    code = run(["inspect", *arguments], world)
    return Ran(code, stdout.getvalue().decode(), stderr.getvalue())


def printed(*arguments: str, **options: object) -> str:
    """What a run without complaints prints, spaces at the ends of lines left out."""
    ran = inspect(*arguments, **options)  # type: ignore[arg-type]
    assert (ran.code, ran.err) == (0, "")
    return "".join(line.rstrip() + "\n" for line in ran.out.splitlines())


def refused(*arguments: str, **options: object) -> str:
    ran = inspect(*arguments, **options)  # type: ignore[arg-type]
    assert (ran.code, ran.out) == (2, "")
    return ran.err


@pytest.fixture
def bpe(tmp_path: Path) -> str:
    path = tmp_path / "bpe.json"
    models.toy(models.NOTEBOOK_BPE, 21).save(path)
    return str(path)


@pytest.fixture
def wordpiece(tmp_path: Path) -> str:
    path = tmp_path / "wordpiece.json"
    models.toy(models.NOTEBOOK_WORDPIECE, 100).save(path)
    return str(path)


@pytest.fixture
def bert(tmp_path: Path) -> str:
    path = tmp_path / "bert.json"
    models.model("longest-match").save(path)
    return str(path)


@pytest.fixture
def toy(tmp_path: Path) -> str:
    path = tmp_path / "toy.txt"
    path.write_text(models.TOY)
    return str(path)


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
    final = "3\tw i d est_\n1\tlo n g e r _\n2\tlow e r _\n6\tnewest_\n5\tlow_\n"
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
        "* 6 newest_\n"
        "5 words; 1 changed by this step, marked *\n"
    )
    # What the step has changed is shown even where the tie rule puts it far behind.
    assert printed(bpe, "--state", "8", toy, "--limit", "2", terminal=True) == (
        "After step 8: new + est_ → newest_\n"
        "  3 w│i│d│est_\n"
        "    … 3 words\n"
        "* 6 newest_\n"
        "5 words; 1 changed by this step, marked *; --limit 5 shows all\n"
    )
    assert printed(bpe, "--state", "0", "-", stdin=b"low").startswith("1\tl o w _")


def test_word(bpe: str, bert: str) -> None:
    assert printed(bpe, "--word", "newé") == (
        "word\tnewé\n"
        "symbols\tn e w é _\n"
        "step\t6\tn e\tne\t6\tne w é _\n"
        "step\t7\tne w\tnew\t6\tnew é _\n"
        "rest\tnew é\tnot in the alphabet\n"
        "rest\té _\tnot in the alphabet\n"
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
        "1  e + s    l│o│w│es│t│_\n"
        "   count 9  later: l + o (step 4)\n"
        "2  es + t   l│o│w│est│_\n"
        "   count 9  later: l + o (step 4)\n"
        "3  est + _  l│o│w│est_\n"
        "   count 9  later: l + o (step 4)\n"
        "4  l + o    lo│w│est_\n"
        "   count 8\n"
        "5  lo + w   low│est_\n"
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
    Tokenizer.train_on_counts(counts, vocab_size=9, recipe=recipe).save(path)
    assert printed(str(path), "--token", "#1").startswith("token\t#1\nid\t3\n")
    assert printed(str(path), "--token", "1").startswith("token\t1\nid\t2\n")
    assert printed(str(path), "--token", "#2").startswith("token\t1\nid\t2\n")


def test_what_a_terminal_obeys_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "evil.json"
    counts = {"\x1b[31m\t\u202e": 2}
    recipe = models.CHARACTERS
    Tokenizer.train_on_counts(counts, vocab_size=30, recipe=recipe).save(path)
    for terminal in (False, True):
        for question in (["--merges", ":"], ["--word", "\x1b[31m"], []):
            out = printed(str(path), *question, terminal=terminal)
            assert "\x1b" not in out
            assert "\u202e" not in out
    assert "\\x1b" in printed(str(path), "--word", "\x1b[31m")


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
    Tokenizer.train_on_counts({word: 1}, vocab_size=5000, recipe=recipe).save(path)
    last = f"#{len(Tokenizer.load(path).tokens) - 1}"
    shown = printed(str(path), "--token", last, terminal=True)
    assert "(1,100 long)" in shown
    assert len(shown) < 20_000
    assert printed(str(path), "--token", last).count("\nmerge\t") == 1099
    data = json.loads(printed(str(path), "--token", last, "--json"))
    assert len(data["merges"]) == 1099


def test_summary(bpe: str) -> None:
    out = printed(bpe)
    assert out == (
        f"model\t{bpe}\n"
        "format\ttokctl model file\n"
        "algorithm\tBPE, recipe notebook-bpe\n"
        "vocabulary\t21 ids, 9 merges\n"
        "special\tnone\n"
        "split\twhitespace (words between white space, which is dropped)\n"
        "symbols\tcharacters, the symbol _ after each word\n"
        "merged\tthe pair with the highest count; of equals the one seen first, rewritten words "
        "moved to the end (rewritten-last)\n"
        "encoded\tmerges by rank, the earliest learned first\n"
        "unknown\tan error: there is no unknown token\n"
        "elsewhere\tHugging Face refuses it: without an unknown token it drops characters that "
        "have no token, in silence\n"
        "trained on\t1 document, 26 bytes, sha256 ffed6e441951…\n"
        "counted\t17 pre-tokens, 5 distinct\n"
        "asked for\t21 ids\n"
        "\n"
        "tokens by origin\nspecial\t0\nalphabet\t12\nmerged\t9\n"
        "\n"
        "tokens by place in the word\nbefore the word end\t17\nword end\t4\n"
        "\n"
        "tokens by content\nletters\t20\nthe word marker\t1\n"
        "\n"
        "tokens by length in characters\n0\t1\n1\t11\n2\t3\n3\t5\n6\t1\n"
        "\n"
        "longest tokens (characters)\n"
        "newest_\t6\nest\t3\nest_\t3\nlow\t3\nnew\t3\nlow_\t3\nes\t2\nlo\t2\n"
        "\n"
        "first merges\n"
        "1\te\ts\tes\t9\n2\tes\tt\test\t9\n3\test\t_\test_\t9\n4\tl\to\tlo\t8\n"
        "5\tlo\tw\tlow\t7\n6\tn\te\tne\t6\n7\tne\tw\tnew\t6\n8\tnew\test_\tnewest_\t6\n"
        "\n"
        "last merges\n9\tlow\t_\tlow_\t5\n"
        "\n"
        "checks\n"
        "unreachable tokens\tnone\n"
        "duplicates\tnone\n"
        "holes in ids\tnone: 0 to 20, checked when the file was read\n"
        "texts with two tokens\t2, one with _ and one without\n"
        "tokens made twice\tnone\n"
    )
    terminal = printed(bpe, terminal=True)
    assert "tokens by length in characters" in terminal
    assert "\x1b" not in terminal


def test_recipe(bpe: str) -> None:
    assert printed(bpe, "--recipe") == (
        "recipe\tnotebook-bpe\n"
        "format\ttokctl model file\n"
        "algorithm\tbpe\n"
        "split\twhitespace (words between white space, which is dropped)\n"
        "symbols\tcharacters, the symbol _ after each word\n"
        "merged\tthe pair with the highest count; of equals the one seen first, rewritten words "
        "moved to the end (rewritten-last)\n"
        "encoded\tmerges by rank, the earliest learned first\n"
        "unknown\tan error: there is no unknown token\n"
        "special\tnone\n"
        "trained on\t1 document, 26 bytes, sha256 ffed6e441951…\n"
        "counted\t17 pre-tokens, 5 distinct\n"
        "asked for\t21 ids\n"
    )
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
    assert state["words"] == [{"tokens": ["w", "i", "d", "est_"], "count": 3, "changed": False}]
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
    assert printed(str(path), "--state", "0", stdin=b"\xff").startswith("1\tÿ\n")


def test_text_that_a_character_model_cannot_read(bpe: str) -> None:
    assert refused(bpe, "--state", "1", stdin=b"low \xff") == (
        "error: stdin: line 1, byte 4 is not UTF-8, and this model reads characters\n"
        "hint: use --errors replace to put U+FFFD in its place, or a byte-level model\n"
    )
    out = printed(bpe, "--state", "1", "--errors", "replace", stdin=b"low \xff")
    assert out == "1\tl o w _\n1\t\ufffd _\n"


def test_the_models_name_can_come_from_the_environment(bpe: str, wordpiece: str) -> None:
    environ = {"TOKCTL_MODEL": bpe}
    assert printed("--merges", "1", environ=environ) == "1\te\ts\tes\t9\n"
    assert printed("--state", "0", environ=environ, stdin=b"low") == "1\tl o w _\n"
    assert printed(wordpiece, "--merges", "1", environ=environ).startswith("1\t_n\t_g")
    assert refused(wordpiece, "--state", "1", environ=environ) == (
        f"error: is '{wordpiece}' the model or the text? $TOKCTL_MODEL is set, too\n"
        f"hint: name both ({wordpiece} -), or the model with -m\n"
    )


def test_what_is_refused(bpe: str, toy: str) -> None:
    assert refused() == (
        "error: no model is given\n"
        "hint: name one with -m FILE or in $TOKCTL_MODEL; to make one: tokctl train book.txt\n"
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
    )
    for wrong in ("a", "1-2", "", "1:2:3", "9" * 5000):
        assert refused(bpe, "--merges", wrong).startswith("error: --merges can't be")
    assert refused(bpe, "--token", "loww") == (
        "error: 'loww' is no token of this model\n"
        "hint: did you mean low or low_ or lo? (or how the text is split: --word 'loww')\n"
    )
    assert refused(bpe, "--token", "#21") == (
        "error: there is no id 21\nhint: this model's ids are 0 to 20\n"
    )
    assert refused(bpe, toy).startswith(f"error: '{toy}' is one argument too many")
    assert refused(bpe, "--limit", "3").startswith("error: --limit goes with --state or --token")
    assert refused(bpe, "--errors", "strict").startswith("error: --errors goes with --state")
    assert refused(bpe, "--state", "1", "--errors", "no").startswith("error: --errors can't be")
    assert refused("-", "--merges", "1").startswith("error: a model can't be read from stdin")
    assert refused(bpe, "--state", "1", terminal=True).startswith("error: there is no text")


def test_treasure_island(treasure_island: Path, tmp_path: Path) -> None:
    path = tmp_path / "island.json"
    tokenizer = Tokenizer.train(
        [treasure_island], vocab_size=2000, recipe=models.RECIPES["start"][0]
    )
    tokenizer.save(path)
    out = printed(str(path), "--state", str(len(tokenizer.merges)), str(treasure_island))
    assert tokenizer.model.training is not None
    counts = [int(line.split("\t")[0]) for line in out.splitlines()]
    assert len(counts) == tokenizer.model.training.distinct_pre_tokens
    assert sum(counts) == tokenizer.model.training.pre_tokens
