"""Pruning: what stays, and that it is what a smaller training would have learned."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.exact.training_options import MARKERS, SCORED, odd_words, recipe, tied_words
from tokctl import TokctlError
from tokctl.model import Model
from tokctl.model.parts import AddedToken
from tokctl.model.presets import BPE, CHAR, UNIGRAM, WORD, WORDPIECE
from tokctl.training import TrainOptions, train_on_counts
from tokctl.training.resizing import prune


def as_trained(model: Model) -> Model:
    """The model without the mark that pruning leaves in its record."""
    assert model.training
    return replace(model, training=replace(model.training, pruned_from=None))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("marker", "score", "ties"), [(marker, *both) for marker, both in product(MARKERS, SCORED)]
)
@given(words=st.one_of(tied_words, odd_words), share=st.floats(0, 1))
@part_of_examples(3)
def test_a_pruned_model_is_what_a_smaller_training_learns(
    marker: str, score: str, ties: str, words: dict[str, int], share: float
) -> None:
    made = recipe(marker, ties, score)
    model = train_on_counts(words, made, TrainOptions(vocab_size=45))
    assert model.training
    least = model.training.alphabet_size
    size = least + int(share * (len(model.tokens) - least))
    pruned = prune(model, size)
    if size == len(model.tokens):
        assert pruned is model
    else:
        assert as_trained(pruned) == train_on_counts(words, made, TrainOptions(vocab_size=size))
        assert pruned.training and pruned.training.pruned_from == len(model.tokens)


@given(words=st.dictionaries(st.binary(min_size=1, max_size=9), st.integers(1, 5), min_size=1))
def test_a_pruned_byte_level_model(words: dict[bytes, int]) -> None:
    made = replace(BPE, special_tokens=("<|x|>",))
    model = train_on_counts(words, made, TrainOptions(vocab_size=290))
    for size in range(257, len(model.tokens)):
        expected = train_on_counts(words, made, TrainOptions(vocab_size=size))
        assert as_trained(prune(model, size)) == expected


@given(old_words=tied_words, words=tied_words, share=st.floats(0, 1))
def test_an_extended_model_is_pruned_and_numbered_without_holes(
    old_words: dict[str, int], words: dict[str, int], share: float
) -> None:
    made = recipe("continuation")
    old = train_on_counts(old_words, made, TrainOptions(vocab_size=20))
    more = made.with_special_tokens(["<new>"])
    model = train_on_counts(words, more, TrainOptions(vocab_size=40, extend=old))
    made_ids = {merge.token for merge in model.merges}
    least = len(model.tokens) - len(made_ids)
    pruned = prune(model, least + int(share * len(made_ids)))
    assert len(pruned.tokens) == least + int(share * len(made_ids))
    kept = {token: id_ for id_, token in enumerate(pruned.tokens)}
    assert list(kept) == [token for token in model.tokens if token in kept]
    assert pruned.special_ids == {"<new>": kept[b"<new>"]}
    seen = set(kept.values()) - {merge.token for merge in pruned.merges}
    for ours, theirs in zip(pruned.merges, model.merges, strict=False):
        assert {ours.left, ours.right} <= seen
        seen.add(ours.token)
        for mine, other in zip(ours[:3], theirs[:3], strict=True):
            assert pruned.tokens[mine] == model.tokens[other]
    assert seen == set(kept.values())


def test_sizes_that_can_not_be() -> None:
    model = train_on_counts({"abab": 3, "cd": 1}, WORDPIECE, TrainOptions(vocab_size=30))
    assert model.training
    least = 1 + model.training.alphabet_size
    assert len(prune(model, least).tokens) == least and prune(model, least).merges == []
    with pytest.raises(TokctlError, match=f"alphabet of this model are {least}") as caught:
        prune(model, least - 1)
    assert caught.value.hint == f"ask for {least} or more"
    with pytest.raises(TokctlError, match=f"has {len(model.tokens)} ids") as caught:
        prune(model, len(model.tokens) + 1)
    assert caught.value.hint and "--extend" in caught.value.hint


def test_words_and_characters_keep_the_first() -> None:
    words = {"to": 9, "be": 8, "or": 7, "not": 5}
    for made in (WORD, CHAR):
        model = train_on_counts(words, made, TrainOptions(vocab_size=20))
        for size in range(1, len(model.tokens)):
            expected = train_on_counts(words, made, TrainOptions(vocab_size=size))
            assert as_trained(prune(model, size)) == expected


def test_a_unigram_model_keeps_the_best_pieces_and_all_characters() -> None:
    tokens = ["<unk>", "ab", "a", "abc", "b", "bc", "c", "ca"]
    model = Model(
        UNIGRAM,
        [token.encode() for token in tokens],
        scores=[0.0, -3.0, -9.0, -2.0, -8.0, -3.0, -7.0, -4.0],
    )
    pruned = prune(model, 6)
    assert [token.decode() for token in pruned.tokens] == ["<unk>", "ab", "a", "abc", "b", "c"]
    assert pruned.scores == [0.0, -3.0, -9.0, -2.0, -8.0, -7.0]
    with raises_code("bad-value", "are 4"):
        prune(model, 3)
    bytes_ = replace(UNIGRAM, byte_fallback=True)
    spelled = [b"<unk>", b"<0x0A>", b"a", b"ab"]
    model = Model(bytes_, spelled, scores=[0.0, 0.0, -5.0, -1.0])
    assert prune(model, 3).tokens == spelled[:3]


def test_a_vocabulary_without_merges_keeps_the_lowest_ids() -> None:
    tokens = [b"[UNK]", b"the", b"a", b"##a", b"##ab", b"b", b"thea", b"[X]"]
    added = (AddedToken("[UNK]", 0), AddedToken("[X]", 7))
    model = Model(WORDPIECE.with_special_tokens(["[X]"]), tokens, added_tokens=added)
    pruned = prune(model, 6)
    assert pruned.tokens == [b"[UNK]", b"the", b"a", b"##a", b"b", b"[X]"]
    assert pruned.special_ids == {"[UNK]": 0, "[X]": 5}
