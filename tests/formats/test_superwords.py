"""Models of superwords: their file, what damages it, and formats that have none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.errors import raises_code
from tests.exact.spilled import document
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats import UnsupportedByFormat

TEXT = "the cat of the cat of the house\nand the cat, and the house of the cat " * 3


@pytest.fixture
def trained() -> Tokenizer:
    return Tokenizer.train([document("text", TEXT.encode())], vocab_size=290, algorithm="boundless")


def test_the_file_holds_all_of_it(trained: Tokenizer, tmp_path: Path) -> None:
    assert trained.model.supermerges
    trained.save(tmp_path / "a.json")
    again = Tokenizer.load(tmp_path / "a.json")
    assert again == trained and again.model.supermerges == trained.model.supermerges
    assert again.encode_ids(TEXT) == trained.encode_ids(TEXT)
    again.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    more = again.with_special_tokens(["<s>"])
    more.save(tmp_path / "c.json")
    assert Tokenizer.load(tmp_path / "c.json").encode_ids(TEXT) == trained.encode_ids(TEXT)


def test_hugging_face_refuses_it(trained: Tokenizer) -> None:
    document = orjson.loads(formats.serialize(trained.model))
    assert document["version"] == "tokctl-1"
    assert "several pre-tokens" in (formats.why_not_loadable(trained.model) or "")
    tokenizers = pytest.importorskip("tokenizers")
    with pytest.raises(Exception, match="version"):
        tokenizers.Tokenizer.from_str(orjson.dumps(document).decode())


@pytest.mark.parametrize("name", [one.name for one in formats.FORMATS if one.writes])
def test_no_other_format_holds_superwords(trained: Tokenizer, name: str) -> None:
    if name == "tokctl":
        return
    with pytest.raises((UnsupportedByFormat, TokctlError)):
        formats.losses(trained.model, name)
    with pytest.raises((UnsupportedByFormat, TokctlError)):
        formats.write(trained.model, name)


def without_side(rows: list[list[int]]) -> None:
    rows[0].pop()


DAMAGE: dict[str, Callable[[list[list[int]]], Any]] = {
    "not whole": without_side,
    "names no token": lambda rows: rows[0].__setitem__(0, 9999),
    "is not a count": lambda rows: rows[0].__setitem__(3, -1),
    "does not make a token of its own": lambda rows: rows[0].__setitem__(0, rows[0][1]),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_supermerges_are_errors(trained: Tokenizer, what: str) -> None:
    document = orjson.loads(formats.serialize(trained.model))
    DAMAGE[what](document["model"]["tokctl"]["supermerges"])
    with pytest.raises(TokctlError, match=what):
        formats.parse(orjson.dumps(document), "damaged.json")


def test_supermerges_that_no_training_makes_are_errors(trained: Tokenizer) -> None:
    tokens, again = trained.model.tokens, trained.model.supermerges[0]
    sides = {side for merge in trained.model.supermerges for side in merge[:2]}
    no_word = next(m for m in trained.merges if tokens[m.left] == b" " and m.token not in sides)
    for merge, what in ((again, "a token of its own"), (no_word, "neither a word nor a superword")):
        document = orjson.loads(formats.serialize(trained.model))
        document["model"]["tokctl"]["supermerges"].append(list(merge))
        with pytest.raises(TokctlError, match=f"it is damaged: .*{what}"):
            formats.parse(orjson.dumps(document), "damaged.json")


def test_only_boundless_has_supermerges(trained: Tokenizer) -> None:
    document = orjson.loads(formats.serialize(trained.model))
    document["model"]["tokctl"]["recipe"]["algorithm"] = "bpe"
    with raises_code("damaged-model"):
        formats.parse(orjson.dumps(document), "damaged.json")
