"""Unreachable tokens, and which stage keeps them out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.explain.health.sick import (
    CHARACTERS,
    byte_level_model,
    finding,
    health,
    merging,
    reason,
    tokens,
    unigram,
)
from tokctl import Tokenizer
from tokctl.analysis.health import subject
from tokctl.analysis.health.use import UNREACHABLE
from tokctl.model import Model
from tokctl.model.parts import AddedToken
from tokctl.model.presets import WORDPIECE

ENCODING, CUT, NORMALIZED, ADDED = UNREACHABLE


def causes(tokenizer: Tokenizer) -> dict[str, list[str]]:
    report = health(tokenizer)
    return {name: found for name in UNREACHABLE if (found := tokens(report, name))}


def test_a_healthy_model_reaches_all() -> None:
    tokenizer = merging(["ab", "abc", "de"])
    assert causes(tokenizer) == {}
    report = health(tokenizer)
    assert {one.name: one.of for one in report.passed if one.name in UNREACHABLE} == dict.fromkeys(
        UNREACHABLE, tokenizer.vocab_size - 1
    )


def test_a_merge_that_comes_first_keeps_a_token_out() -> None:
    # By the time that "a" and "bc" could be merged, "ab" has taken the "b".
    model = merging(["ab", "bc"], alphabet="abc").model
    a, bc = model.tokens.index(b"a"), model.tokens.index(b"bc")
    merge = model.merges[0]._replace(left=a, right=bc, token=model.size)
    sick = replace(model, tokens=[*model.tokens, b"abc"], merges=[*model.merges, merge])
    assert causes(Tokenizer(sick)) == {ENCODING: ["abc"]}
    well = replace(sick, merges=[model.merges[1], merge, model.merges[0]])
    assert causes(Tokenizer(well)) == {}


def test_a_token_that_no_merge_makes() -> None:
    model = merging(["ab"], alphabet="abc").model
    sick = Tokenizer(replace(model, tokens=[*model.tokens, b"abc"]))
    assert causes(sick) == {ENCODING: ["abc"]}


def test_longest_match_and_the_best_path() -> None:
    # Nothing but a continuation can stand behind a word's start, and "a##b" is no start.
    recipe = replace(WORDPIECE, normalizers=(), pre_tokenizers="whitespace")
    tokens_ = [*(t.encode() for t in recipe.special_tokens), b"a", b"##b", b"ab", b"##"]
    assert causes(Tokenizer(Model(recipe, tokens_))) == {ENCODING: ["##"]}
    sick = unigram({"a": -1.0, "b": -1.0, "ab": -9.0})
    assert causes(sick) == {ENCODING: ["ab"]}
    assert causes(unigram({"a": -1.0, "b": -1.0, "ab": -1.5})) == {}


@pytest.mark.parametrize("splitting", ["whitespace", "gpt2", r"regex:\w+|\W", "delimiter: "])
def test_the_pre_tokenizer_cuts(splitting: str) -> None:
    recipe = replace(CHARACTERS, pre_tokenizers=splitting)
    found = causes(merging(["ab", " b", "a b"], recipe))
    assert set(found) == {CUT}
    assert "a b" in found[CUT]
    assert "ab" not in found[CUT]
    assert (" b" in found[CUT]) == (splitting != "gpt2")


def test_digits_one_by_one() -> None:
    recipe = replace(CHARACTERS, pre_tokenizers="digits-individual")
    assert causes(merging(["12", "ab"], recipe)) == {CUT: ["12"]}


def test_what_a_contraction_always_completes_is_the_encodings() -> None:
    # GPT-2's pattern has 'll in one piece, which is merged to the end.
    assert causes(byte_level_model(["'l", "'ll"])) == {ENCODING: ["'l"]}


def test_the_normalizer_changes() -> None:
    recipe = replace(CHARACTERS, normalizers=("lowercase",))
    assert causes(merging(["ab", "Ab"], recipe, "abA")) == {NORMALIZED: ["A", "Ab"]}
    recipe = replace(CHARACTERS, normalizers=("nfc",))
    assert causes(merging(["e\u0301"], recipe, "e\u0301\u00e9")) == {NORMALIZED: ["e\u0301"]}
    recipe = replace(CHARACTERS, normalizers=("collapse-spaces",))
    assert causes(merging(["  ", "a "], recipe, "a ")) == {NORMALIZED: ["  "]}


def test_a_byte_level_model_keeps_its_bytes() -> None:
    tokenizer = byte_level_model(["ab", "AB"])
    sick = Tokenizer(
        replace(tokenizer.model, recipe=replace(tokenizer.recipe, normalizers=("lowercase",)))
    )
    assert causes(sick) == {NORMALIZED: ["AB"]}  # not A, and not B


def test_an_added_token_hides_another() -> None:
    hides = AddedToken("bc", 0, special=False)
    assert causes(merging(["ab", "cd", "abcd"])) == {}
    assert causes(merging(["ab", "cd", "abcd"], added=[hides])) == {ADDED: ["abcd"]}
    assert causes(merging(["ab", "ca"], alphabet="abc", added=[hides])) == {}


def test_spaces_that_are_written_otherwise() -> None:
    changes = {"pre_tokenizers": "metaspace"}
    pieces = {"▁": -3.0, "a": -3.0, "b": -3.0, "▁ab": -2.0, "b▁a": -2.0, "▁A": -4.0}
    recipe = unigram(pieces).recipe
    tokens_ = [*(token.encode() for token in (*recipe.special_tokens, *pieces))]
    scores = [0.0] * len(recipe.special_tokens) + list(pieces.values())
    recipe = replace(recipe, **changes, normalizers=("lowercase",))
    sick = Tokenizer(Model(recipe, tokens_, scores=scores))
    assert causes(sick) == {CUT: ["b▁a"], NORMALIZED: ["▁A"]}


def test_pieces_of_characters_are_undecided() -> None:
    tokenizer = byte_level_model(["é", "éé"])
    model = tokenizer.model
    partial = "é".encode() + b"\xc3"
    ids = {token: id_ for id_, token in enumerate(model.tokens)}
    merge = model.merges[0]._replace(left=ids["é".encode()], right=ids[b"\xc3"], token=model.size)
    sick = Tokenizer(replace(model, tokens=[*model.tokens, partial], merges=[*model.merges, merge]))
    report = health(sick)
    (cut,) = [one for one in report.passed if one.name == CUT]
    assert cut.undecided == 1
    assert finding(report, ENCODING) is None
    # Of bytes that do not merge to it, nothing is undecided.
    sick = Tokenizer(replace(model, tokens=[*model.tokens, partial]))
    assert causes(sick) == {ENCODING: [sick.tokens[-1]]}


def test_trials_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "TRIALS", 3)
    monkeypatch.setattr(subject, "TRIALS_PER_ID", 0)
    report = health(merging(["ab", "abc", "de"]))
    assert {reason(report, name) for name in UNREACHABLE} == {
        "8 tokens are undecided after 0 trials"
    }
    assert "decided" in reason(report, "merges-without-effect")
