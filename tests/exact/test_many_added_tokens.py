"""A tokenizer.json with 400,000 added tokens: it loads, and they are found as they are there."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.cost import cost
from tokctl import Tokenizer, default_recipe, formats, preset
from tokctl.analysis.explain import summarize

hf = pytest.importorskip("tokenizers")

COUNT = 400_000


@pytest.fixture(scope="module")
def data() -> bytes:
    """Every second one special; neighbours are prefixes of one another."""
    ours = Tokenizer.train({"ab": 3}, recipe=preset("gpt2"), vocab_size=300)
    document: dict[str, Any] = json.loads(formats.serialize(ours.model))
    del document["model"]["tokctl"]
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    document["added_tokens"] += [
        {"id": ours.vocab_size + n, "content": f"<|{n}", "special": n % 2 == 0, **plain}
        for n in range(COUNT)
    ]
    return json.dumps(document).encode()


@pytest.mark.slow
def test_all_are_found(data: bytes) -> None:
    ours = Tokenizer(formats.parse(data, "many.json"))
    first = ours.vocab_size - COUNT
    theirs = hf.Tokenizer.from_str(data.decode())
    assert ours.vocab_size == theirs.get_vocab_size()
    numbers = [*range(0, COUNT, 7), COUNT - 1]
    text = "ab".join(f"<|{n}" for n in numbers)
    expected = theirs.encode(text)
    found = ours.encode(text, special="all")
    assert (found.ids, found.offsets) == (expected.ids, expected.offsets)
    assert [id_ for id_ in found.ids if id_ >= first] == [first + n for n in numbers]
    assert ours.decode(found.ids) == text == theirs.decode(found.ids, skip_special_tokens=False)
    # Those that are special are text, unless they are allowed.
    ordinary = ours.encode_ids(text)
    assert ours.decode(ordinary) == text
    kept = {id_ - first for id_ in ordinary if id_ >= first}
    assert kept >= {n for n in numbers if n % 2}
    assert not any(n % 2 == 0 for n in kept)
    for text, number in (("<|1234567", 123_456), ("<|39999", 39_999), ("<|400000", 40_000)):
        assert ours.encode_ids(text, special="all")[0] == first + number
        assert theirs.encode(text).ids[0] == first + number


def test_what_is_asked_of_each_token_does_not_grow_with_the_special_ones() -> None:
    """Kinds of tokens, and what decoders are written as, took a look at all of them each time."""
    tokens = tuple(f"<|{n}|>" for n in range(12_000))
    recipe = replace(preset("t5"), special_tokens=("<pad>", "</s>", "<unk>", *tokens))
    pieces = Tokenizer.train({"low": 3, "lower": 2}, recipe=recipe, vocab_size=12_020)
    recipe = replace(default_recipe("word"), special_tokens=("[UNK]", *tokens))
    counts = {f"word{n}": 1 for n in range(3000)}
    words = Tokenizer.train(counts, recipe=recipe, vocab_size=16_000)

    def asked() -> None:
        summarize(words)
        summarize(pieces)
        formats.losses(pieces.model, "sentencepiece")

    assert cost(asked, 100) <= 100
