"""How far the tokens of a text are from the fewest, against the slow twin."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.explain import every, models
from tests.metrics.models import document
from tests.twins import gap as twin
from tokctl import Tokenizer, _native, token_gap
from tokctl.analysis.explain import segmented, text_use
from tokctl.analysis.metrics import Undefined
from tokctl.model import Marker

short = st.text("ab", max_size=9).map(str.encode)
tokens = st.lists(st.text("ab", min_size=1, max_size=4).map(str.encode), max_size=8)


@given(tokens, st.lists(short, max_size=4))
def test_the_fewest_tokens(vocabulary: list[bytes], texts: list[bytes]) -> None:
    native = _native.FewestTokens(vocabulary, byte_fallback=False)
    expected = [twin.fewest_of(vocabulary, text) for text in texts]
    found = native.counts(texts, 2)
    assert [twin.NONE if count is None else count for count in found] == expected
    for text in texts:
        assert native.lengths(text) == twin.best_lengths(vocabulary, text)


@given(
    st.lists(st.text("aé語😀", min_size=1, max_size=3).map(str.encode), max_size=6),
    st.text("aé語😀", max_size=8).map(str.encode),
)
def test_the_fewest_tokens_with_byte_fallback(vocabulary: list[bytes], text: bytes) -> None:
    native = _native.FewestTokens(vocabulary, byte_fallback=True)
    assert native.counts([text], 1) == [twin.fewest_of(vocabulary, text, byte_fallback=True)]


def bound(
    words: dict[bytes, int], budget: int, rounds: int = 60, edges: int = 1 << 20, threads: int = 1
) -> tuple[int, bool, int, int]:
    return _native.vocabulary_bound(
        list(words),
        list(words.values()),
        symbols="bytes",
        budget=budget,
        rounds=rounds,
        most_edges=edges,
        threads=threads,
    )


words_of = st.dictionaries(
    st.text("abc", min_size=1, max_size=5).map(str.encode),
    st.integers(1, 20),
    min_size=1,
    max_size=5,
)


@given(words_of, st.integers(0, 3), st.integers(0, 40), st.sampled_from([1, 5, 9, 14, 1 << 20]))
def test_no_vocabulary_goes_below_the_bound(
    words: dict[bytes, int], budget: int, rounds: int, edges: int
) -> None:
    frequent, is_reached, linear, _ = bound(words, budget, rounds, edges)
    best = twin.optimum(words, budget)
    assert max(frequent, linear) <= best
    if is_reached:
        assert max(frequent, linear) == best


@given(words_of, st.integers(1, 3))
def test_the_bound_is_good(words: dict[bytes, int], budget: int) -> None:
    """The program's optimum is not below the simple bound, and the search comes near to it."""
    frequent, is_reached, linear, _ = bound(words, budget, 200)
    if not is_reached:
        assert linear >= frequent - 1 - frequent // 50
    assert bound(words, budget, 200, threads=3)[:3] == (frequent, is_reached, linear)


def test_the_bound_of_a_program_that_is_tight() -> None:
    """ConvexTok's example (arXiv 2605.22821): `bc`, `bd` and `be` are best; BPE takes `ab`."""
    words = dict.fromkeys([b"abc", b"abd", b"abe", b"bc", b"bd", b"be"], 1)
    assert twin.optimum(words, 3) == 9
    assert bound(words, 3) == (12 - 3, False, 9, bound(words, 3)[3])
    assert bound(words, 1)[2] <= twin.optimum(words, 1)


def test_large_counts_and_none() -> None:
    words = {b"abab": 2**50, b"ab": 3, b"ba": 2**40}
    assert bound(words, 1)[2] <= twin.optimum(words, 1)
    assert bound(words, 3)[:2] == (2**50 + 3 + 2**40, True)
    assert bound({}, 5)[:3] == (0, True, 0)
    with raises_code("too-large"):
        bound({b"abab": 2**62}, 1)


@pytest.mark.parametrize("name", every.NAMES)
def test_every_recipe(name: str) -> None:
    tokenizer = every.model(name)
    text = every.TEXT + "Ωω <x>New <unk> <0x41> 😀 ##the low</w> ▁low\r\n\x00"
    found = token_gap(tokenizer, document(text), limit=1000)
    pre_tokens = segmented(tokenizer, [document(text)])
    assert found.tokens == text_use(tokenizer, pre_tokens).tokens
    fewest = spelled = 0
    losing = []
    for one in pre_tokens:
        best = twin.fewest_of_pre_token(tokenizer, one.data)
        if best <= len(one.ids) and _spells(tokenizer, one.ids):
            spelled += one.count
            if best < len(one.ids):
                losing.append((one.data, one.count))
        fewest += one.count * int(min(best, len(one.ids)))
    assert found.bound <= found.fewest <= found.tokens
    assert found.unspelled + spelled == found.pre_tokens
    assert found.fewest == fewest
    assert found.losing == len(losing) == len(found.losers)
    assert {(one.data, one.count) for one in found.losers} == set(losing)
    assert sum(one.lost for one in found.losers) == found.lost
    if not isinstance(found.across, Undefined):
        assert found.across <= found.fewest
    assert token_gap(tokenizer, document(text), limit=1000, threads=3) == found


def _spells(tokenizer: Tokenizer, ids: list[int]) -> bool:
    """No id is missing, or for what is unknown, or an added token's."""
    special = tokenizer.model.special_id_set | {_native.NO_ID}
    special |= {token.id for token in tokenizer.model.added if not token.ordinary}
    return not special.intersection(ids)


@pytest.mark.parametrize("kind", ["end", "end-fused", "start"])
@given(text=st.text("ab_ ", max_size=30))
def test_texts_that_hold_the_marker(kind: str, text: str) -> None:
    tokenizer = marked(Marker(kind, "_"))
    found = token_gap(tokenizer, document(text), rounds=20)
    pre_tokens = segmented(tokenizer, [document(text)])
    fewest = (
        int(min(twin.fewest_of_pre_token(tokenizer, one.data), len(one.ids))) * one.count
        for one in pre_tokens
    )
    assert found.bound <= found.fewest <= found.tokens
    assert found.fewest == sum(fewest)


@cache
def marked(marker: Marker) -> Tokenizer:
    recipe = replace(models.CHARACTERS, marker=marker)
    words = "ab_ aab_b abab ba_ b_a _ab aba bb_b abb_ _a_ " * 5
    return Tokenizer.train([document(words)], vocab_size=24, recipe=recipe)


@given(text=st.text("ab# ", max_size=30))
def test_texts_that_hold_a_continuation(text: str) -> None:
    recipe = replace(models.NOTEBOOK_WORDPIECE, marker=Marker("continuation", "##"))
    tokenizer = Tokenizer.train(
        [document("ab##a ##ab a##b ###a baab " * 5)], vocab_size=20, recipe=recipe
    )
    found = token_gap(tokenizer, document(text), rounds=20)
    fewest = (
        int(min(twin.fewest_of_pre_token(tokenizer, one.data), len(one.ids))) * one.count
        for one in segmented(tokenizer, [document(text)])
    )
    assert found.bound <= found.fewest == sum(fewest) <= found.tokens
