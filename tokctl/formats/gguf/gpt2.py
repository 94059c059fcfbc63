"""Byte-level BPE as llama.cpp does it (`llm_tokenizer_bpe`): GPT-2's, by merges."""

from __future__ import annotations

from typing import Any

import regex

from tokctl.errors import TokctlError
from tokctl.formats.gguf import ends, pre_tokenizers
from tokctl.formats.gguf.vocabulary import Vocabulary, added
from tokctl.formats.huggingface.reading import merge_ids, merges_from, tokens_of
from tokctl.model import Recipe, byte_level

#: What may be one pre-token: no pattern puts more side by side.
_ONE_WORD = regex.compile(r"\P{L}?\p{L}+|[^\p{L}\p{N}]+|\p{N}+")


def read(found: Vocabulary, pattern: str | None) -> tuple[Recipe, dict[str, Any]]:
    """The recipe, and what else the model has."""
    splitting = pre_tokenizers.named(found.keys.get("tokenizer.ggml.pre", ""), pattern)
    pairs = _pairs(found.keys.get("tokenizer.ggml.merges"))
    if missing := byte_level.BYTES.keys() - found.ids.keys():
        raise TokctlError(
            f"its vocabulary has no token for {len(missing)} of the 256 bytes, {min(missing)!r} "
            "among them",
            "llama.cpp drops such bytes in silence",
        )
    lefts, rights, made = _merges(found, pairs)
    tokens = added(found, made)
    _check_apart(found, [token.id for token in tokens if not token.ordinary], splitting.whole_words)
    default = 11 if splitting.has_default_ends else None
    around = ends.ids(found, begins=splitting.begins, ends=False, begin=default, end=11)
    recipe = Recipe(
        name="gguf",
        algorithm="bpe",
        pre_tokenizers=splitting.parts,
        units="bytes",
        alphabet="bytes",
        whole_words=splitting.whole_words,
        post_processors=ends.template(found, tokens, *around),
        special_tokens=tuple(token.text for token in tokens if token.special),
    )
    nothing = [0] * len(pairs)
    parts = {
        "tokens": tokens_of(recipe, found.texts, tokens),
        "merges": merges_from([lefts, rights, made, nothing, nothing, nothing]),
        "added_tokens": tuple(tokens),
    }
    return recipe, parts


def _pairs(merges: Any) -> list[list[str]]:
    if not isinstance(merges, list) or (merges and not isinstance(merges[0], str)):
        raise ValueError("it holds no list of merges")
    # Of a pair that is there twice, the first counts.
    pairs = [merge.split(" ") for merge in dict.fromkeys(merges)]
    for step, pair in enumerate(pairs, 1):
        if len(pair) != 2 or not all(pair):
            raise ValueError(f"merge {step} is {' '.join(pair)!r:.80}, which is no pair")
    return pairs


def _merges(found: Vocabulary, pairs: list[list[str]]) -> tuple[list[int], list[int], list[int]]:
    plain = Recipe(name="gguf", algorithm="bpe")
    return merge_ids(plain, found.ids, pairs)


def _check_apart(found: Vocabulary, apart: list[int], whole_words: bool) -> None:
    """TokctlError where ordinary text is one of these tokens there: by itself, as a byte, or as a
    pre-token that is looked up."""
    for id_ in apart:
        text = found.texts[id_]
        looked_up = whole_words and text.isascii() and _ONE_WORD.fullmatch(text)
        if text in byte_level.BYTES or (looked_up and id_ in found.special):
            raise TokctlError(
                f"its control token {text!r:.80} is found in ordinary text, too, as llama.cpp "
                "looks words up"
            )
