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
from tokctl.model import Marker
from tokctl.model.patterns import split

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
    return Tokenizer.train(words, recipe=recipe, vocab_size=vocab_size)


def spread(words: dict[str, int]) -> str:
    return " ".join(" ".join([word] * count) for word, count in words.items())


def scores(tokenizer: Tokenizer, text: str) -> dict[str, Fraction]:
    """Every pair's score before the first merge, from the state that the tokenizer prints."""
    pairs: dict[tuple[str, str], int] = {}
    symbols: dict[str, int] = {}
    for word, times in tokenizer.corpus_state(0, text).items():
        for symbol in word:
            symbols[symbol] = symbols.get(symbol, 0) + times
        for pair in pairwise(word):
            pairs[pair] = pairs.get(pair, 0) + times
    return {
        f"{left} {right}": Fraction(times, symbols[left] * symbols[right])
        for (left, right), times in pairs.items()
    }


def test_first_notebook_toy(documents: dict[str, Any]) -> None:
    told = documents["notebook_bpe_toy"]
    recipe = replace(BPE, marker=Marker("end", told["end_marker"]))
    tokenizer = train_on_words(told["document"], recipe, told["vocab_size"])
    assert merges(tokenizer) == told["merges"]
    training = tokenizer.model.training
    assert training is not None and training.alphabet_size == told["alphabet_size"]
    assert tokenizer.vocab_size == told["vocab_size"]
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
    assert scores(tokenizer, told["document"]) == {
        pair: Fraction(score).limit_denominator(10_000)
        for pair, score in told["initial_scores"].items()
    }
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
    assert tokenizer.vocab_size == figures["vocab_size"]
    for sentence, tokens in zip(told["sentences"], figures["tokens"], strict=True):
        assert tokenizer.encode(sentence).tokens == tokens


def test_guide_bpe(documents: dict[str, Any]) -> None:
    told = documents["guide_cats"]
    figures = told["bpe"]
    tokenizer = Tokenizer.train(told["words"], recipe=GUIDE_BPE, vocab_size=figures["vocab_size"])
    assert merges(tokenizer) == figures["merges"]
    assert state(tokenizer, spread(told["words"])) == figures["final_state"]
    for word, tokens in figures["encode"].items():
        assert tokenizer.encode(word).tokens == tokens
    assert tokenizer.vocab_size == figures["vocab_size"]
    assert "k" not in tokenizer.vocabulary


def test_guide_wordpiece(documents: dict[str, Any]) -> None:
    told = documents["guide_cats"]
    figures = told["wordpiece"]
    tokenizer = Tokenizer.train(
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
    tokenizer = Tokenizer.train(told["words"], recipe=recipe, vocab_size=figures["vocab_size"] + 1)
    assert tokenizer.tokens[1:8] == figures["alphabet"]
    assert merges(tokenizer) == figures["merges"]
    assert [merge.count for merge in tokenizer.merges] == figures["counts_at_merge"]
    for word, tokens in figures["encode"].items():
        assert tokenizer.encode(word).tokens == tokens


def test_slides_wordpiece(documents: dict[str, Any]) -> None:
    told = documents["slides_hug"]
    figures = told["wordpiece"]
    tokenizer = Tokenizer.train(
        told["words"], recipe=GUIDE_WORDPIECE, vocab_size=len(figures["alphabet"]) + 3
    )
    assert tokenizer.tokens[:7] == figures["alphabet"]
    assert merges(tokenizer)[:3] == figures["merges"]
    first = tokenizer.merges[0]
    score = Fraction(first.count, first.left_count * first.right_count)
    assert str(score) == figures["first_scores"]["##g ##s"]
    found = scores(tokenizer, spread(told["words"]))
    assert {pair: str(found[pair]) for pair in figures["first_scores"]} == figures["first_scores"]
    # The slides take (hu, ##g) third; the note has what the formula gives.
    third = tokenizer.merges[2]
    assert Fraction(third.count, third.left_count * third.right_count) == Fraction(1, 15)


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


def pipeline(**parts: Any) -> Tokenizer:
    """A tokenizer of whole pre-tokens that has seen none of the words: every pre-token is an
    unknown token, with its place."""
    recipe = replace(default_recipe("word"), **{"pre_tokenizers": "none", "decoders": (), **parts})
    return Tokenizer.train({"x": 1}, recipe=recipe, vocab_size=2)


def test_pre_tokenizers_in_a_pipeline(documents: dict[str, Any]) -> None:
    """By the offsets of an encoding: what each name of the documents splits off, and where."""
    told = documents["pretokenize"]
    text = told["text"]
    encoding = pipeline(pre_tokenizers="bert").encode(text)
    assert [[text[start:end], [start, end]] for start, end in encoding.offsets] == told["bert"]
    for name, asked, pieces in (
        ("whitespace", text, told["whitespace"]),
        ("whitespace", told["words_text"], told["whitespace_words"]),
        ("bert", told["words_text"], told["punctuation_words"]),
        ("gpt2", text, [piece.replace("Ġ", " ") for piece in told["gpt2"]]),
        ("gpt2-words", told["gpt2-words"]["text"], told["gpt2-words"]["pieces"]),
    ):
        encoding = pipeline(pre_tokenizers=name).encode(asked)
        assert [asked[start:end] for start, end in encoding.offsets] == pieces, name
        assert encoding.surfaces == pieces
        assert encoding.word_ids == list(range(len(pieces)))


def test_metaspace(documents: dict[str, Any]) -> None:
    told = documents["pretokenize"]
    text = told["text"]
    tokenizer = pipeline(pre_tokenizers="metaspace")
    rewritten, ranges = tokenizer.pre_tokens(text)
    assert [rewritten[start:end].decode() for start, end in ranges] == told["metaspace"]
    # ▁ covers the space that it stands for, and the first one none.
    offsets = tokenizer.encode(text).offsets
    assert ["▁" + text[start:end].strip() for start, end in offsets] == told["metaspace"]
    assert offsets[0] == (0, 4) and offsets[1] == (4, 15) and offsets[-1][1] == len(text)


def test_normalizers(documents: dict[str, Any]) -> None:
    told = documents["normalize"]
    text = told["text"]
    for name in ("nfc", "lowercase", "bert", "collapse-spaces"):
        tokenizer = pipeline(normalizers=name)
        normalized, ranges = tokenizer.pre_tokens(text)
        assert normalized.decode() == told[name]
        assert ranges == [(0, len(normalized))]
        assert tokenizer.encode(text).offsets == [(0, len(text))]


#: By document, what no component of tokctl prints: where a fact was found, how it is worded,
#: the options of the training that it was made by; figures that the document got from another
#: edition of the text, or on another machine.
NOT_PRINTED = {
    "notebook_bpe_toy": {"source", "pretokenize"},
    "notebook_bpe_start_marker": {"source", "pretokenize", "start_marker"},
    "notebook_wordpiece_toy": {"source", "pretokenize", "vocab_size"},
    "treasure_island": {"source", "text", "pretokenize", "seconds_in_document"},
    "guide_cats": {"source"},
    "slides_hug": {"source"},
    "pretokenize": {"source"},
    "normalize": {"source"},
}
ASSERTED = {
    "notebook_bpe_toy": {
        "document", "end_marker", "vocab_size", "alphabet_size", "initial_pair_counts", "merges",
        "final_state", "encode", "decode_back",
    },
    "notebook_bpe_start_marker": {
        "document", "vocab_size", "merges_done", "final_vocab_size", "merges",
    },
    "notebook_wordpiece_toy": {
        "document", "continuation_marker", "alphabet_size", "final_vocab_size", "initial_scores",
        "merges", "final_state", "encode_by_merges",
    },
    "treasure_island": {"sentences", "bpe", "wordpiece"},
    "guide_cats": {"words", "bpe", "wordpiece"},
    "slides_hug": {"words", "bpe", "wordpiece"},
    "pretokenize": {
        "text", "whitespace", "bert", "gpt2", "metaspace", "gpt2-words", "whitespace_words",
        "punctuation_words", "words_text",
    },
    "normalize": {"text", "nfc", "lowercase", "bert", "collapse-spaces"},
}  # fmt: skip


def test_nothing_of_the_documents_is_forgotten(documents: dict[str, Any]) -> None:
    """A figure that is added to the file has to be asserted here, or named above."""
    assert documents.keys() == ASSERTED.keys()
    for name, values in documents.items():
        assert values.keys() == ASSERTED[name] | NOT_PRINTED[name]
