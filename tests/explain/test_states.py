"""Corpus states: those that the documents print, and those of the slow trainer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explain import models
from tokctl import TokctlError, Tokenizer
from tokctl.analysis.explain import corpus_state, count_pre_tokens, state_words
from tokctl.model import Recipe
from tokctl.sources import Document

State = dict[tuple[str, ...], int]


def printed(state: State) -> list[tuple[str, int]]:
    """As the documents print a state, in its order."""
    return [(" ".join(word), count) for word, count in state.items()]


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("notebook_bpe_toy", models.NOTEBOOK_BPE),
        ("notebook_wordpiece_toy", models.NOTEBOOK_WORDPIECE),
    ],
)
def test_the_notebooks_print_this_final_state(name: str, recipe: Recipe) -> None:
    golden = models.documents()[name]
    tokenizer = models.toy(recipe, golden["vocab_size"])
    state = tokenizer.corpus_state(len(tokenizer.merges), golden["document"])
    assert printed(state) == list(golden["final_state"].items())


@pytest.mark.parametrize(
    ("algorithm", "recipe"), [("bpe", models.CHARACTERS), ("wordpiece", models.WORDPIECE)]
)
def test_the_guide_prints_this_final_state(algorithm: str, recipe: Recipe) -> None:
    golden = models.documents()["guide_cats"]
    words, facts = golden["words"], golden[algorithm]
    size = facts["vocab_size"] + 1  # the guide has no unknown token
    tokenizer = Tokenizer.train(words, vocab_size=size, recipe=recipe)
    merges = [f"{tokenizer.tokens[m.left]} {tokenizer.tokens[m.right]}" for m in tokenizer.merges]
    assert merges == facts["merges"]
    text = " ".join(word for word, count in words.items() for _ in range(count))
    state = tokenizer.corpus_state(len(merges), text)
    # The WordPiece of the guide is longest match; its states are those of the training.
    assert printed(state) == list(facts["final_state"].items())


def test_the_state_before_the_first_merge() -> None:
    tokenizer = models.toy(models.NOTEBOOK_BPE, 21)
    assert list(tokenizer.corpus_state(0, "low lower low").items()) == [
        (("l", "o", "w", "_"), 2),
        (("l", "o", "w", "e", "r", "_"), 1),
    ]


@pytest.mark.parametrize("name", ["end", "plain", "replay", "longest-match", "by-count"])
def test_every_state_is_the_slow_trainers(name: str) -> None:
    tokenizer = models.model(name)
    slow = models.slow(name)
    assert len(slow.merges) == len(tokenizer.merges) > 20
    for step, expected in enumerate(slow.states()):
        state = tokenizer.corpus_state(step, models.TEXT)
        assert list(state.items()) == list(expected.items()), step


@given(
    name=st.sampled_from(sorted(models.RECIPES)),
    text=st.text(alphabet="abelnostw ()é", max_size=60),
    part=st.floats(0, 1),
)
def test_states_sum_to_the_counts_and_mark_what_changed(name: str, text: str, part: float) -> None:
    tokenizer = models.model(name)
    step = round(part * len(tokenizer.merges))
    counts = count_pre_tokens(tokenizer, [Document("a", None, lambda: iter([text.encode()]))])
    words = state_words(tokenizer, step, counts)
    assert sum(word.count for word in words) == sum(count for _, count in counts)
    assert sum(corpus_state(tokenizer, step, text).values()) == sum(count for _, count in counts)
    before = {word.tokens for word in state_words(tokenizer, max(0, step - 1), counts)}
    for word in words:
        assert word.changed == (word.tokens not in before)
        assert word.changed == (word.before is not None) == bool(word.places)
        if word.before is None:
            continue
        assert word.before in before
        # Undoing the merge where it was made gives what was before.
        merge = tokenizer.merges[step - 1]
        undone: list[str] = []
        for place, token in enumerate(word.tokens):
            parts = [tokenizer.tokens[merge.left], tokenizer.tokens[merge.right]]
            undone += parts if place in word.places else [token]
        assert tuple(undone) == word.before


def test_a_character_without_an_id_shows_as_itself_with_its_marker() -> None:
    assert list(models.model("longest-match").corpus_state(0, "éa lé")) == [
        ("é", "##a"),
        ("l", "##é"),
    ]
    assert list(models.model("fused").corpus_state(0, "lé")) == [("l", "é</w>")]
    assert list(models.model("end").corpus_state(0, "lé")) == [("l", "é", "_")]


@pytest.mark.parametrize("step", [-1, 10, 1 << 70])
def test_a_step_that_is_not_there(step: int) -> None:
    tokenizer = models.toy(models.NOTEBOOK_BPE, 21)
    with pytest.raises(TokctlError, match=f"no step {step}: this model has 9 merges") as caught:
        tokenizer.corpus_state(step, "low")
    assert caught.value.hint == "choose a step from 0 to 9"
