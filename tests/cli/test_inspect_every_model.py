"""`tokctl inspect` of every recipe, and of what other tools' files hold: no question fails."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from itertools import accumulate, combinations
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.inspecting import inspect, printed, refused, rows, told
from tests.conftest import shared_file
from tests.explain.every import NAMES, RECIPES, TEXT, model
from tokctl import Tokenizer
from tokctl.model.parts import NORMALIZERS, PRE_TOKENIZERS
from tokctl.report.inspect.model import part_text
from tokctl.sources.corpora import corpus_path

QUESTIONS = (
    [],
    ["--recipe"],
    ["--rounds"],
    ["--merges", ":3"],
    ["--state", "0"],
    ["--state", "2"],
    ["--word", "The lowest Ωω \ufb01 <x>New <unk> <0x41> 😀"],
    ["--word", ""],
    ["--word", " "],
    ["--word", "<unk>"],
    ["--token", "#0"],
    ["--token", "#40"],
    ["--token", "#80"],
    ["--token", "#290"],
    ["--token", " low"],
    ["--token", "nothing of the kind"],
    ["--merges-of", "low*", "--merges", ":40"],
    ["--pairs", "0"],
    ["--pairs", "2"],
    ["--use"],
    ["--gap"],
    ["--token", "#40", "-"],
    ["--token", "#280", "-"],
    ["--word", "The lowest \u03a9", "--nbest", "9"],
)
#: Questions that read a text from stdin.
ABOUT_TEXTS = ("--state", "--pairs", "--use", "--gap")


def ask_everything(
    path: str, columns: int = 60, questions: Sequence[list[str]] = QUESTIONS
) -> None:
    """Check that each question has an answer in each form, or in none."""
    for question in questions:
        asked = inspect(path, *question, stdin=TEXT.encode())
        assert "should not have happened" not in asked.err, asked.err
        assert (asked.code, bool(asked.err)) in ((0, False), (2, True))
        as_json, as_csv = (
            inspect(path, *question, form, stdin=TEXT.encode()) for form in ("--json", "--csv")
        )
        assert as_json.code == as_csv.code == asked.code
        if asked.code:
            assert "\nhint: " in asked.err, asked.err
            continue
        json.loads(as_json.out)
        assert_is_tables(as_csv.out)
        if question[:1] and question[0] in ABOUT_TEXTS:
            question = [*question, "-"]
        shown = inspect(path, *question, stdin=TEXT.encode(), terminal=True)
        assert (shown.code, shown.err) == (0, "")
        assert max(map(cell_len, shown.out.splitlines()), default=0) <= columns


def assert_is_tables(text: str) -> None:
    """Each table has rows as long as its line of names, which are all different."""
    tables = [list(csv.reader(table.splitlines())) for table in text.split("\n\n")]
    for table in tables if text else []:
        title = table[0] if len(tables) > 1 else []
        names, *rows = table[bool(title) :]
        assert len(title) < 2
        assert len(set(names)) == len(names)
        assert {len(row) for row in rows} <= {len(names)}
        assert not title or title[0]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NAMES)
def test_every_question(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    path = tmp_path / "m.json"
    model(name).save(path)
    ask_everything(str(path))
    recipe = model(name).recipe
    # A label stands on the first of its lines.
    labels = list(accumulate((row[0] for row in rows(str(path), "--recipe")), lambda a, b: b or a))
    assert labels.count("normalized") == len(recipe.normalizers)
    assert labels.count("split") == (len(recipe.pre_tokenizers) or 1)


@pytest.mark.parametrize(
    ("file", "questions"),
    [
        ("sentencepiece-unigram-en.model", QUESTIONS),
        # Large ones, which take their time to load.
        ("gpt2.tokenizer.json", QUESTIONS[3:12:4]),
        ("cl100k_base.tiktoken", QUESTIONS[1:12:5]),
    ],
)
def test_foreign_files(
    file: str, questions: Sequence[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    ask_everything(str(shared_file(f"vocab/{file}")), questions=questions)


@pytest.mark.slow
def test_models_of_sentencepiece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentencepiece")
    from tests.formats.test_sentencepiece_model import MODELS, texts, trained

    monkeypatch.setenv("COLUMNS", "60")
    path = tmp_path / "m.model"
    for options in MODELS.values():
        path.write_bytes(trained(**options))
        ask_everything(str(path))
        tokenizer = Tokenizer.load(path)
        for text in texts()[:60]:
            assert tokenizer.explain(text).tokens == tokenizer.encode(text).tokens


def test_values_of_great_length_are_cut() -> None:
    rules = NORMALIZERS.part("precompiled", rules="Ab" * 160_000)
    assert part_text(rules) == f"precompiled with rules {'Ab' * 12}… (320,000 characters)"
    assert part_text(PRE_TOKENIZERS.parse(f"regex:{'a ' * 150}")) == f"regex:{'a ' * 150}"
    assert part_text(NORMALIZERS.parse("replace: =>▁")) == "replace:␣=>▁"
    assert part_text(NORMALIZERS.parse("prepend:\x1b")) == "prepend:\\x1b"


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, str]:
    found = {}
    for name in NAMES:
        found[name] = str(tmp_path / f"{name}.json")
    return found


def saved(paths: dict[str, str], name: str) -> str:
    model(name).save(paths[name])
    return paths[name]


def test_word_of_a_unigram_model(paths: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(paths, "default unigram")
    scores = dict(
        zip(model("default unigram").tokens, model("default unigram").model.scores, strict=True)
    )
    penalty = min(score for token, score in scores.items() if token != "<unk>") - 10
    (word,) = told(path, "--word", "lowΩ")["words"]
    assert word["tokens"] == ["▁low", "<unk>"]
    best, *others = word["paths"]
    assert [piece["score"] for piece in best["pieces"]] == [scores["▁low"], penalty]
    assert best["score"] == scores["▁low"] + penalty
    assert best["probability"] == pytest.approx(0.99, abs=0.01) and others
    monkeypatch.setenv("COLUMNS", "60")
    shown = printed(path, "--word", "lowΩ", terminal=True)
    assert "no piece: the penalty" in shown
    assert "The next best, and how much less, and their probability:" in shown


def test_token_of_a_unigram_model(paths: dict[str, str]) -> None:
    path = saved(paths, "default unigram")
    worth = model("default unigram").token_history("▁low").piece_score
    assert worth is not None and worth.gain is not None and worth.instead is not None
    token = told(path, "--token", "▁low")
    assert (token["kind"], token["worth"]["score"]) == ("piece", worth.score)
    assert (token["worth"]["place"], token["worth"]["pieces"]) == (worth.place, worth.pieces)
    shown = printed(path, "--token", " low", terminal=True)
    assert f"Dropping it would cost {worth.gain:.4f} nats each time it is taken." in shown


def test_rounds(tmp_path: Path) -> None:
    path = str(tmp_path / "m.json")
    source = corpus_path("sample")
    tokenizer = Tokenizer.train([source], vocab_size=400, algorithm="unigram")
    tokenizer.save(path)
    rounds = tokenizer.model.rounds
    assert len(rounds) > 3
    table = rows(path, "--rounds")
    assert [int(row[0]) for row in table] == list(range(1, len(rounds) + 1))
    assert [int(row[1]) for row in table] == [found.pieces for found in rounds]
    assert [float(row[2]) for row in table] == [found.objective for found in rounds]
    data = json.loads(printed(path, "--rounds", "--json"))
    assert [found["objective"] for found in data["rounds"]] == [r.objective for r in rounds]
    piece, loss = rounds[0].examples[0]
    assert data["rounds"][0]["examples"][0] == {"piece": piece, "loss": loss}
    shown = printed(path, "--rounds", terminal=True)
    curve = shown.splitlines()[3 : 3 + len(rounds)]
    assert [line.split()[0] for line in curve] == [str(n) for n in range(1, len(rounds) + 1)]
    bars = [line.count("█") for line in curve]
    assert bars == sorted(bars, reverse=True) and bars[0] > bars[-1] > 0
    # The dots stand in the order of the objectives.
    dots = [line.index("●") for line in curve]
    values = [found.objective for found in rounds]
    assert all(
        (a <= b) == (x <= y) or x == y
        for (a, x), (b, y) in combinations(zip(values, dots, strict=True), 2)
    )
    assert min(dots) < max(dots)
    assert f"Dropped in round 1, with their loss\n{piece} ({loss:.4g}), " in shown
    assert f"Dropped in round {len(rounds)}\n" in shown


def test_what_a_model_does_not_have(paths: dict[str, str]) -> None:
    assert refused(saved(paths, "default unigram"), "--merges", ":") == (
        "error: a unigram model has no merges: its pieces are chosen by likelihood\n"
        "hint: see the rounds of its training: --rounds\n"
    )
    assert refused(saved(paths, "default word"), "--state", "1", stdin=b"low") == (
        "error: a word model has no merges: its tokens are chosen by count\n"
        "hint: see how often a token was counted: --token TOKEN\n"
    )
    assert refused(saved(paths, "ranks"), "--merges", "1") == (
        "error: the merges of this model are not known: its file has the ranks of tokens, not "
        "the pairs\n"
        "hint: --word TEXT and --token TOKEN show the merges that follow from the ranks\n"
    )
    assert refused(saved(paths, "gpt2"), "--rounds") == (
        "error: a bpe model is not trained in rounds\nhint: see its merges: --merges :\n"
    )


def test_words_that_are_looked_up(paths: dict[str, str]) -> None:
    assert printed(saved(paths, "default word"), "--word", "the unseen") == (
        "the  the\nthe  counted 6 times\n\nunseen  [UNK]\nunseen  unknown: none of the "
        f"{model('default word').vocab_size - 1} words that have a token\n"
    )


def test_whole_words_ranks_bytes_and_added_tokens(paths: dict[str, str]) -> None:
    assert printed(saved(paths, "llama3"), "--word", "low") == (
        "low  low\n  it is a token, and stays whole: no merge is tried\n"
    )
    out = printed(saved(paths, "llama2"), "--word", "Ω")
    assert "Ω has no token  <0xCE>│<0xA9>\n  symbols         ▁│<0xCE>│<0xA9>\n" in out
    path = saved(paths, "ranks")
    assert told(path, "--word", "lowx")["words"][0]["ranked"]
    assert "not merged: low + x  no token is spelled so\n" in printed(path, "--word", "lowx")
    assert printed(saved(paths, "added tokens"), "--word", "X<x>") == (
        "x  x\n  symbols  x\n\n"
        "<x>  <x>\n  an added token, found always, in the text as given, with the white space on "
        "the left, before the model segments\n"
    )
    assert printed(saved(paths, "bert"), "--word", "É").startswith("normalized  e\n\ne  e\n")


@pytest.mark.parametrize("name", [name for name in RECIPES if RECIPES[name].byte_fallback])
def test_a_byte_token_stands_for_its_byte(name: str, paths: dict[str, str]) -> None:
    token = told(saved(paths, name), "--token", "<0x41>")
    assert (token["kind"], token["stands_for"]) == ("byte", {"text": "A"})
