"""Models of whole words and of characters, against their definition and Hugging Face."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.exact.training_options import tied_words
from tests.twins import options as twins
from tokctl import TokctlError
from tokctl.model.presets import CHAR, WORD
from tokctl.training import TrainOptions, train_on_counts


@given(
    words=st.dictionaries(st.text(alphabet="ab é", min_size=1, max_size=4), st.integers(1, 4)),
    vocab_size=st.integers(1, 9),
    least=st.integers(1, 3),
)
def test_a_word_model_equals_the_definition(
    words: dict[str, int], vocab_size: int, least: int
) -> None:
    words["[UNK]"] = 9  # Text is text: it makes no token.
    model = train_on_counts(words, WORD, TrainOptions(vocab_size=vocab_size, min_frequency=least))
    del words["[UNK]"]
    enough = {word: times for word, times in words.items() if times >= least}
    best = twins.most_frequent(enough, vocab_size - 1)
    assert [token.decode() for token in model.tokens] == ["[UNK]", *best]
    assert model.counts == [0, *(words[word] for word in best)]
    assert model.training and model.training.exhausted == (len(best) < vocab_size - 1)


@given(
    words=tied_words,
    vocab_size=st.integers(4, 9),
    initial=st.text(alphabet="azé", max_size=3),
)
def test_a_character_model_equals_the_definition(
    words: dict[str, int], vocab_size: int, initial: str
) -> None:
    options = TrainOptions(vocab_size=vocab_size, initial_alphabet=initial)
    model = train_on_counts(words, CHAR, options)
    counts = twins.character_counts(words)
    for character in initial:
        counts.setdefault(character, 0)
    best = twins.most_frequent(counts, len(counts))
    free = vocab_size - 1 - len(set(initial))
    kept = [c for c in best if c not in initial][:free]
    expected = [c for c in best if c in kept or c in initial]
    assert [token.decode() for token in model.tokens] == ["[UNK]", *expected]
    assert model.counts == [0, *(counts[c] for c in expected)]
    assert model.training and model.training.alphabet_size == len(expected)


def test_character_models_are_limited_and_say_the_least() -> None:
    words = {"aab": 2, "c": 1}
    model = train_on_counts(words, CHAR, TrainOptions(vocab_size=9, coverage=0.8))
    assert model.tokens == [b"[UNK]", b"a", b"b"]
    with raises_code("bad-value", "need 3") as caught:
        train_on_counts(words, CHAR, TrainOptions(vocab_size=2, initial_alphabet="yz"))
    assert caught.value.hint == "ask for 3 or more: --vocab 3"
    special = replace(CHAR, special_tokens=("[UNK]", "b"))
    with pytest.raises(TokctlError, match='spelled like "b"'):
        train_on_counts(words, special, TrainOptions(vocab_size=9))


def test_words_equal_hugging_faces_where_no_tie_decides() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    words = {"to": 9, "be": 8, "or": 7, "not": 5, "question": 1}
    peer = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="[UNK]"))
    peer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    for size, least in ((4, 0), (9, 0), (9, 6)):
        trainer = tokenizers.trainers.WordLevelTrainer(
            vocab_size=size,
            min_frequency=least,
            special_tokens=["[UNK]"],
            show_progress=False,
        )
        peer.train_from_iterator([" ".join([w] * n) for w, n in words.items()], trainer)
        ours = train_on_counts(
            words, WORD, TrainOptions(vocab_size=size, min_frequency=max(1, least))
        )
        theirs = sorted(peer.get_vocab(), key=peer.get_vocab().__getitem__)
        assert [token.decode() for token in ours.tokens] == theirs
