"""A recipe in the terms of Hugging Face's `tokenizer.json`, where it can express it."""

from __future__ import annotations

from typing import Any

import regex

from tokctl.pretokenizers import PATTERNS
from tokctl.recipe import Recipe

#: Larger than any word; the format knows no "no limit".
_NO_LIMIT = 2**53 - 1


def document(
    recipe: Recipe, spelled: list[str], pairs: list[tuple[str, str]]
) -> dict[str, Any] | None:
    """The document without tokctl's own key, or None where ids would differ.

    `spelled` are the tokens by id, as the format writes them; `pairs` the merges.
    """
    model = _model(recipe, spelled, pairs)
    if model is None or not _pattern_is_portable(recipe):
        return None
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": id_,
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for id_, token in enumerate(recipe.special_tokens)
        ],
        "normalizer": _normalizer(recipe),
        "pre_tokenizer": _pre_tokenizer(recipe),
        "post_processor": None,
        "decoder": _decoder(recipe),
        "model": model,
    }


def _model(
    recipe: Recipe, spelled: list[str], pairs: list[tuple[str, str]]
) -> dict[str, Any] | None:
    vocabulary = {token: id_ for id_, token in enumerate(spelled)}
    if recipe.units == "characters" and recipe.unk_token is None:
        # There a character without a token is dropped or breaks the encoding; here it
        # is an error that names it.
        return None
    if recipe.algorithm == "wordpiece":
        if recipe.segmentation != "longest-match" or recipe.unknown != "word":
            return None
        return {
            "type": "WordPiece",
            "unk_token": recipe.unk_token,
            "continuing_subword_prefix": recipe.marker.text,
            "max_input_chars_per_word": recipe.max_input_chars or _NO_LIMIT,
            "vocab": vocabulary,
        }
    if recipe.marker.kind not in ("none", "end-fused") or recipe.segmentation != "merges":
        return None
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": recipe.unk_token,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": recipe.marker.text or None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": vocabulary,
        "merges": pairs,
    }


def _normalizer(recipe: Recipe) -> dict[str, Any] | None:
    if not recipe.normalizers:
        return None
    # delete-newlines is the one there is.
    return {"type": "Replace", "pattern": {"Regex": "[\\r\\n]"}, "content": ""}


def _split(pattern: str, behavior: str, invert: bool = False) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": invert,
    }


def _pre_tokenizer(recipe: Recipe) -> dict[str, Any] | None:
    name = recipe.pre_tokenizer
    if recipe.units == "bytes":
        byte_level = {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": name == "gpt2",
        }
        if recipe.is_regex:
            split = _split(name.removeprefix("regex:"), "Isolated")
            return {"type": "Sequence", "pretokenizers": [split, byte_level]}
        return byte_level
    if name == "none":
        return None
    if name == "whitespace":
        return {"type": "WhitespaceSplit"}
    if name == "gpt2-words" or name == "bert":
        # Not `BertPreTokenizer`: its punctuation is that of Unicode 8, ours is today's.
        return _split(PATTERNS[name], "Removed", invert=True)
    pattern = name.removeprefix("regex:") if recipe.is_regex else PATTERNS[name]
    return _split(pattern, "Isolated")


def _decoder(recipe: Recipe) -> dict[str, Any]:
    if recipe.units == "bytes":
        return {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": True,
        }
    kind, text = recipe.marker
    if kind == "continuation":
        return {"type": "WordPiece", "prefix": text, "cleanup": False}
    if kind == "end-fused":
        return {"type": "BPEDecoder", "suffix": text}
    return {"type": "Fuse"}


# Constructs that mean the same in the `regex` package and in Oniguruma, which Hugging
# Face uses. Left out, because they differ: ^ $ \w \b (?i) (?m) (?s), nested and combined
# classes, a possessive interval, back references and named groups.
_PORTABLE = regex.compile(
    r"""
    (?: \\[pP]\{(?:L|Lu|Ll|Lt|Lm|Lo|M|Mn|Mc|N|Nd|Nl|No|P|S|Z|Zs)\}
      | \\[sSdnrt]
      | \\[^A-Za-z0-9]
      | \[\^? (?: \\[pP]\{(?:L|Lu|Ll|Lt|Lm|Lo|M|Mn|Mc|N|Nd|Nl|No|P|S|Z|Zs)\}
              | \\[sSdnrt] | \\[^A-Za-z0-9]
              | (?!&&|--|\|\||~~) [^\]\[\\^]
              )+ \]
      | \( (?: \?[:=!] | (?!\?) )
      | \) | \|
      | [^\\\[\](){}*+?^$|]
      | [*+?] [+?]?
      | \{\d+(?:,\d*)?\} \??+ (?!\+)
    )*+
    """,
    regex.VERBOSE,
)


def _pattern_is_portable(recipe: Recipe) -> bool:
    if not recipe.is_regex:
        return True
    return _PORTABLE.fullmatch(recipe.pre_tokenizer.removeprefix("regex:")) is not None
