"""Reasons that are true of every kind of model, not of those alone that were trained here."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from tests.comparison.test_stories import TEXT, told, trained
from tests.metrics.models import RECIPES, document, model
from tokctl.model.parts import AddedToken
from tokctl.model.presets import preset
from tokctl.tokenizer import Tokenizer
from tokctl.training.resizing import prune


@pytest.mark.parametrize(
    ("recipe", "size", "word", "reason"),
    [
        # Bytes that stand for a character are no pair that training left.
        ("llama2", 300, "caté", "it has no token for é: it is encoded as bytes"),
        ("byte-fallback", 300, "caté", "it has no token for é: it is encoded as bytes"),
        # One unknown token for several characters names each of them.
        ("sentencepiece-unigram", 40, "doggod", "it has no token for d, o and g"),
        # Only a part of the word is unknown.
        ("bert", 60, "the'www", "no tokens fit all of www, so that it is unknown"),
        ("word", 12, "the'www", "www is not among the words that it has tokens for"),
        ("bert", 60, "a" * 101, "a word of more than 100 characters is unknown"),
    ],
)
def test_what_is_unknown(recipe: str, size: int, word: str, reason: str) -> None:
    tokenizer = Tokenizer.train(
        [document(TEXT + "the'x ff\n")], vocab_size=size, recipe=RECIPES[recipe][0]
    )
    assert told(tokenizer, word).cuts[0].reason == reason


def test_an_added_token_has_no_probability() -> None:
    made = model("unigram").model
    added = AddedToken("zzz", len(made.tokens), special=False)
    more = replace(
        made,
        tokens=[*made.tokens, b"zzz"],
        scores=[*made.scores, 0.0],
        added_tokens=(*made.added, added),
    )
    assert told(Tokenizer(more), "zzz").cuts[0].reason == "an added token"


def test_pieces_are_looked_for_in_the_text_as_the_model_reads_it() -> None:
    text = "Alice was\nALICE is\nalice\nlice was ice dice licer\n" * 3
    albert = Tokenizer.train([document(text)], vocab_size=15, recipe=preset("albert"))
    story = told(albert, "Alice", text)
    assert story.count == 3  # as it is spelled
    assert story.cuts[0].reason.startswith("9 times in the text; its piece was dropped")
    long = "abcdefghijklmnopqrstuvw"
    text = f"{long} {long}\n"
    albert = Tokenizer.train([document(text)], vocab_size=60, recipe=preset("albert"))
    assert told(albert, long, text).cuts[0].reason == "a piece has 16 characters at the most"


def test_what_a_training_may_not_make_is_not_laid_to_counts() -> None:
    text = "aab aab aab xy\n"
    kept = Tokenizer.train(
        [document(text)], vocab_size=400, algorithm="bpe", max_token_length=2, min_frequency=2
    )
    assert told(kept, "aab", text).cuts[0].reason == (
        "aa + b: 3 times, but that would be a longer token than its training allowed"
    )
    assert told(kept, "xy", text).cuts[0].reason.endswith(": once; it takes 2 to be merged")


def test_a_cut_character_is_named() -> None:
    text = "ab ab ab ab aé aè aê\n"
    whole = Tokenizer.train(
        [document(text)], vocab_size=257, algorithm="bpe", whole_characters=True
    )
    reason = told(whole, "aé", text).cuts[0].reason
    assert reason.endswith("+ \\xc3: 3 times, but that would be a cut character")


def test_a_pruned_model_is_not_said_never_to_have_merged() -> None:
    small = Tokenizer(prune(trained("bpe", 270).model, 260))
    (cut,) = told(small, "hat", "another hat\n").cuts
    assert cut.reason.startswith("it has no merge of")


def test_the_pair_that_came_closest_is_that_of_the_highest_score() -> None:
    """Not the most frequent one, where scores are compared."""
    text = "ab ab ab ab ac ac ac ac ac a b b b b b b b b b b b zc\n" + "abq\n" * 2 + "xyz\n"
    recipe = preset("notebook-wordpiece")
    tokenizer = Tokenizer.train([document(text)], vocab_size=12, recipe=recipe)
    state = tokenizer.corpus_state(len(tokenizer.merges), text)
    for word in ("abq", "xyz", "zc"):
        (cut,) = told(tokenizer, word, text).cuts
        tokens = [token for token in cut.segmentation.tokens if token != "##Ġ"]
        if cut.whole or "score" not in cut.reason:
            continue
        symbols: dict[str, int] = {}
        pairs: dict[tuple[str, str], int] = {}
        for symbol_row, count in state.items():
            for place, symbol in enumerate(symbol_row):
                symbols[symbol] = symbols.get(symbol, 0) + count
                pair = symbol_row[place : place + 2]
                if len(pair) == 2:
                    pairs[pair[0], pair[1]] = pairs.get((pair[0], pair[1]), 0) + count
        scores = [
            pairs.get(pair, 0) / (symbols[pair[0]] * symbols[pair[1]]) for pair in pairwise(tokens)
        ]
        assert f"score {max(scores):.2g}" in cut.reason


def test_a_word_of_the_text_is_not_said_to_be_absent() -> None:
    """Pre-tokens that go over line ends are merged with what stands behind the word."""
    text = "low lower don't\nlow high\n"
    llama = Tokenizer.train([document(text)], vocab_size=300, recipe=preset("llama2"))
    assert told(llama, "don't", text).cuts[0].reason == (
        "▁do + n't never occur side by side in the training text after the last merge"
    )
