"""The pairs of corpus states: the figures that the documents print, and every next merge."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.explain import models
from tests.twins import train as twin
from tokctl import Tokenizer
from tokctl.analysis.explain import StatePairs, count_pre_tokens, pair_counts
from tokctl.sources import Document


def pairs_of(tokenizer: Tokenizer, step: int, text: str) -> StatePairs:
    documents = [Document("a", None, lambda: iter([text.encode()]))]
    return pair_counts(tokenizer, step, count_pre_tokens(tokenizer, documents))


def test_the_notebook_prints_these_counts() -> None:
    golden = models.documents()["notebook_bpe_toy"]
    tokenizer = models.toy(models.NOTEBOOK_BPE, golden["vocab_size"])
    found = pairs_of(tokenizer, 0, golden["document"])
    counts = {f"{pair.left} {pair.right}": pair.count for pair in found.pairs}
    assert counts == golden["initial_pair_counts"]
    assert [pair.count for pair in found.pairs] == sorted(counts.values(), reverse=True)
    winner = found.pairs[0]
    assert (f"{winner.left} {winner.right}", winner.step) == (golden["merges"][0], 1)
    assert [pair.wins for pair in found.pairs] == [True] + [False] * (len(counts) - 1)
    assert found.pairs[0].score is None


def test_the_notebook_prints_these_scores() -> None:
    golden = models.documents()["notebook_wordpiece_toy"]
    tokenizer = models.toy(models.NOTEBOOK_WORDPIECE, golden["vocab_size"])
    found = pairs_of(tokenizer, 0, golden["document"])
    scores = {f"{pair.left} {pair.right}": pair.score for pair in found.pairs}
    assert {pair: float(score or 0) for pair, score in scores.items()} == pytest.approx(
        golden["initial_scores"], rel=1e-15
    )
    ranked = [pair.score for pair in found.pairs]
    assert ranked == sorted(ranked, key=lambda score: score or 0, reverse=True)
    by_name = {(pair.left, pair.right): pair for pair in found.pairs}
    pair = by_name["_o", "_w"]
    assert (pair.count, pair.left_count, pair.right_count) == (7, 8, 13)
    assert pair.score == Fraction(7, 104)


@pytest.mark.parametrize("name", sorted(models.RECIPES))
def test_the_winner_of_every_state_is_the_next_merge(name: str) -> None:
    tokenizer = models.model(name)
    assert len(tokenizer.merges) > 20
    for step, merge in enumerate(tokenizer.merges):
        # Pre-tokens were given as they are.
        counts = [(word.encode(), count) for word, count in Counter(models.TEXT.split()).items()]
        found = pair_counts(tokenizer, step, counts)
        winner = found.pairs[0]
        assert winner.wins
        names = (tokenizer.tokens[merge.left], tokenizer.tokens[merge.right])
        assert (winner.left, winner.right, winner.step) == (*names, step + 1)
        assert (winner.count, winner.left_count, winner.right_count) == merge[3:]


@pytest.mark.parametrize("name", ["plain", "longest-match", "replay"])
def test_every_pair_of_every_state_is_the_slow_trainers(name: str) -> None:
    tokenizer = models.model(name)
    slow = models.slow(name)
    score = tokenizer.recipe.score
    for step, state in enumerate(slow.states()):
        found = pairs_of(tokenizer, step, models.TEXT)
        counts = {(pair.left, pair.right): pair.count for pair in found.pairs}
        assert counts == dict(twin.count_pairs(state)), step
        symbols = twin.count_symbols(state)
        expected = twin.pair_scores(counts, symbols, score)  # type: ignore[arg-type]
        ranked = [expected[pair.left, pair.right] for pair in found.pairs]
        assert ranked == sorted(ranked, reverse=True), step
        if score == "likelihood":
            assert ranked == [pair.score for pair in found.pairs]


def test_what_the_training_would_not_merge_comes_last() -> None:
    counts = {"ab": 9, "cde": 5, "fg": 1}
    tokenizer = Tokenizer.train(
        counts,
        vocab_size=20,
        recipe=replace(models.CHARACTERS, special_tokens=("[UNK]", "ab")),
        min_frequency=2,
        max_token_length=2,
    )
    encoded = [(word.encode(), count) for word, count in counts.items()]
    found = pair_counts(tokenizer, 0, encoded)
    assert [(pair.left + pair.right, pair.refused) for pair in found.pairs] == [
        ("cd", None),
        ("de", None),
        ("ab", "special"),
        ("fg", "rare"),
    ]
    after = pair_counts(tokenizer, 1, encoded)
    assert ("cd", "e", "long", False) in {(p.left, p.right, p.refused, p.wins) for p in after.pairs}
    assert not any(pair.wins for pair in after.pairs)


def test_what_the_model_does_not_know_is_counted_apart() -> None:
    found = pairs_of(models.toy(models.NOTEBOOK_BPE, 21), 0, "loé loé")
    assert [(pair.left, pair.right, pair.count) for pair in found.pairs] == [("l", "o", 2)]
    assert found.unknown == 4


@given(text=st.text(alphabet="abelnostw", max_size=80), part=st.floats(0, 1))
def test_pairs_add_up(text: str, part: float) -> None:
    tokenizer = models.model("longest-match")
    step = round(part * len(tokenizer.merges))
    state = tokenizer.corpus_state(step, text)
    found = pairs_of(tokenizer, step, text)
    expected = sum((len(word) - 1) * count for word, count in state.items())
    assert sum(pair.count for pair in found.pairs) + found.unknown == expected
    for pair in found.pairs:
        assert pair.score == Fraction(pair.count, pair.left_count * pair.right_count)


def test_a_step_that_is_not_there() -> None:
    with raises_code("bad-value", "there is no step 10: this model has 9 merges"):
        pairs_of(models.toy(models.NOTEBOOK_BPE, 21), 10, "low")
