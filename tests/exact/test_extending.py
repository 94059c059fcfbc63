"""Training that goes on from a model, against training at once and the slow twin."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.exact.training_options import (
    MARKERS,
    SCORED,
    assert_same,
    odd_words,
    recipe,
    tied_words,
)
from tests.twins import train as twin
from tokctl import TokctlError
from tokctl.model import TIE_BREAKS, Model, Recipe
from tokctl.model.presets import BPE, BPE_CHARACTERS, CHAR, UNIGRAM, WORD, WORDPIECE
from tokctl.training import TrainOptions, train_on_counts


def anew(model: Model) -> Model:
    """The model as if it had been trained at once."""
    assert model.training
    return replace(model, training=replace(model.training, extended=0))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("marker", "score", "ties"), [(marker, *both) for marker, both in product(MARKERS, SCORED)]
)
@given(words=tied_words, sizes=st.tuples(st.integers(20, 34), st.integers(20, 34)))
@part_of_examples(4)
def test_training_in_two_steps_is_training_at_once(
    marker: str, score: str, ties: str, words: dict[str, int], sizes: tuple[int, int]
) -> None:
    made = recipe(marker, ties, score)
    small, large = sorted(sizes)
    options = TrainOptions(vocab_size=large, min_frequency=2, max_token_length=6, coverage=0.9)
    first = train_on_counts(words, made, replace(options, vocab_size=small))
    second = train_on_counts(words, made, replace(options, extend=first))
    assert anew(second) == train_on_counts(words, made, options)


@pytest.mark.few(2)
@pytest.mark.parametrize("ties", TIE_BREAKS)
@given(
    words=st.dictionaries(st.binary(min_size=1, max_size=9), st.integers(1, 5), min_size=1),
    small=st.integers(257, 300),
)
def test_byte_level_training_in_two_steps(ties: str, words: dict[bytes, int], small: int) -> None:
    made = replace(BPE, tie_break=ties, special_tokens=("<|x|>",))
    options = TrainOptions(vocab_size=300)
    first = train_on_counts(words, made, replace(options, vocab_size=small))
    second = train_on_counts(words, made, replace(options, extend=first))
    assert anew(second) == train_on_counts(words, made, options)


@pytest.mark.few(2)
@pytest.mark.parametrize(("marker", "ties"), list(product(("none", "continuation"), TIE_BREAKS)))
@given(old_words=tied_words, words=tied_words, small=st.integers(15, 25))
def test_extending_on_another_text_equals_twin(
    marker: str, ties: str, old_words: dict[str, int], words: dict[str, int], small: int
) -> None:
    kind, mark = MARKERS[marker]
    made = recipe(marker, ties)
    old = train_on_counts(old_words, made, TrainOptions(vocab_size=small))
    model = train_on_counts(words, made, TrainOptions(vocab_size=40, extend=old))
    old_twin = twin.train(old_words, vocab_size=small, marker_kind=kind, marker=mark, ties=ties)
    expected = twin.train(
        words, vocab_size=40, marker_kind=kind, marker=mark, ties=ties, extend=old_twin
    )
    assert_same(model, expected)
    assert model.tokens[: len(old.tokens)] == old.tokens
    assert model.merges[: len(old.merges)] == old.merges
    assert model.training and model.training.extended == len(old.tokens)
    symbols = set(model.tokens) - {model.tokens[merge.token] for merge in model.merges}
    assert model.training.alphabet_size == len(symbols)


@pytest.mark.few(2)
@pytest.mark.parametrize("marker", MARKERS)
@given(old_words=odd_words, words=odd_words)
def test_extending_where_words_hold_the_marker(
    marker: str, old_words: dict[str, int], words: dict[str, int]
) -> None:
    """Merges can make tokens that exist already: ids and merges are kept all the same."""
    old = train_on_counts(old_words, recipe(marker), TrainOptions(vocab_size=30))
    model = train_on_counts(words, recipe(marker), TrainOptions(vocab_size=60, extend=old))
    assert model.tokens[: len(old.tokens)] == old.tokens
    assert model.merges[: len(old.merges)] == old.merges
    assert len(set(model.tokens)) == len(model.tokens)


@pytest.mark.parametrize("made", [WORD, CHAR])
@given(words=tied_words, small=st.integers(2, 6), large=st.integers(6, 9))
def test_words_and_characters_in_two_steps(
    made: Recipe, words: dict[str, int], small: int, large: int
) -> None:
    first = train_on_counts(words, made, TrainOptions(vocab_size=small))
    second = train_on_counts(words, made, TrainOptions(vocab_size=large, extend=first))
    assert anew(second) == train_on_counts(words, made, TrainOptions(vocab_size=large))


def test_new_special_tokens_have_the_last_ids() -> None:
    for made in (BPE, WORDPIECE, WORD, CHAR):
        made = replace(made, special_tokens=("<a>", *made.special_tokens))
        words = {"abab": 3, "cd": 2}
        old = train_on_counts(words, made, TrainOptions(vocab_size=260))
        size = len(old.tokens) + 4
        more = made.with_special_tokens(["<b>", "<c>"])
        model = train_on_counts({"xy": 5}, more, TrainOptions(vocab_size=size + 9, extend=old))
        last = len(model.tokens)
        assert model.special_ids == {**old.special_ids, "<b>": last - 2, "<c>": last - 1}
        assert model.tokens[-2:] == [b"<b>", b"<c>"]
        assert model.tokens[: len(old.tokens)] == old.tokens
        again = train_on_counts(
            {"xyxy": 5, "z": 1}, more, TrainOptions(vocab_size=300, extend=model)
        )
        assert again.special_ids == model.special_ids
        assert again.tokens[:last] == model.tokens and len(again.tokens) > last


def test_what_can_not_be_extended() -> None:
    words = {"abab": 3}
    old = train_on_counts(words, WORDPIECE, TrainOptions(vocab_size=9))

    def refused(what: str, model_of: Recipe, model: Model, size: int = 20) -> None:
        with pytest.raises(TokctlError, match=what) as caught:
            train_on_counts({"xyz": 1}, model_of, TrainOptions(vocab_size=size, extend=model))
        assert caught.value.hint

    refused("unigram", UNIGRAM, old)
    refused("another algorithm: wordpiece, not bpe", BPE_CHARACTERS, old)
    refused("another score", replace(WORDPIECE, score="count"), old)
    refused(
        "lacks '\\[UNK\\]'",
        replace(WORDPIECE, unk_token=None, special_tokens=()),
        replace(old, recipe=replace(WORDPIECE, unk_token=None)),
    )
    refused("has no merges", WORDPIECE, replace(old, merges=[]))
    refused("'ab' is spelled like", WORDPIECE.with_special_tokens(["ab"]), old)
    refused(f"need {len(old.tokens) + 4}", WORDPIECE.with_special_tokens(["<b>"]), old, size=8)
    spelled = train_on_counts({" t": 3}, BPE, TrainOptions(vocab_size=257))
    refused("'Ġt' is spelled like", BPE.with_special_tokens(["Ġt"]), spelled, size=300)


def test_progress_and_its_error_pass_through_an_extension() -> None:
    words = {"ab" * n: n for n in range(1, 40)}
    old = train_on_counts(words, BPE, TrainOptions(vocab_size=270))
    with raises_code("bad-value"):
        train_on_counts(words, BPE, TrainOptions(vocab_size=260, extend=old))
