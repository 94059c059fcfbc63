"""What encode puts around texts, cuts off, fills up and draws at random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.run import Result, error, tokctl
from tokctl import Tokenizer
from tokctl.tokenizer.postprocess import Padding, Truncation

TEXT = "low lower newest widest, a sea-chest of treasure; low low\n" * 3
GIVEN = "low lower newest widest sea\nlow\n\nof café treasure"


@pytest.fixture(autouse=True, scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model with a template and [PAD], one with neither, and a unigram model."""
    made = tmp_path_factory.mktemp("around")
    paths = {}
    for name, preset, size in (("bert", "bert", 50), ("gpt2", "gpt2", 280), ("t5", "t5", 50)):
        paths[name] = made / f"{name}.json"
        arguments = ("--preset", preset, "--vocab", str(size), "-o", paths[name])
        assert tokctl("train", "-q", *arguments, stdin=TEXT.encode()).code == 0
    return paths


def encoded(path: Path, *arguments: str, given: str = GIVEN) -> Result:
    return tokctl("encode", "-m", path, *arguments, stdin=given.encode())


def objects(path: Path, *arguments: str, given: str = GIVEN) -> list[dict[str, Any]]:
    done = encoded(path, "-q", "--json", *arguments, given=given)
    assert (done.code, done.err) == (0, "")
    return [orjson.loads(line) for line in done.out.splitlines()]


def rows(path: Path, *arguments: str, given: str = GIVEN) -> list[list[int]]:
    done = encoded(path, *arguments, given=given)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(b"\n") == given.endswith("\n")
    return [[int(id_) for id_ in line.split()] for line in done.out.split(b"\n")]


def test_special_tokens_around_every_line(bert: dict[str, Path]) -> None:
    tokenizer = Tokenizer.load(bert["bert"])
    lines = GIVEN.split("\n")
    expected = [tokenizer.encode(line, add_special=True).ids for line in lines]
    assert rows(bert["bert"], "--add-special") == expected
    assert [row[0] for row in expected] == [tokenizer.special_ids["[CLS]"]] * 4
    assert rows(bert["bert"], "--no-add-special") == [tokenizer.encode(li).ids for li in lines]
    many = "\n".join([GIVEN] * 50)
    one = rows(bert["bert"], "--add-special", given=many)
    assert rows(bert["bert"], "--add-special", "--threads", "3", given=many) == one


def test_a_model_without_a_template_says_so(bert: dict[str, Path]) -> None:
    done = encoded(bert["gpt2"], "--add-special")
    assert done.err == "note: this model's template has no special tokens to add\n"
    assert done.out == encoded(bert["gpt2"]).out


@pytest.mark.parametrize("length", [2, 3, 5, 100])
def test_max_length(bert: dict[str, Path], length: int) -> None:
    tokenizer = Tokenizer.load(bert["bert"])
    for more in ((), ("--add-special",)):
        expected = [
            tokenizer.encode(line, add_special=bool(more), truncation=length).ids
            for line in GIVEN.split("\n")
        ]
        assert rows(bert["bert"], "--max-length", str(length), *more) == expected


def test_windows(bert: dict[str, Path]) -> None:
    tokenizer = Tokenizer.load(bert["bert"])
    expected = []
    for line in GIVEN.split("\n"):
        found = tokenizer.encode(line, add_special=True, truncation=Truncation(6, 2))
        expected += [(row.ids, n) for n, row in enumerate([found, *found.overflowing])]
    arguments = ("--add-special", "--max-length", "6", "--stride", "2")
    made = objects(bert["bert"], *arguments)
    assert [(row["ids"], row["window"]) for row in made] == expected
    assert len(made) > 4 and max(row["window"] for row in made) > 0
    assert rows(bert["bert"], *arguments) == [ids for ids, _ in expected]
    counted = encoded(bert["bert"], *arguments, "--count", "--lines").out.split()
    assert int(counted[0]) == sum(len(ids) for ids, _ in expected)


def test_pad(bert: dict[str, Path]) -> None:
    plain = rows(bert["bert"], "--add-special")
    longest = max(map(len, plain))
    to_longest = rows(bert["bert"], "--add-special", "--pad", "longest")
    assert to_longest == [row + [0] * (longest - len(row)) for row in plain]
    to_five = rows(bert["bert"], "--add-special", "--pad", "5")
    assert to_five == [row + [0] * (5 - len(row)) for row in plain]
    named = rows(bert["gpt2"], "--pad", "30", "--pad-token", "<|endoftext|>")
    assert {len(row) for row in named} == {30} and named[2] == [0] * 30
    both = rows(bert["bert"], "--pad", "longest", "--max-length", "3")
    assert {len(row) for row in both} == {3}


def test_longest_is_that_of_all_files(bert: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "a").write_text("low\n", encoding="utf-8")
    (tmp_path / "b").write_text("low low low", encoding="utf-8")
    files = (str(tmp_path / "a"), str(tmp_path / "b"))
    done = tokctl("encode", "-m", bert["bert"], "--pad", "longest", *files)
    assert [len(line.split()) for line in done.out.splitlines()] == [3, 3]
    whole = tokctl("encode", "-m", bert["bert"], "--pad", "longest", "--whole", *files)
    assert [len(line.split()) for line in whole.out.splitlines()] == [3, 3]


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_full_has_every_column(bert: dict[str, Path], name: str) -> None:
    tokenizer = Tokenizer.load(bert[name])
    made = objects(bert[name], "--full", "--add-special", "--pad", "12", "--pad-token",
                   next(iter(tokenizer.special_ids)))  # fmt: skip
    pad = next(iter(tokenizer.special_ids.items()))
    for line, row in zip(GIVEN.split("\n"), made, strict=True):
        padding = Padding(12, token=pad[0], id=pad[1])
        one = tokenizer.encode(line, add_special=True, padding=padding)
        assert row == {
            "ids": one.ids,
            "tokens": one.tokens,
            "offsets": [list(pair) for pair in one.offsets],
            "byte_offsets": [list(pair) for pair in one.byte_offsets],
            "word_ids": one.word_ids,
            "type_ids": one.type_ids,
            "special_mask": one.special_mask,
            "attention_mask": one.attention_mask,
        }
    assert 0 in made[1]["attention_mask"] and 1 in made[1]["special_mask"]


def test_offsets_in_characters_and_in_bytes(bert: dict[str, Path]) -> None:
    (row,) = objects(bert["gpt2"], "--offsets", "--byte-offsets", given="é low")
    assert list(row) == ["ids", "tokens", "offsets", "byte_offsets"]
    assert row["offsets"][-1][1] == 5 and row["byte_offsets"][-1][1] == 6


def test_columns_come_with_what_fills_them(bert: dict[str, Path]) -> None:
    assert list(objects(bert["bert"])[0]) == ["ids", "tokens"]
    added = ["ids", "tokens", "type_ids", "special_mask"]
    assert list(objects(bert["bert"], "--add-special")[0]) == added
    assert list(objects(bert["bert"], "--pad", "9")[0]) == [*added, "attention_mask"]


def test_sample(bert: dict[str, Path]) -> None:
    tokenizer = Tokenizer.load(bert["t5"])
    lines = GIVEN.split("\n")
    made = rows(bert["t5"], "--alpha", "0.1", "--seed", "7")
    expected = [tokenizer.sample(li, alpha=0.1, seed=7 + n) for n, li in enumerate(lines)]
    assert made == expected
    assert rows(bert["t5"], "--alpha", "0.1", "--seed", "8") != made
    assert rows(bert["t5"], "--alpha", "0.1") == rows(bert["t5"], "--alpha", "0.1", "--seed", "0")
    same = [row["ids"] for row in objects(bert["t5"], "--alpha", "0.1", "--seed", "7")]
    assert same == made
    padded = rows(bert["t5"], "--alpha", "0.1", "--seed", "7", "--pad", "longest")
    longest = max(map(len, made))
    assert padded == [row + [0] * (longest - len(row)) for row in made]


@pytest.mark.parametrize(
    ("name", "arguments", "message", "hint"),
    [
        (
            "bert",
            ("--stride", "2"),
            "--stride needs --max-length",
            "add --max-length N, or leave --stride out",
        ),
        (
            "bert",
            ("--pad-token", "[PAD]"),
            "--pad-token needs --pad",
            "add --pad N, or leave --pad-token out",
        ),
        (
            "bert",
            ("--seed", "2"),
            "--seed needs --alpha",
            "add --alpha ALPHA, or leave --seed out",
        ),
        (
            "bert",
            ("--pad", "x"),
            "invalid value 'x' for --pad",
            "give a number of at least 1, or longest",
        ),
        (
            "bert",
            ("--count", "--pad", "9"),
            "--pad can't be used with --count: padding is not counted",
            "leave one of them out",
        ),
        (
            "bert",
            ("--max-length", "1", "--add-special"),
            "a maximum of 1 tokens leaves no room for the 2 special tokens",
            None,
        ),
        (
            "gpt2",
            ("--pad", "9"),
            "this model has no padding token ([PAD] or <pad>)",
            "name one of its special tokens with --pad-token: <|endoftext|>",
        ),
        (
            "gpt2",
            ("--pad", "9", "--pad-token", "x"),
            "the padding token 'x' is not a special token of this model",
            "choose one of: <|endoftext|>",
        ),
        (
            "gpt2",
            ("--alpha", "0.1"),
            "a bpe model has one segmentation of a text",
            "a unigram model has several, and their scores: tokctl train --algo unigram",
        ),
        (
            "t5",
            ("--alpha", "0.1", "--max-length", "3", "--stride", "1"),
            "--alpha can't be used with --stride: random segmentations have no windows",
            "leave one of them out",
        ),
        (
            "t5",
            ("--alpha", "0.1", "--full", "--json"),
            "--alpha can't be used with --full: random segmentations have no offsets",
            "leave one of them out",
        ),
        ("t5", ("--full",), "--full needs --as jsonl", "add --as jsonl"),
    ],
)
def test_refused(
    bert: dict[str, Path], name: str, arguments: tuple[str, ...], message: str, hint: str | None
) -> None:
    done = encoded(bert[name], *arguments)
    assert (done.code, done.out) == (2, b"")
    if hint is None:
        assert done.err.startswith("error: ") and "\nhint: " in done.err
    else:
        assert done.err == error(message, hint)
