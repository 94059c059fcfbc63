"""PickyBPE and Scaffold-BPE against their slow twins: events, ids and encodings, one for one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.twins import removals as twin
from tests.twins.encode import encode_bpe
from tokctl import Recipe, Tokenizer
from tokctl.model import TIE_BREAKS
from tokctl.model.presets import default_recipe

#: Ties everywhere and runs of one letter; then a few words that share their parts.
tied_words = st.dictionaries(
    st.text(alphabet="ab", min_size=1, max_size=12), st.integers(1, 3), min_size=1, max_size=12
)
like_words = st.dictionaries(
    st.lists(
        st.sampled_from(["could", "would", "should", "ould", "s", "ou", "ing", "é字"]), max_size=3
    )
    .map("".join)
    .filter(bool),
    st.integers(1, 60),
    min_size=1,
    max_size=12,
)
words_of_both = st.one_of(tied_words, like_words)
thresholds = st.sampled_from(["0.05", "0.3", "0.5", "0.667", "0.75", "0.9", "1"])


def recipe(algorithm: str, ties: str = "first-seen", **changes: object) -> Recipe:
    base = default_recipe(algorithm, characters=True)
    return replace(base, tie_break=ties, **changes)  # type: ignore[arg-type]


def assert_same(tokenizer: Tokenizer, expected: twin.Refined, special: int = 1) -> None:
    events = tokenizer.model.events
    assert events is not None
    assert tokenizer.tokens[special:] == expected.vocabulary
    assert [token.decode() for token in events.removed] == expected.removed
    names = [*tokenizer.tokens, *expected.removed]
    merges = [(names[m.left], names[m.right], names[m.token], *m[3:]) for m in events.merges]
    assert merges == list(map(tuple, expected.merges))
    removals = [twin.Removal(r.step, names[r.token], r.count, r.whole) for r in events.removals]
    assert removals == expected.removals


@pytest.mark.parametrize("ties", TIE_BREAKS)
@given(
    words=words_of_both,
    size=st.integers(1, 25),
    threshold=thresholds,
    least=st.integers(1, 3),
    more=st.lists(st.text(alphabet="ab", max_size=20), max_size=4),
)
def test_picky_equals_twin(
    ties: str, words: dict[str, int], size: int, threshold: str, least: int, more: list[str]
) -> None:
    alphabet = len(set("".join(words)))
    tokenizer = Tokenizer.train_on_counts(
        words,
        recipe=recipe("picky", ties),
        vocab_size=1 + alphabet + size,
        threshold=threshold,
        min_frequency=least,
    )
    expected = twin.train_picky(
        words,
        vocab_size=alphabet + size,
        threshold=Fraction(threshold),
        ties=ties,  # type: ignore[arg-type]
        min_frequency=least,
    )
    assert_same(tokenizer, expected)
    known = set(expected.alphabet)
    for word in [*words, *more]:
        if word and set(word) <= known:
            assert tokens_of(tokenizer, word) == twin.replay_picky(word, expected), word
    for word, state in zip(words, final_states(words, expected), strict=True):
        bare = Tokenizer(replace(tokenizer.model, recipe=recipe("picky", ties, whole_words=False)))
        assert tokens_of(bare, word) == state


def final_states(words: dict[str, int], expected: twin.Refined) -> list[list[str]]:
    """The corpus state at the end, in the order of the words."""
    by_text = {"".join(state): list(state) for state in expected.state}
    return [by_text[word] for word in words]


def tokens_of(tokenizer: Tokenizer, word: str) -> list[str]:
    """The tokens of one pre-token."""
    from tokctl.model.encoders import of_pre_tokens

    ids = of_pre_tokens(tokenizer.model).ids(word)
    return [tokenizer.tokens[id_] for id_ in ids]


@pytest.mark.parametrize("ties", TIE_BREAKS)
@given(
    words=words_of_both,
    size=st.integers(1, 25),
    least=st.integers(1, 3),
    more=st.lists(st.text(alphabet="ab", max_size=20), max_size=4),
)
def test_scaffold_equals_twin(
    ties: str, words: dict[str, int], size: int, least: int, more: list[str]
) -> None:
    alphabet = len(set("".join(words)))
    tokenizer = Tokenizer.train_on_counts(
        words,
        recipe=recipe("scaffold", ties),
        vocab_size=1 + alphabet + size,
        min_frequency=least,
    )
    expected = twin.train_scaffold(
        words,
        vocab_size=alphabet + size,
        ties=ties,  # type: ignore[arg-type]
        min_frequency=least,
    )
    assert_same(tokenizer, expected)
    known = set(expected.alphabet)
    for word in [*words, *more]:
        if word and set(word) <= known:
            assert tokens_of(tokenizer, word) == twin.encode_scaffold(word, expected, encode_bpe)
