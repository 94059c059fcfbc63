"""The Unigram trainer against its slow twin: pieces, scores and every round's figures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.twins import unigram_train as twin
from tokctl import _native
from tokctl.core.errors import CoreError

#: Few letters and parts: ties everywhere, runs of one letter, characters of every width.
tied_words = st.dictionaries(
    st.text(alphabet="ab", min_size=1, max_size=30), st.integers(1, 3), min_size=1, max_size=12
)
composed_words = st.dictionaries(
    st.lists(st.sampled_from(["▁", "ka", "lo", "é", "日本", "x", "\0", "😀s"]), max_size=6).map(
        "".join
    ),
    st.integers(0, 10**12),
    max_size=30,
)


def counts(words: dict[str, int]) -> _native.Counts:
    counter = _native.Counter("none", [], 1)
    for word, count in words.items():
        counter.add(word.encode(), count)
    return counter.finish(0)


def train(words: dict[str, int], threads: int = 1, **options: Any) -> _native.UnigramTraining:
    defaults: dict[str, Any] = {
        "special_tokens": [],
        "byte_fallback": False,
        "seed_size": 1_000_000,
        "shrinking_factor": 0.75,
        "sub_iterations": 2,
        "max_piece_length": 16,
        "alphabet": None,
        "required": [],
        "initial_tokens": [],
        "progress": None,
    }
    return _native.train_unigram(counts(words), threads=threads, **defaults | options)


def assert_same(found: _native.UnigramTraining, expected: twin.Training) -> None:
    assert [text.decode() for text, _ in found.pieces] == [text for text, _ in expected.pieces]
    scores = [score for _, score in expected.pieces]
    assert [score for _, score in found.pieces] == pytest.approx(scores, rel=1e-6)
    assert found.exhausted == expected.exhausted
    assert found.alphabet_size == len(expected.alphabet)
    assert len(found.rounds) == len(expected.rounds)
    for row, round_ in zip(found.rounds, expected.rounds, strict=True):
        pieces, objective, tokens, unused, dropped, highest = row
        assert (pieces, unused, dropped) == (round_.pieces, round_.unused, round_.dropped)
        assert objective == pytest.approx(round_.objective, rel=1e-9, abs=1e-9)
        assert tokens == pytest.approx(round_.tokens, abs=0.51, rel=1e-9)
        for text, loss in highest:
            if text.decode() in round_.losses:
                assert loss == pytest.approx(round_.losses[text.decode()], rel=1e-6, abs=1e-9)


@given(
    words=tied_words | composed_words,
    room=st.sampled_from([0, 1, 3, 10, 30, 100]),
    longest=st.sampled_from([1, 2, 3, 16, 16, 40]),
    seed_size=st.sampled_from([0, 5, 20, 1_000_000, 1_000_000]),
    shrinking=st.sampled_from([0.75, 0.75, 0.5, 0.9]),
    sub_iterations=st.sampled_from([1, 2, 2, 3]),
)
def test_as_the_twin(
    words: dict[str, int],
    room: int,
    longest: int,
    seed_size: int,
    shrinking: float,
    sub_iterations: int,
) -> None:
    characters = {c for word, count in words.items() if count for c in word}
    options: dict[str, Any] = {
        "vocab_size": len(characters) + room,
        "seed_size": seed_size,
        "shrinking_factor": shrinking,
        "sub_iterations": sub_iterations,
        "max_piece_length": longest,
    }
    found = train(words, **options)
    assert_same(found, twin.train(words, **options))
    again = train(words, threads=3, **options)
    assert (again.pieces, again.rounds) == (found.pieces, found.rounds)


@given(
    words=tied_words | composed_words,
    alphabet=st.sets(st.sampled_from("abkloé日▁")),
    required=st.sets(st.sampled_from("aqz")),
    special=st.sampled_from([[], ["<unk>"], ["ab", "ka", "日本"]]),
    byte_fallback=st.booleans(),
    room=st.integers(0, 20),
)
def test_alphabet_and_special_tokens_as_the_twin(
    words: dict[str, int],
    alphabet: set[str],
    required: set[str],
    special: list[str],
    byte_fallback: bool,
    room: int,
) -> None:
    seen = {c for word, count in words.items() if count for c in word}
    characters = (seen & (alphabet | required)) | required
    size = len(characters) + len(special) + 256 * byte_fallback + room
    found = train(
        words,
        vocab_size=size,
        special_tokens=[token.encode() for token in special],
        byte_fallback=byte_fallback,
        alphabet=sorted(alphabet),
        required=sorted(required),
    )
    expected = twin.train(
        words,
        vocab_size=size,
        special_tokens=special,
        byte_fallback=byte_fallback,
        alphabet=alphabet,
        required=required,
    )
    assert_same(found, expected)


@given(
    words=tied_words | composed_words,
    initial=st.lists(
        st.lists(st.sampled_from(["ab", "ka", "lo", "日", "q"]), min_size=1, max_size=4)
        .map("".join)
        .filter(lambda text: len(text) > 1),
        max_size=4,
        unique=True,
    ),
    room=st.integers(0, 12),
)
def test_initial_tokens_as_the_twin(words: dict[str, int], initial: list[str], room: int) -> None:
    required = set("".join(initial))
    seen = {c for word, count in words.items() if count for c in word}
    size = len(seen | required) + len(initial) + room
    found = train(words, vocab_size=size, required=sorted(required), initial_tokens=initial)
    expected = twin.train(words, vocab_size=size, required=required, initial=initial)
    assert_same(found, expected)
    scores = {text.decode(): score for text, score in found.pieces}
    for text in initial:
        assert twin.best_path(text, scores)[1] == [text]
    if size == room:
        return
    with pytest.raises(CoreError, match="too small"):
        train(words, vocab_size=size - room - 1, required=sorted(required), initial_tokens=initial)
