"""N-best and drawn segmentations of whole texts, against all of them, and streamed decoding."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises_code
from tokctl import Tokenizer
from tokctl.model.presets import PRESETS, UNIGRAM

TEXT = "to be or not to be that is the question whether tis nobler in the mind " * 20


@pytest.fixture(scope="module")
def unigram(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = tmp_path_factory.mktemp("unigram") / "text.txt"
    path.write_text(TEXT)
    return Tokenizer.train([path], vocab_size=45, recipe=UNIGRAM)


def segmentations(tokenizer: Tokenizer, word: str) -> list[tuple[tuple[int, ...], float]]:
    """Every way to write a word with the vocabulary's pieces, with its score."""
    pieces = {token: id_ for token, id_ in tokenizer.vocabulary.items() if id_ > 0}
    found: list[list[tuple[tuple[int, ...], float]]] = [[((), 0.0)]]
    for end in range(1, len(word) + 1):
        ways = []
        for start in range(end):
            id_ = pieces.get(word[start:end])
            if id_ is not None:
                score = tokenizer.model.scores[id_]
                ways += [((*ids, id_), total + score) for ids, total in found[start]]
        found.append(ways)
    return found[-1]


def all_of(tokenizer: Tokenizer, text: str) -> list[tuple[tuple[int, ...], float]]:
    words = [segmentations(tokenizer, "▁" + word) for word in text.split()]
    joined = [
        (tuple(id_ for ids, _ in ways for id_ in ids), sum(score for _, score in ways))
        for ways in product(*words)
    ]
    return sorted(joined, key=lambda way: -way[1])


@pytest.mark.parametrize("text", ["the", "to be", "the mind is nobler"])
def test_nbest_of_a_text_are_the_best_of_all(unigram: Tokenizer, text: str) -> None:
    expected = all_of(unigram, text)[:10]
    found = unigram.nbest(text, 10)
    scores = [way.score for way in found]
    assert scores == pytest.approx([score for _, score in expected])
    assert found[0].ids == unigram.encode(text).ids
    assert len({tuple(way.ids) for way in found}) == len(found)
    known = dict(all_of(unigram, text))
    for way in found:
        assert known[tuple(way.ids)] == pytest.approx(way.score)
        assert way.tokens == [unigram.tokens[id_] for id_ in way.ids]


def test_nbest_of_a_long_text(unigram: Tokenizer) -> None:
    """As the sums over the words' own lists, joined at once; and as fast as the text is long."""
    text = " ".join(["the mind is nobler"] * 60)
    expected: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for word in text.split():
        ways = sorted(segmentations(unigram, "▁" + word), key=lambda way: -way[1])[:7]
        joined = [(a + b, x + y) for (a, x), (b, y) in product(expected, ways)]
        expected = sorted(joined, key=lambda way: -way[1])[:7]
    found = unigram.nbest(text, 7)
    assert [way.score for way in found] == pytest.approx([score for _, score in expected])
    assert found[0].ids == list(expected[0][0])
    assert len({tuple(way.ids) for way in found}) == 7
    for way in found:
        assert sum(unigram.model.scores[id_] for id_ in way.ids) == pytest.approx(way.score)
        assert unigram.decode(way.ids) == text
    assert len(unigram.nbest("the " * 100_000, 5)) == 5


def test_draws_have_the_probabilities_of_their_scores(unigram: Tokenizer) -> None:
    text, alpha, draws = "the mind", 0.5, 4000
    ways = all_of(unigram, text)
    weights = {ids: math.exp(alpha * score) for ids, score in ways}
    total = sum(weights.values())
    counts = Counter(tuple(unigram.sample(text, alpha=alpha, seed=seed)) for seed in range(draws))
    assert counts.keys() <= weights.keys()
    for ids, weight in weights.items():
        share = weight / total
        deviation = math.sqrt(share * (1 - share) / draws)
        assert abs(counts[ids] / draws - share) < 5 * deviation + 1e-9


def test_a_seed_draws_the_same_again(unigram: Tokenizer) -> None:
    draw = [unigram.sample(TEXT, alpha=0.1, seed=7) for _ in range(2)]
    assert draw[0] == draw[1] != unigram.sample(TEXT, alpha=0.1, seed=8)
    assert unigram.decode(draw[0]) == unigram.decode(unigram.encode(TEXT).ids)
    assert unigram.sample(TEXT, nbest_size=1, seed=7) == unigram.encode(TEXT).ids


def test_what_is_refused(unigram: Tokenizer, tmp_path: Path) -> None:
    for n in (0, 513):
        with raises_code("bad-value", r"invalid value .* for n\b"):
            unigram.nbest("a", n)
    with raises_code("bad-value", "invalid value -1 for seed"):
        unigram.sample("a", seed=-1)
    with raises_code("bad-value", "invalid value -1 for alpha"):
        unigram.sample("a", alpha=-1, seed=1)
    with raises_code("bad-value"):
        unigram.sample("a", alpha=math.inf, seed=1)
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    bpe = Tokenizer.train([path], vocab_size=300)
    with raises_code("conflict"):
        bpe.nbest("a", 2)


@pytest.fixture(scope="module", params=["gpt2", "bert", "llama2", "t5", "char-bpe"])
def streamed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = tmp_path_factory.mktemp("streamed") / "text.txt"
    path.write_text(TEXT + "naïve café 字 🙂 " * 3)
    recipe = PRESETS[request.param][1]
    size = 600 if recipe.units == "bytes" or recipe.byte_fallback else 110
    return Tokenizer.train([path], vocab_size=size, recipe=recipe)


@pytest.mark.few(2)
@settings(max_examples=60)
@given(data=st.data())
def test_a_stream_gives_the_whole_and_no_half_character(
    streamed: Tokenizer, data: st.DataObject
) -> None:
    ids = data.draw(st.lists(st.integers(0, streamed.vocab_size - 1), max_size=30))
    stream = streamed.decode_stream()
    parts = [stream.push(id_) for id_ in ids] + [stream.finish()]
    assert "".join(parts) == streamed.decode(ids, errors="replace")


def test_a_character_of_several_tokens_comes_whole(streamed: Tokenizer) -> None:
    encoding = streamed.encode("café 🙂 be")
    stream = streamed.decode_stream()
    parts = [stream.push(id_) for id_ in encoding.ids] + [stream.finish()]
    assert "\ufffd" not in "".join(parts)
    with raises_code("bad-ids"):
        streamed.decode_stream().push(streamed.vocab_size)


def test_a_finished_stream(streamed: Tokenizer) -> None:
    stream = streamed.decode_stream()
    text = stream.push(streamed.encode_ids("the mind")) + stream.finish()
    assert text == streamed.decode(streamed.encode_ids("the mind"))
    assert stream.finish() == ""
    for ids in (0, [], [streamed.vocab_size]):
        with raises_code("bad-option") as caught:
            stream.push(ids)
        assert caught.value.hint == "decode further ids with a new stream"
    assert stream.finish() == ""
