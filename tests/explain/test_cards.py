"""Cards say what `token_history` says, without going through the whole model for each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explain import every
from tests.explain import models as small
from tests.metrics.models import document
from tokctl import Tokenizer
from tokctl.analysis.explain import token_history
from tokctl.analysis.explain.summary import (
    POINTS,
    frequencies,
    merge_curve,
    score_curve,
    spread,
    token_lengths,
)
from tokctl.analysis.explain.tokens import LONGER, NODES, TokenCard, TreeNode, token_cards
from tokctl.model.presets import BPE_CHARACTERS


@pytest.mark.parametrize("name", every.NAMES)
def test_cards_equal_the_histories(name: str) -> None:
    model = every.model(name)
    ids = range(0, model.vocab_size, 1 + model.vocab_size // 80)
    counts = [{id_: id_ + 1 for id_ in ids}, {}]
    cards = token_cards(model, ids, counts)
    assert [card.id for card in cards] == list(ids)
    for card in cards:
        _check(model, card)
        assert card.counts == (card.id + 1, 0)
        assert card.count == card.id + 1


def _check(model: Tokenizer, card: TokenCard) -> None:
    known = token_history(model, card.id)
    assert (card.token, card.kind) == (known.token, known.kind)
    assert card.ranked == known.ranked
    tree = [TreeNode(depth, node.token, node.id, node.step) for depth, node in known.tree.walk()]
    if len(tree) > 1:
        assert list(card.tree) == tree[:NODES]
        assert card.cut == (len(tree) > NODES)
    else:
        assert (card.tree, card.cut) == ((), False)
    if known.merge is not None:
        assert (card.step, card.merged) == (known.merge.step, known.merge.count)
    if known.piece_score is not None:
        found = (card.score, card.place, card.of, card.instead, card.gain)
        worth = known.piece_score
        assert found == (worth.score, worth.place, worth.pieces, worth.instead, worth.gain)
    else:
        assert (card.score, card.instead, card.gain) == (None, None, None)
    if known.training_count is not None:
        found = (card.trained, card.place, card.of)
        assert found == (
            known.training_count.count,
            known.training_count.place,
            known.training_count.tokens,
        )


def test_a_card_says_what_a_token_stands_for() -> None:
    def text(model: Tokenizer, token: str) -> bytes:
        (card,) = token_cards(model, [model.vocabulary[token]])
        return card.text

    assert text(small.model("longest-match"), "##t") == b"t"
    assert text(every.model("default unigram"), "▁the") == b" the"
    assert text(every.model("unigram with bytes"), "<0x0A>") == b"\n"
    assert text(every.model("default bpe"), "Ġthe") == b" the"


def test_longer_tokens_are_those_that_begin_with_it() -> None:
    model = small.model("longest-match")
    ordinary = [n for id_, n in enumerate(model.tokens) if id_ not in model.model.reserved_ids]
    for card in token_cards(model, range(model.vocab_size)):
        if card.id in model.model.reserved_ids:
            assert card.longer_count is None
            continue
        found = [n for n in ordinary if n != card.token and n.startswith(card.token)]
        assert card.longer_count == len(found)
        assert list(card.longer) == sorted(found, key=lambda n: (len(n), n))[:LONGER]


def test_a_deep_tree_is_cut() -> None:
    word = "".join(chr(0x400 + n) for n in range(80))
    text = " ".join(word[:end] for end in range(1, 81) for _ in range(200 - 2 * end))
    model = Tokenizer.train([document(text)], vocab_size=400, recipe=BPE_CHARACTERS)
    cards = token_cards(model, range(model.vocab_size))
    deepest = max(cards, key=lambda card: (card.cut, len(card.tree)))
    assert deepest.cut
    assert len(deepest.tree) == NODES
    assert max(node.depth for node in deepest.tree) > 40


@given(st.integers(0, 10**7))
def test_spread_goes_from_first_to_last(last: int) -> None:
    found = spread(last)
    assert len(found) <= POINTS
    assert found == sorted(set(found))
    if last:
        assert (found[0], found[-1]) == (1, last)


@given(st.dictionaries(st.integers(0, 500), st.integers(1, 1000)))
def test_frequencies_fall_and_are_there(counts: dict[int, int]) -> None:
    found = frequencies(counts)
    ordered = sorted(counts.values(), reverse=True)
    assert all(ordered[rank - 1] == count for rank, count in found)
    assert len(found) == min(len(found), len(counts))
    assert [rank for rank, _ in found] == spread(len(counts))


@pytest.mark.parametrize("name", ["default bpe", "default wordpiece", "default unigram"])
def test_lengths_are_those_of_the_text(name: str) -> None:
    model = every.model(name)
    data = "the lower naïve café lowest".encode()
    encoding = model.encode(data)
    expected: dict[int, int] = {}
    for id_, (start, end) in zip(encoding.raw_ids, encoding.offsets, strict=True):
        if id_ not in model.model.reserved_ids:
            stretch = data[start:end].removeprefix(b" ")
            length = sum(1 for byte in stretch if not 0x80 <= byte < 0xC0)
            expected[length] = expected.get(length, 0) + 1
    counts = {id_: encoding.raw_ids.count(id_) for id_ in encoding.raw_ids}
    assert token_lengths(model, counts) == expected
    assert sum(expected.values()) >= 5


def test_curves_are_of_the_model() -> None:
    bpe = every.model("default bpe")
    steps = [(point.step, point.token) for point in merge_curve(bpe)]
    assert steps[0] == (1, bpe.tokens[bpe.merges[0].token])
    assert steps[-1] == (len(bpe.merges), bpe.tokens[bpe.merges[-1].token])
    assert score_curve(bpe) == []
    unigram = every.model("default unigram")
    assert merge_curve(unigram) == []
    scores = [point.score for point in score_curve(unigram)]
    assert scores == sorted(scores, reverse=True)
    assert scores
