"""What the five documents print, from the real trainers and encoders."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from tests.conftest import shared_file
from tokctl import Recipe, Tokenizer, default_recipe, preset
from tokctl.pretokenizers import split
from tokctl.recipe import Marker

BPE = replace(preset("notebook-bpe"), normalizers=(), pre_tokenizers="whitespace")
WORDPIECE = replace(preset("notebook-wordpiece"), normalizers=(), pre_tokenizers="whitespace")
#: The guide and the slides: plain characters, ties by first occurrence.
GUIDE_BPE = replace(BPE, marker=Marker(), tie_break="first-seen")
GUIDE_WORDPIECE = replace(WORDPIECE, tie_break="first-seen")


@pytest.fixture(scope="module")
def documents() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(shared_file("golden/documents.json").read_bytes())
    return data


def merges(tokenizer: Tokenizer) -> list[str]:
    tokens = tokenizer.tokens
    return [f"{tokens[merge.left]} {tokens[merge.right]}" for merge in tokenizer.merges]


def state(tokenizer: Tokenizer, text: str, step: int | None = None) -> dict[str, int]:
    step = len(tokenizer.merges) if step is None else step
    return {" ".join(word): n for word, n in tokenizer.corpus_state(step, text).items()}


def train_on_words(text: str, recipe: Recipe, vocab_size: int) -> Tokenizer:
    words: dict[str, int] = {}
    for word in text.split():
        words[word] = words.get(word, 0) + 1
    return Tokenizer.train_on_counts(words, recipe=recipe, vocab_size=vocab_size)


def spread(words: dict[str, int]) -> str:
    return " ".join(" ".join([word] * count) for word, count in words.items())


def test_first_notebook_toy(documents: dict[str, Any]) -> None:
    told = documents["notebook_bpe_toy"]
    recipe = replace(BPE, marker=Marker("end", told["end_marker"]))
    tokenizer = train_on_words(told["document"], recipe, told["vocab_size"])
    assert merges(tokenizer) == told["merges"]
    training = tokenizer.model.training
    assert training is not None and training.alphabet_size == told["alphabet_size"]
    # The order of the state is that of the notebook's dictionary.
    final = state(tokenizer, told["document"])
    assert list(final.items()) == list(told["final_state"].items())
    for text, tokens in told["encode"].items():
        assert tokenizer.encode(text).tokens == tokens
        assert tokenizer.decode_tokens(tokens) == (told["decode_back"] if " " in text else text)


def test_first_notebook_initial_pair_counts(documents: dict[str, Any]) -> None:
    told = documents["notebook_bpe_toy"]
    recipe = replace(BPE, marker=Marker("end", told["end_marker"]))
    tokenizer = train_on_words(told["document"], recipe, told["vocab_size"])
    counts: dict[str, int] = {}
    for word, times in tokenizer.corpus_state(0, told["document"]).items():
        for left, right in pairwise(word):
            counts[f"{left} {right}"] = counts.get(f"{left} {right}", 0) + times
    assert counts == told["initial_pair_counts"]
    first = tokenizer.merges[0]
    assert first.count == told["initial_pair_counts"][told["merges"][0]]


def test_first_notebook_start_marker(documents: dict[str, Any]) -> None:
    told = documents["notebook_bpe_start_marker"]
    tokenizer = train_on_words(told["document"], BPE, told["vocab_size"])
    assert merges(tokenizer) == told["merges"]
    assert len(tokenizer.merges) == told["merges_done"]
    assert tokenizer.vocab_size == told["final_vocab_size"]
    assert tokenizer.model.training is not None and tokenizer.model.training.exhausted


def test_second_notebook_toy(documents: dict[str, Any]) -> None:
    told = documents["notebook_wordpiece_toy"]
    recipe = replace(WORDPIECE, marker=Marker("continuation", told["continuation_marker"]))
    tokenizer = train_on_words(told["document"], recipe, told["vocab_size"])
    assert merges(tokenizer) == told["merges"]
    assert tokenizer.vocab_size == told["final_vocab_size"]
    training = tokenizer.model.training
    assert training is not None and training.alphabet_size == told["alphabet_size"]
    assert state(tokenizer, told["document"]) == told["final_state"]
    first = tokenizer.merges[0]
    score = Fraction(first.count, first.left_count * first.right_count)
    assert float(score) == told["initial_scores"][told["merges"][0]]
    for text, tokens in told["encode_by_merges"].items():
        assert tokenizer.encode(text).tokens == tokens


@pytest.mark.parametrize(
    ("name", "kind"), [("notebook-bpe", "bpe"), ("notebook-wordpiece", "wordpiece")]
)
def test_treasure_island(documents: dict[str, Any], name: str, kind: str) -> None:
    told = documents["treasure_island"]
    figures = told[kind]
    book = shared_file("corpora/treasure-island.txt")
    recipe = preset(name)
    tokenizer = Tokenizer.train([book], recipe=recipe, vocab_size=figures["vocab_size"])
    training = tokenizer.model.training
    assert training is not None
    assert training.alphabet_size == figures.get("alphabet_size", figures.get("alphabet_size_here"))
    done = figures.get("merges_done", figures.get("merges_done_here"))
    assert len(tokenizer.merges) == done and not training.exhausted
    for sentence, tokens in zip(told["sentences"], figures["tokens"], strict=True):
        assert tokenizer.encode(sentence).tokens == tokens


def test_guide_bpe(documents: dict[str, Any]) -> None:
    told = documents["guide_cats"]
    figures = told["bpe"]
    tokenizer = Tokenizer.train_on_counts(
        told["words"], recipe=GUIDE_BPE, vocab_size=figures["vocab_size"]
    )
    assert merges(tokenizer) == figures["merges"]
    assert state(tokenizer, spread(told["words"])) == figures["final_state"]
    for word, tokens in figures["encode"].items():
        assert tokenizer.encode(word).tokens == tokens
    assert "k" not in tokenizer.vocabulary


def test_guide_wordpiece(documents: dict[str, Any]) -> None:
    told = documents["guide_cats"]
    figures = told["wordpiece"]
    tokenizer = Tokenizer.train_on_counts(
        told["words"], recipe=GUIDE_WORDPIECE, vocab_size=figures["vocab_size"]
    )
    assert merges(tokenizer) == figures["merges"]
    training = tokenizer.model.training
    assert training is not None and training.alphabet_size == figures["alphabet_size"]
    assert state(tokenizer, spread(told["words"])) == figures["final_state"]


def test_slides_bpe(documents: dict[str, Any]) -> None:
    told = documents["slides_hug"]
    figures = told["bpe"]
    recipe = replace(default_recipe("bpe", characters=True), pre_tokenizers="whitespace")
    # The slides don't count [UNK] among the ten.
    tokenizer = Tokenizer.train_on_counts(
        told["words"], recipe=recipe, vocab_size=figures["vocab_size"] + 1
    )
    assert tokenizer.tokens[1:8] == figures["alphabet"]
    assert merges(tokenizer) == figures["merges"]
    assert [merge.count for merge in tokenizer.merges] == figures["counts_at_merge"]
    for word, tokens in figures["encode"].items():
        assert tokenizer.encode(word).tokens == tokens


def test_slides_wordpiece(documents: dict[str, Any]) -> None:
    told = documents["slides_hug"]
    figures = told["wordpiece"]
    tokenizer = Tokenizer.train_on_counts(
        told["words"], recipe=GUIDE_WORDPIECE, vocab_size=len(figures["alphabet"]) + 3
    )
    assert tokenizer.tokens[:7] == figures["alphabet"]
    assert merges(tokenizer)[:3] == figures["merges"]
    first = tokenizer.merges[0]
    score = Fraction(first.count, first.left_count * first.right_count)
    assert str(score) == figures["first_scores"]["##g ##s"]


def test_pre_tokenizers(documents: dict[str, Any]) -> None:
    told = documents["pretokenize"]

    def pieces(name: str, text: str) -> list[str]:
        return [text[a:b] for a, b in split(name, text.encode())]

    text = told["text"]
    assert pieces("whitespace", text) == told["whitespace"]
    spans = [[text[a:b], [a, b]] for a, b in split("bert", text.encode())]
    assert spans == told["bert"]
    assert [piece.replace(" ", "Ġ") for piece in pieces("gpt2", text)] == told["gpt2"]
    words = told["gpt2-words"]
    assert pieces("gpt2-words", words["text"]) == words["pieces"]
    assert pieces("whitespace", told["words_text"]) == told["whitespace_words"]
    assert pieces("bert", told["words_text"]) == told["punctuation_words"]
