"""GGUF, the files of llama.cpp, read only: the vocabulary in their metadata.

What a vocabulary means is what llama.cpp does with it (`src/llama-vocab.cpp`), also where that
is not what the library does that the model came from: `special="none"` here is its
`parse_special = false`, `special="all"` is `true`.
"""

from __future__ import annotations

from typing import Any

from tokctl.errors import TokctlError
from tokctl.formats.contract import Source, damaged
from tokctl.formats.gguf import bert, gpt2, llama, metadata, t5
from tokctl.formats.gguf.vocabulary import vocabulary
from tokctl.model import FilledRecipe, Origin

#: Models that tokctl reads, by what `tokenizer.ggml.model` calls them.
_MODELS = {"llama": llama.read, "gpt2": gpt2.read, "bert": bert.read, "t5": t5.read}
_ABOUT = {
    "no_vocab": "the file holds none",
    "none": "the file holds none",
    "rwkv": "RWKV's matches the longest token of a trie of bytes",
    "plamo2": "PLaMo 2's chooses by scores of suffixes",
    "gemma4": "it keeps runs of line feeds whole",
    "hybriddna": "it cuts DNA into stretches of fixed length",
    "whitespace": "it looks whole words up, and merges the others",
}
_TEMPLATE = "tokenizer.chat_template"
_TEXTS = {
    *("general.name", "general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre"),
    _TEMPLATE,
}
_FLAGS = {
    f"tokenizer.ggml.{name}"
    for name in (
        *("add_bos_token", "add_eos_token", "add_sep_token", "add_space_prefix"),
        *("remove_extra_whitespaces", "normalizer.lowercase", "normalizer.strip_accents"),
    )
}
_WANTED = frozenset(
    {
        *_TEXTS,
        *_FLAGS,
        *(
            f"tokenizer.ggml.{name}"
            for name in ("tokens", "token_type", "scores", "merges", "precompiled_charsmap")
        ),
        *(
            f"tokenizer.ggml.{name}_token_id"
            for name in (
                *("bos", "eos", "eot", "eom", "unknown", "seperator", "fim_pre", "fim_suf"),
                *("fim_mid", "fim_pad", "fim_rep", "fim_sep", "prefix", "suffix", "middle"),
            )
        ),
    }
)


def is_one(source: Source) -> bool:
    """Does it begin with GGUF?"""
    return source.head.startswith(metadata.MAGIC)


def read(source: Source) -> FilledRecipe:
    """The model of a file; TokctlError that names it where it is not whole."""
    name = source.name
    try:
        keys = metadata.read(source, _WANTED)
        _check(keys)
        model = _model(keys, source.hints.pattern)
    except ValueError as error:
        raise damaged(name, str(error)) from None
    except TokctlError as error:
        raise TokctlError(f"tokctl can't use {name}: {error.message}", error.hint) from None
    return model


def _check(keys: dict[str, Any]) -> None:
    """ValueError where a value is of a wrong type."""
    for key, value in keys.items():
        kind = str if key in _TEXTS else bool if key in _FLAGS else None
        if kind is not None and type(value) is not kind:
            raise ValueError(f"the value of {key!r} is {value!r:.40}")
    if "tokenizer.ggml.model" not in keys:
        raise ValueError("it holds no vocabulary")


def _model(keys: dict[str, Any], pattern: str | None) -> FilledRecipe:
    kind = keys["tokenizer.ggml.model"]
    if kind not in _MODELS:
        raise TokctlError(
            f"its tokenizer is {kind!r:.80}: {_ABOUT.get(kind, 'tokctl does not know it')}",
            f"tokctl reads {', '.join(_MODELS)}",
        )
    found = vocabulary(keys)
    recipe, parts = _MODELS[kind](found, pattern)
    title, pre = keys.get("general.name", ""), keys.get("tokenizer.ggml.pre", "")
    origin = f"{title} ({pre})" if title and pre else title or pre
    return FilledRecipe(
        recipe,
        **parts,
        origin=Origin("gguf", origin),
        companions={"chat_template.jinja": keys[_TEMPLATE]} if _TEMPLATE in keys else {},
    )
