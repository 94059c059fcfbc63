"""BoundlessBPE with a threshold against its slow twin, and against its authors' code."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.exact.test_superwords import RECIPE, TEXTS, split, train
from tests.twins import superwords as twin
from tokctl import Tokenizer
from tokctl.model import FilledRecipe

#: Parts of words that are made, removed and made again.
PARTS = st.sampled_from(
    [" could", " would", " should", "ould", "ou", " c", "ing", "a", "aa", " b", "é", " 字", "\n", "."]
)
LIKE_TEXTS = st.lists(st.lists(PARTS, max_size=60).map("".join), min_size=1, max_size=3)
LETTERS = st.lists(st.text(" ab", max_size=60), min_size=1, max_size=3)
ANY_TEXTS = st.one_of(TEXTS, LIKE_TEXTS, LETTERS)
THRESHOLDS = st.sampled_from(["0.05", "0.3", "0.5", "0.667", "0.9", "1"])


def found_of(model: FilledRecipe) -> twin.Refined:
    """What was learned, by texts."""
    events = model.events
    assert events is not None and not model.merges
    names = [*model.tokens, *events.removed]
    merges, supermerges = (
        [twin.Step(names[m.left], names[m.right], m.count, joins) for m in rows]
        for joins, rows in ((False, events.merges), (True, model.supermerges))
    )
    assert all(names[m.left] + names[m.right] == names[m.token] for m in model.supermerges)
    removals = [twin.Removal(r.step, names[r.token], r.count, r.whole) for r in events.removals]
    return twin.Refined(model.tokens, list(events.removed), merges, removals, supermerges)


@given(
    ANY_TEXTS,
    st.integers(1, 60),
    THRESHOLDS,
    st.integers(1, 3),
    st.sampled_from([None, 2, 7, 12]),
)
def test_training_equals_the_twin(
    texts: list[str], size: int, threshold: str, min_frequency: int, longest: int | None
) -> None:
    limits: dict[str, Any] = {"min_frequency": min_frequency, "max_token_length": longest}
    if not any(texts):
        return
    found = train(texts, 256 + size, threshold=threshold, **limits)
    slow = twin.train_with_removals(
        list(map(split, texts)), 256 + size, Fraction(threshold), **limits
    )
    assert found_of(found) == slow


@given(ANY_TEXTS, st.integers(1, 60), THRESHOLDS, ANY_TEXTS)
def test_ids_are_those_of_the_twin(
    texts: list[str], size: int, threshold: str, others: list[str]
) -> None:
    if not any(texts):
        return
    tokenizer = Tokenizer(train(texts, 256 + size, threshold=threshold))
    slow = found_of(tokenizer.model)
    for text in (*texts, *others, "".join(others) * 20):
        data = text.encode()
        expected = twin.encode_refined(split(data), slow)
        ids = tokenizer.encode_ids(text)
        assert [tokenizer.model.tokens[id_] for id_ in ids] == expected
        found, starts, ends, _ = tokenizer.encoder.tokens(data)
        assert found == ids and [data[a:b] for a, b in zip(starts, ends, strict=True)] == expected
        assert tokenizer.decode_bytes(ids) == data
        for chunk in (1, 40):
            assert list(tokenizer.encoder.array(text, 2, chunk=chunk)) == ids
    assert [one.ids for one in tokenizer.encode_batch(others)] == [
        tokenizer.encode_ids(text) for text in others
    ]
