"""N-best and sampling of texts with added tokens, and with SentencePiece's user-defined pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exact.test_unigram_encoding import (
    listed,
    sentencepiece_model,
    texts,
    their_n_best,
    vocabularies,
    words,
)
from tokctl import Tokenizer, formats
from tokctl.analysis.explain import ScoredWord, explain
from tokctl.analysis.explain.words import pre_tokens_of
from tokctl.model.parts import AddedToken


def with_added(prepend: str = "always") -> Tokenizer:
    """Pieces, `<sep>` found in the text as given, and `Über` in the lower-case text."""
    kinds = {"single_word": False, "lstrip": False, "rstrip": False, "special": False}
    vocab = {"<unk>": 0.0, "▁": -3.0, "▁a": -1.0, "a": -2.0, "b": -2.5, "ab": -3.0, "▁ab": -4.0}
    document: dict[str, Any] = {
        "version": "1.0",
        "normalizer": {"type": "Lowercase"},
        "added_tokens": [
            {"id": 7, "content": "<SEP>", "normalized": False, **kinds},
            {"id": 8, "content": "Über", "normalized": True, **kinds},
            {"id": 9, "content": "</s>", "normalized": False, **kinds, "special": True},
        ],
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": prepend,
            "split": True,
        },
        "decoder": {"type": "Fuse"},
        "model": {
            "type": "Unigram",
            "unk_id": 0,
            "byte_fallback": False,
            "vocab": list(vocab.items()),
        },
    }
    return Tokenizer(formats.parse(json.dumps(document).encode(), "added.json"))


parts = st.sampled_from(
    ["<SEP>", "<sep>", "über", "ÜBER", "</s>", "a", "AB", "b", "abab", " ", "x"]
)


@pytest.mark.parametrize("prepend", ["always", "first", "never"])
@given(text=st.lists(parts, max_size=12).map("".join))
def test_added_tokens_have_one_segmentation(prepend: str, text: str) -> None:
    tokenizer = with_added(prepend)
    expected = tokenizer.encode(text)
    assert tokenizer.nbest(text, 1)[0].ids == expected.ids
    assert tokenizer.sample(text, nbest_size=1, seed=1) == expected.ids
    found = [id_ for id_ in expected.ids if id_ > 6]
    drawn = [tokenizer.sample(text, alpha=0.1, seed=seed) for seed in range(5)]
    ways = tokenizer.nbest(text, 20)
    for ids in (*drawn, *(way.ids for way in ways)):
        assert [id_ for id_ in ids if id_ > 6] == found
        assert tokenizer.decode(ids) == tokenizer.decode(expected.ids)
    # What stands between them is segmented as it is elsewhere: an added token adds nothing.
    scores = tokenizer.model.scores
    for way in ways:
        known = [id_ for id_ in way.ids if id_ < 7]
        if 0 not in known:
            assert way.score == pytest.approx(sum(scores[id_] for id_ in known))
    best = [way.score for way in ways]
    assert best == sorted(best, reverse=True)
    assert len({tuple(way.ids) for way in ways}) == len(ways)


def test_the_stretches_between_are_what_the_encoder_segments() -> None:
    sep, uber = b"<SEP>", "Über".encode()
    expected: dict[str, list[tuple[str, list[bytes]]]] = {
        "always": [("A<SEP>Ab a", ["▁a".encode(), sep, "▁ab".encode(), "▁a".encode()])],
        "first": [
            ("A<SEP>Ab a", ["▁a".encode(), sep, b"ab", "▁a".encode()]),
            ("<SEP>a", [sep, b"a"]),
            ("ÜBERa", [uber, b"a"]),
            ("aüber<SEP>über", ["▁a".encode(), uber, sep, uber]),
            ("", []),
        ],
    }
    for prepend, cases in expected.items():
        tokenizer = with_added(prepend)
        for text, pieces in cases:
            found = list(pre_tokens_of(tokenizer, text.encode()))
            names = [one.text.encode() if isinstance(one, AddedToken) else one for one in found]
            assert names == pieces, text
            words = {number for number in tokenizer.encode(text).word_ids if number is not None}
            assert len(words) == len(pieces)


def test_places_of_added_tokens_are_those_of_their_tokens() -> None:
    tokenizer = with_added("first")
    text = "Ab ÜBER a<SEP>\u0130</s>a".encode()
    every = tokenizer.special_matcher("all")
    data, ranges, places, added = tokenizer.encoder.pre_tokens(text, every)
    ids, starts, ends, _ = tokenizer.encoder.tokens(text, every)
    tokens = [(i, a, b) for i, a, b in zip(ids, starts, ends, strict=True) if 6 < i < 10]
    found = [(i, a, b) for i, (a, b) in zip(added, places, strict=True) if i is not None]
    assert found == tokens == [(8, 3, 8), (7, 10, 15), (9, 17, 21)]
    names = [data[a:b].decode() for a, b in ranges]
    assert names == ["▁ab", "▁", "über", "▁a", "<SEP>", "i\u0307", "</s>", "a"]


@given(
    vocabularies, st.lists(words, min_size=1, max_size=3, unique=True), texts, st.integers(2, 60)
)
def test_user_defined_pieces_score_as_in_sentencepiece(
    vocabulary: dict[str, float], user_defined: list[str], text: str, n: int
) -> None:
    """Their length counts in bytes for the best path, in characters for the n best."""
    # (A model in which nothing scores below 0 is none.)
    pieces = listed({**vocabulary, "zz": -5.0}, user_defined, byte_fallback=False)
    theirs = sentencepiece_model(pieces)
    model = formats.parse(theirs.serialized_model_proto(), "m.model")
    for ours in (Tokenizer(model), Tokenizer(formats.parse(formats.serialize(model), "m.json"))):
        assert ours.encode(text).ids == theirs.encode(text)
        found = [(way.ids, way.score) for way in ours.nbest(text, n)]
        assert found == (their_n_best(theirs, text, n) if text else [([], 0.0)])
        assert [ids for ids, _ in found] == (theirs.nbest_encode(text, nbest_size=n) or [[]])


def test_user_defined_pieces_are_drawn_as_in_sentencepiece() -> None:
    """Of two segmentations, by the scores that SentencePiece's own n best have."""
    pieces = listed({"字": -0.5, "x": -0.5}, ["字字"], byte_fallback=False)
    theirs = sentencepiece_model(pieces)
    ours = Tokenizer(formats.parse(theirs.serialized_model_proto(), "m.model"))
    (best, high), (_, low) = their_n_best(theirs, "字字", 2)
    assert high == pytest.approx(0.1) and low == pytest.approx(-1.0)
    share = 1 / (1 + 2.718281828 ** (low - high))
    drawn = [ours.sample("字字", alpha=1.0, seed=seed) for seed in range(20_000)]
    assert abs(drawn.count(best) / 20_000 - share) < 5 * (share * (1 - share) / 20_000) ** 0.5


def test_paths_of_user_defined_pieces_are_explained_in_one_measure() -> None:
    pieces = listed({"字": -0.1, "é": -0.2, "a": -3.0}, ["字é", "é字"], byte_fallback=False)
    model = formats.parse(sentencepiece_model(pieces).serialized_model_proto(), "m.model")
    (word,) = explain(Tokenizer(model), "字é字a").words
    assert isinstance(word, ScoredWord) and len(word.paths) == 3
    for path in word.paths:
        assert path.score == pytest.approx(sum(piece.score for piece in path.pieces))
        assert path.behind == pytest.approx(word.paths[0].score - path.score)
    behind = [path.behind for path in word.paths]
    assert behind == sorted(behind) and behind[0] == 0 and behind[2] > 0.5
