"""OpenAI's cl100k, loaded here, against tiktoken: the same ids, and the text comes back."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.conftest import shared_file
from tests.exact import pipeline_peers
from tokctl import Tokenizer
from tokctl.model.patterns import KNOWN_PATTERNS

tiktoken = pytest.importorskip("tiktoken")


@pytest.fixture(scope="module")
def pair() -> tuple[Tokenizer, Any]:
    path = shared_file("vocab/cl100k_base.tiktoken")
    ours = Tokenizer.load(path)
    lines = [line.split() for line in path.read_bytes().splitlines()]
    special = {text: id_ for text, id_ in ours.special_ids.items() if "unused" not in text}
    (pattern,) = (text for text, kind in KNOWN_PATTERNS.items() if kind == "cl100k")
    theirs = tiktoken.Encoding(
        "cl100k_base",
        pat_str=pattern,
        mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in lines},
        special_tokens=special,
    )
    return ours, theirs


def test_ids_and_text(pair: tuple[Tokenizer, Any]) -> None:
    ours, theirs = pair
    counts = []
    for text in pipeline_peers.texts(seed=3):
        expected = theirs.encode_ordinary(text)
        counts.append(len(expected))
        assert ours.encode_ids(text) == expected, text[:300]
        assert ours.decode(expected) == text
    print(f"{len(counts):,} texts, {sum(counts):,} ids")


def test_special_tokens(pair: tuple[Tokenizer, Any]) -> None:
    ours, theirs = pair
    for text in ("<|endoftext|>", "a<|endoftext|> b<|fim_prefix|><|endoftext", "<|endofprompt|>\n"):
        expected = theirs.encode(text, allowed_special="all")
        assert ours.encode_ids(text, special="all") == expected
        one = theirs.encode(text, allowed_special={"<|endoftext|>"}, disallowed_special=())
        assert ours.encode_ids(text, special="<|endoftext|>") == one
        assert ours.encode_ids(text) == theirs.encode(text, disallowed_special=())
    assert theirs.n_vocab == ours.vocab_size


@pytest.mark.slow
def test_every_token(pair: tuple[Tokenizer, Any]) -> None:
    """Its bytes; and its text by itself, where it is no part of a character."""
    ours, theirs = pair
    tokens = ours.model.tokens[:100_256]
    assert [theirs.decode_single_token_bytes(id_) for id_ in range(len(tokens))] == tokens
    texts = [token.decode("utf-8", "replace") for token in tokens]
    whole = [text for text in texts if "\ufffd" not in text]
    assert len(whole) > 99_000
    assert ours.encode_ids(whole) == theirs.encode_ordinary_batch(whole, num_threads=1)
