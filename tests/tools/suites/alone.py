"""A part of a pipeline, or a model, in a tokenizer that has nothing else.

Pre-tokenizers and decoders stand beside a vocabulary of what is expected of them, so that anything
else is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.tools.suites.record import Untranslatable
from tokctl import TokctlError, Tokenizer, formats
from tokctl.model.byte_level import BYTES

Json = dict[str, Any]


def parsed(data: str) -> Tokenizer:
    """The tokenizer of a document. Untranslatable where tokctl refuses it."""
    try:
        return Tokenizer(formats.parse(data.encode(), "tokenizer.json"))
    except TokctlError as error:
        raise Untranslatable(f"not read: {error.message}") from error


def alone(model: Json, **parts: Any) -> Tokenizer:
    document: Json = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": model,
    }
    return parsed(json.dumps(document | parts))


def ids_of(tokens: Iterable[str]) -> dict[str, int]:
    return {token: id_ for id_, token in enumerate(dict.fromkeys(tokens))}


def word_level(tokens: Iterable[str]) -> Json:
    """These tokens; the unknown one is the last, and called as none of them is."""
    vocabulary = ids_of(tokens)
    unknown = "[UNK]"
    while unknown in vocabulary:
        unknown += "]"
    vocabulary[unknown] = len(vocabulary)
    return {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown}


def whole_words(tokens: Iterable[str]) -> Json:
    """Byte-level BPE that finds whole words."""
    words = ids_of([*BYTES, *tokens])
    return {"type": "BPE", "ignore_merges": True, "vocab": words, "merges": []}


def decoder_alone(decoder: Json, tokens: list[str]) -> Tokenizer:
    """For these tokens, which all have ids."""
    said = json.dumps(decoder)
    if "ByteFallback" in said:
        model: Json = {"type": "BPE", "vocab": ids_of(tokens), "merges": [], "byte_fallback": True}
    else:
        model = whole_words(tokens) if "ByteLevel" in said else word_level(tokens)
    before = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return alone(model, decoder=decoder, pre_tokenizer=before if "ByteLevel" in said else None)
