"""Explanations of every recipe: the tokens are those of `encode`, the reasons hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.explain.every import NAMES, TEXT, model
from tests.metrics.models import document
from tokctl import TokctlError, Tokenizer
from tokctl.analysis.explain import (
    FoundWord,
    LookedUpWord,
    Lookup,
    MergedWord,
    corpus_state,
    explain,
    merge_records,
    rounds,
    summarize,
    token_history,
    unreachable,
)
from tokctl.analysis.explain.vocabulary import kind_of, place_of
from tokctl.model.presets import DEFAULTS

TEXTS = st.text(
    alphabet="lowernstid (\u2019éN<x>\u3000\n\ufb01\u00bd\ufdfaΩ12▁#", max_size=40
) | st.lists(
    st.sampled_from(["<x>", "New", "new", " ", "<end>", "<unk>", "<0x41>", "lowest", "e\u0301"])
).map("".join)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS)
def test_the_tokens_are_those_of_encode(name: str, text: str) -> None:
    tokenizer = model(name)
    encoded = tokenizer.encode(text)
    found = explain(tokenizer, text)
    assert found.tokens == encoded.tokens
    ids = [id_ for word in found.words for id_ in word.ids]
    if None not in ids:
        assert ids == encoded.ids
    for word in found.words:
        if isinstance(word, MergedWord) and not word.whole:
            # Bytes that stand for a character without a token are never merged.
            of_bytes = {name for _, names in word.fallbacks for name in names}
            pairs = [pair for pair in pairwise(word.state) if not of_bytes & set(pair)]
            assert [(rest.left, rest.right) for rest in word.leftovers] == pairs


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_adds_up(name: str) -> None:
    tokenizer = model(name)
    facts = summarize(tokenizer)
    assert sum(facts.kinds.values()) == tokenizer.vocab_size
    shown = sum(facts.lengths.values())
    assert shown == sum(facts.places.values()) == sum(facts.contents.values())
    apart = facts.kinds["special"] + facts.kinds.get("byte", 0) + facts.kinds.get("added", 0)
    assert shown == tokenizer.vocab_size - apart
    assert facts.rounds == tuple(tokenizer.model.rounds)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS)
def test_what_is_unreachable_is_never_met(name: str, text: str) -> None:
    tokenizer = model(name)
    assert missed_by(name).isdisjoint(tokenizer.encode(text + TEXT).raw_ids)


@cache
def missed_by(name: str) -> frozenset[int]:
    tokenizer = model(name)
    return frozenset(tokenizer.vocabulary[token] for token in unreachable(tokenizer).unreachable)


@pytest.mark.parametrize("name", NAMES)
def test_every_token_has_a_past(name: str) -> None:
    tokenizer = model(name)
    for id_ in range(0, tokenizer.vocab_size, 3):
        found = token_history(tokenizer, id_)
        assert found.token == tokenizer.tokens[id_]
        assert found.kind == kind_of(tokenizer, id_)
        leaves = [node for _, node in found.tree.walk() if not node.parts]
        assert (len(leaves) > 1) == (found.merge is not None)


@pytest.mark.parametrize(
    ("name", "token", "kind"),
    [
        ("llama2", "<0x41>", "byte"),
        ("llama2", "<s>", "special"),
        ("llama2", "▁low", "merged"),
        ("llama2", "▁", "alphabet"),
        ("ranks", "Ġlow", "merged"),
        ("ranks by score", "▁low", "merged"),
        ("ranks by score", "<0x41>", "byte"),
        ("no history", "low", "other"),
        ("no history", "##w", "alphabet"),
        ("added tokens", "New", "added"),
        ("added tokens", "<end>", "special"),
        ("unigram with bytes", "<0xFF>", "byte"),
        ("default unigram", "▁", "character"),
        ("default unigram", "▁low", "piece"),
        ("default word", "low", "word"),
        ("default char", "é", "character"),
    ],
)
def test_kinds(name: str, token: str, kind: str) -> None:
    assert token_history(model(name), token).kind == kind


@pytest.mark.parametrize(
    ("name", "token", "place"),
    [
        ("default unigram", "▁low", "word start"),
        ("default unigram", "w", "continuation"),
        ("llama2", "▁", "word start"),
        ("bert", "##w", "continuation"),
        ("bert", "low", "word start"),
        ("char-bpe", "low</w>", "word end"),
        ("char-bpe", "l", "before the word end"),
        ("gpt2", "Ġlow", "space before"),
        ("default word", "low", "whole word"),
        ("default char", "l", "any place"),
    ],
)
def test_places(name: str, token: str, place: str) -> None:
    tokenizer = model(name)
    assert place_of(tokenizer, tokenizer.vocabulary[token]) == place


@given(text=st.text(alphabet="lowernstid (N12é", max_size=30))
def test_ranks_merge_the_lowest_token_first(text: str) -> None:
    tokenizer = model("ranks")
    ids = tokenizer.vocabulary
    for word in explain(tokenizer, text).words:
        assert isinstance(word, MergedWord)
        if word.whole:
            assert len(word.tokens) == 1
            continue
        assert word.ranked
        state = word.symbols
        for step in word.steps:
            due = [ids[a + b] for a, b in pairwise(state) if a + b in ids]
            assert step.merge.step == min(due) == ids[step.merge.token]
            assert {loser.step for loser in step.losers} == set(due) - {min(due)}
            state = step.state
        assert not [a + b for a, b in pairwise(state) if a + b in ids]
        assert state == word.tokens


def test_a_whole_word_needs_no_merge() -> None:
    tokenizer = model("llama3")
    (whole,) = explain(tokenizer, "low").words
    assert isinstance(whole, MergedWord)
    assert (whole.whole, whole.tokens, whole.steps) == (True, ("low",), ())
    (other,) = explain(tokenizer, "lowx").words
    assert isinstance(other, MergedWord)
    assert not other.whole and other.steps


def test_bytes_of_a_character_without_a_token() -> None:
    (word,) = explain(model("llama2"), "Ωw").words
    assert isinstance(word, MergedWord)
    assert word.fallbacks == (("Ω", ("<0xCE>", "<0xA9>")),)
    assert word.tokens[-3:] == ("<0xCE>", "<0xA9>", "w")


def test_added_tokens_stand_between_pre_tokens() -> None:
    words = explain(model("added tokens"), "LOW <x>New newer").words
    assert [word.tokens for word in words if isinstance(word, FoundWord)] == [("<x>",), ("New",)]
    assert [word.data for word in words] == [b"low", b"<x>", b"New", b" newer"]
    # A special token is text, unless the caller says otherwise.
    assert not any(
        isinstance(word, FoundWord) for word in explain(model("added tokens"), "<end>").words
    )


def test_what_the_normalizers_made_of_the_text() -> None:
    assert explain(model("sentencepiece-unigram"), " \ufb01 ").normalized == "fi"
    assert explain(model("sentencepiece-unigram"), "fi").normalized is None
    assert explain(model("gpt2"), "\ufb01").normalized is None
    assert explain(model("bert"), "É").normalized == "e"


def test_what_a_word_model_looks_up() -> None:
    tokenizer = model("default word")
    words = explain(tokenizer, "the unseen").words
    assert all(isinstance(word, LookedUpWord) for word in words)
    known, unknown = words
    assert isinstance(known, LookedUpWord) and isinstance(unknown, LookedUpWord)
    counted = Counter(TEXT.split())
    assert known.lookups == (Lookup("the", "the", counted["the"]),)
    assert unknown.lookups == (Lookup("unseen", None, None),)
    assert (unknown.unit, unknown.size) == ("word", tokenizer.vocab_size - 1)
    (characters,) = explain(model("default char"), "tΩ").words
    assert isinstance(characters, LookedUpWord)
    assert characters.lookups == (Lookup("t", "t", TEXT.count("t")), Lookup("Ω", None, None))


@pytest.mark.parametrize("name", NAMES)
def test_merges_and_rounds_or_why_there_are_none(name: str) -> None:
    tokenizer = model(name)
    algorithm = tokenizer.recipe.algorithm
    if algorithm == "unigram":
        assert rounds(tokenizer) == tokenizer.model.rounds
    else:
        with raises_code("conflict"):
            rounds(tokenizer)
    has_merges = tokenizer.recipe.traits.learns == "merges" and not tokenizer.recipe.removal
    if has_merges and tokenizer.recipe.segmentation != "ranks":
        supermerges = tokenizer.model.supermerges
        assert len(merge_records(tokenizer)) == len(tokenizer.merges) + len(supermerges)
        return
    asks = [merge_records, partial(corpus_state, step=1, text="low")]
    if events := tokenizer.model.events:
        steps = len(events.merges) + len(tokenizer.model.supermerges)
        assert len(merge_records(tokenizer)) == steps
        del asks[0]
    for ask in asks:
        with pytest.raises(TokctlError, match=r"no merges|not known|removed tokens") as caught:
            ask(tokenizer)
        assert caught.value.hint


def test_rounds_that_a_file_does_not_hold() -> None:
    silent = Tokenizer(replace(model("default unigram").model, rounds=[], training=None))
    with raises_code("unsupported"):
        rounds(silent)


def test_spaces_that_normalizers_remove_at_the_ends() -> None:
    # `▁` alone comes out where there is something on both sides.
    recipe = replace(DEFAULTS["char"], normalizers=("strip-spaces", "replace: =>▁"))
    tokenizer = Tokenizer.train([document("a b")], vocab_size=9, recipe=recipe)
    assert "▁" in tokenizer.tokens
    assert unreachable(tokenizer).unreachable == ()


def test_spaces_that_are_one_with_the_next() -> None:
    # No two spaces are left of a text; but it can hold the signs that stand for them.
    unigram = model("default unigram").model
    doubled = replace(
        unigram,
        recipe=replace(
            unigram.recipe, normalizers=("collapse-spaces", "replace: =>▁"), pre_tokenizers=()
        ),
        tokens=[*unigram.tokens, "▁▁".encode()],
        scores=[*unigram.scores, -1.0],
    )
    assert "▁▁" in Tokenizer(doubled).encode("a▁▁b").tokens
    assert "▁▁" not in unreachable(Tokenizer(doubled)).unreachable
