"""The merges that a token, or tokens of some text, take part in."""

from __future__ import annotations

import pytest

from tests.errors import raises_code
from tests.explain import models
from tests.explain.every import model
from tokctl import Tokenizer
from tokctl.analysis.explain import merge_records, merges_of


def steps(tokenizer: Tokenizer, token: str, *stretch: int) -> list[int]:
    return [merge.step for merge in merges_of(tokenizer, token, *stretch)[0]]


def test_a_token_is_left_right_or_made() -> None:
    tokenizer = models.toy(models.NOTEBOOK_BPE, 21)
    # es, est, est_, lo, low, ne, new, newest_, low_
    assert steps(tokenizer, "est") == [2, 3]
    assert steps(tokenizer, "low") == [5, 9]
    assert steps(tokenizer, "#16") == [5, 9]
    assert steps(tokenizer, "_") == [3, 9]
    assert steps(tokenizer, "_", 4) == [9]
    assert steps(tokenizer, "_", 1, 8) == [3]
    assert steps(tokenizer, "g") == []


@pytest.mark.parametrize("name", sorted(models.RECIPES))
def test_of_every_token(name: str) -> None:
    tokenizer = models.model(name)
    history = merge_records(tokenizer)
    for token in tokenizer.tokens:
        expected = [m for m in history if token in (m.left, m.right, m.token)]
        assert merges_of(tokenizer, token)[0] == expected


def test_patterns() -> None:
    tokenizer = models.toy(models.NOTEBOOK_BPE, 21)
    found, wanted = merges_of(tokenizer, "es*")
    assert wanted.how == "begins"
    assert wanted.names == {"es", "est", "est_"}
    assert [merge.step for merge in found] == [1, 2, 3, 8]
    # Spelled low_, and without its marker low.
    assert merges_of(tokenizer, "*ow")[1].names == {"low", "low_"}
    assert merges_of(tokenizer, "*w_")[1].names == {"low_"}
    assert merges_of(tokenizer, "*es*")[1].names == {"es", "est", "est_", "newest_"}
    with raises_code("unknown-name", r"no token of this model matches 'x\*'"):
        merges_of(tokenizer, "x*")


def test_texts_of_bytes_and_of_words() -> None:
    names = merges_of(model("gpt2"), "low*")[1].names
    assert {"Ġlow", "Ġlower"} <= names
    assert all(name.lstrip("Ġ").startswith("low") for name in names)
    assert merges_of(model("gpt2"), " low*")[1].names <= names
    assert "Ã©" in merges_of(model("gpt2"), "*é")[1].names


def test_a_star_that_is_a_token_is_that_token() -> None:
    tokenizer = Tokenizer.train({"a*": 5, "ab": 3}, vocab_size=6, recipe=models.CHARACTERS)
    found, wanted = merges_of(tokenizer, "a*")
    assert (wanted.how, wanted.names) == ("is", {"a*"})
    assert [merge.token for merge in found] == ["a*"]
    assert merges_of(tokenizer, "*")[1].names == {"*"}
    assert merges_of(tokenizer, "*b")[1].names == {"b", "ab"} & set(tokenizer.tokens)


def test_models_without_merges() -> None:
    with raises_code("conflict"):
        merges_of(model("default unigram"), "low")
    with raises_code("unknown-name", "'loww' is not a token of this model"):
        merges_of(models.toy(models.NOTEBOOK_BPE, 21), "loww")
    with raises_code("unknown-name", r"'\*\*' is not a token of this model"):
        merges_of(models.toy(models.NOTEBOOK_BPE, 21), "**")
