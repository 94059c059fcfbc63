"""Unigram: the paths and what a piece is worth, against all segmentations there are."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.explain.every import model
from tokctl import TokctlError, Tokenizer
from tokctl.analysis.explain import Path, ScoredWord, explain, token_history
from tokctl.analysis.explain.words import BEST, LONGEST, UNKNOWN_PENALTY

WORDS = st.text(alphabet="lowernstid", min_size=1, max_size=7)


def every_path(scores: dict[str, float], text: str) -> Iterator[tuple[float, tuple[str, ...]]]:
    """Each way to write a text with pieces, with the sum of their scores."""
    if not text:
        yield 0.0, ()
    for end in range(1, len(text) + 1):
        if text[:end] in scores:
            for rest, pieces in every_path(scores, text[end:]):
                yield scores[text[:end]] + rest, (text[:end], *pieces)


def pieces_of(tokenizer: Tokenizer) -> dict[str, float]:
    scores = zip(tokenizer.tokens, tokenizer.model.scores, strict=True)
    return {token: score for token, score in scores if token not in tokenizer.special_ids}


def names(path: Path) -> tuple[str | None, ...]:
    return tuple(piece.token for piece in path.pieces)


def scored(tokenizer: Tokenizer, text: str) -> ScoredWord:
    (word,) = explain(tokenizer, text).words
    assert isinstance(word, ScoredWord)
    return word


@given(text=WORDS)
def test_the_paths_are_the_best_there_are(text: str) -> None:
    tokenizer = model("default unigram")
    expected = sorted(every_path(pieces_of(tokenizer), "▁" + text), reverse=True)[:BEST]
    word = scored(tokenizer, text)
    assert [path.score for path in word.paths] == pytest.approx([score for score, _ in expected])
    for path in word.paths:
        assert path.score == pytest.approx(sum(piece.score for piece in path.pieces))
        assert path.behind == pytest.approx(word.paths[0].score - path.score)
        assert "".join(piece.text for piece in path.pieces) == "▁" + text
    assert names(word.paths[0]) == word.tokens


def test_what_a_piece_is_worth() -> None:
    tokenizer = model("default unigram")
    scores = pieces_of(tokenizer)
    places = sorted(scores.values(), reverse=True)
    for token, score in scores.items():
        worth = token_history(tokenizer, token).piece_score
        assert worth is not None
        assert worth.score == score
        assert worth.pieces == len(scores)
        assert worth.place == places.index(score) + 1
        others = [path for path in every_path(scores, token) if path[1] != (token,)]
        if not others:
            assert (worth.instead, worth.gain) == (None, None), token
            continue
        best, _ = max(others)
        assert worth.instead is not None and worth.gain is not None
        assert worth.instead.score == pytest.approx(best)
        assert worth.gain == pytest.approx(score - best)


def test_unknown_characters_cost_the_penalty_each() -> None:
    tokenizer = model("default unigram")
    penalty = min(pieces_of(tokenizer).values()) - UNKNOWN_PENALTY
    path = scored(tokenizer, "loΩΨ").paths[0]
    assert path.pieces[-1].token is None
    assert path.pieces[-1].text == "ΩΨ"
    assert path.pieces[-1].score == pytest.approx(2 * penalty)


def test_unknown_characters_that_fall_back_to_bytes() -> None:
    word = scored(model("unigram with bytes"), "loΩ")
    last = word.paths[0].pieces[-1]
    assert (last.text, last.token, last.fallback) == ("Ω", None, ("<0xCE>", "<0xA9>"))
    assert word.tokens[-2:] == last.fallback


def test_a_special_token_has_no_worth() -> None:
    assert token_history(model("default unigram"), "<unk>").piece_score is None
    assert token_history(model("unigram with bytes"), "<0x41>").piece_score is None


def test_a_word_of_great_length() -> None:
    with raises_code("too-large"):
        explain(model("default unigram"), "a" * (LONGEST + 1))


@given(text=WORDS, most=st.integers(1, 12))
def test_probabilities_are_shares_of_all_paths(text: str, most: int) -> None:
    tokenizer = model("default unigram")
    every = sorted(every_path(pieces_of(tokenizer), "▁" + text), reverse=True)
    total = sum(exp(score) for score, _ in every)
    (word,) = explain(tokenizer, text, most).words
    assert isinstance(word, ScoredWord)
    assert len(word.paths) == min(most, len(every))
    expected = [exp(score) / total for score, _ in every[:most]]
    assert [path.probability for path in word.paths] == pytest.approx(expected)


def test_a_probability_where_there_is_one_way_only() -> None:
    for name in ("default unigram", "t5", "unigram with bytes"):
        (word,) = explain(model(name), "Ω").words
        assert isinstance(word, ScoredWord)
        assert sum(path.probability or 0 for path in word.paths) == pytest.approx(1)


def test_how_many_paths_can_be_asked_for() -> None:
    for most in (0, 513, -1):
        with pytest.raises(TokctlError, match=f"invalid value {most} for n"):
            explain(model("default unigram"), "low", most)
    with raises_code("conflict"):
        explain(model("gpt2"), "low", 5)
