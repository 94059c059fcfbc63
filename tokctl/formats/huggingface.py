"""A recipe in the terms of Hugging Face's `tokenizer.json`, where it can express it."""

from __future__ import annotations

from functools import partial
from typing import Any

from tokctl.pretokenizers import PATTERNS, split
from tokctl.recipe import Recipe

#: Larger than any word; the format knows no "no limit".
_NO_LIMIT = 2**53 - 1


def obstacle(recipe: Recipe) -> str | None:
    """Why the format can't express the recipe: what would give other ids there. None where
    it can."""
    kind, mark = recipe.marker
    if recipe.units == "characters" and recipe.unk_token is None:
        return "without an unknown token it drops characters that have no token, in silence"
    if kind in ("start", "end"):
        return f"it has no word marker that is a symbol of its own ({mark})"
    if recipe.algorithm == "wordpiece":
        if recipe.segmentation != "longest-match":
            return "its WordPiece does not replay merges"
        if recipe.unknown != "word":
            return "its WordPiece knows no unknown characters, only unknown words"
        if token := next(filter(partial(_matches_text, recipe), recipe.special_tokens), None):
            return f"its WordPiece would find the special token {token} in ordinary text"
    elif recipe.segmentation != "merges":
        return "its BPE merges by rank only"
    if recipe.is_regex and not _pattern_is_portable(recipe.pre_tokenizer):
        return "its regular expressions may read the pattern differently"
    return None


def _matches_text(recipe: Recipe, token: str) -> bool:
    """May the text of a special token stand inside one pre-token? Their longest match looks
    it up in the vocabulary like any other word."""
    text = token.removeprefix(recipe.marker.text).encode()
    return recipe.is_regex or len(split(recipe.pre_tokenizer, text)) == 1


def frame(recipe: Recipe) -> dict[str, Any]:
    """The document for a recipe that the format can express, without vocabulary and merges."""
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
        "model": _model(recipe),
    }


def _model(recipe: Recipe) -> dict[str, Any]:
    if recipe.algorithm == "wordpiece":
        return {
            "type": "WordPiece",
            "unk_token": recipe.unk_token,
            "continuing_subword_prefix": recipe.marker.text,
            "max_input_chars_per_word": recipe.max_input_chars or _NO_LIMIT,
        }
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": recipe.unk_token,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": recipe.marker.text or None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
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
_PORTABLE = r"""
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
    """


def _pattern_is_portable(name: str) -> bool:
    import regex

    pattern = name.removeprefix("regex:")
    if regex.compile(_PORTABLE, regex.VERBOSE).fullmatch(pattern) is None:
        return False
    # Behind an empty match the two engines go on differently.
    return _least_width(regex.findall(_PIECES, pattern, regex.VERBOSE)) > 0


_PIECES = (
    r"\\[pP]\{\w+\} | \\. | \[(?:\\.|[^\]\\])+\] | \(\?[:=!] | \{\d+[^}]*\}[?+]? | [*+?][?+]? | ."
)


def _least_width(pieces: list[str]) -> int:
    """Characters that the shortest match of a portable pattern has."""
    # A frame for each open group: its kind, its finished alternatives, and the one under
    # way in two parts: what a quantifier can't reach any more, and the last item.
    frames: list[tuple[str, list[int], list[int]]] = [("", [], [0, 0])]
    for piece in [*pieces, ")"]:
        kind, done, now = frames[-1]
        if piece[0] == "(":
            frames.append((piece, [], [0, 0]))
        elif piece == "|":
            done.append(sum(now))
            now[:] = [0, 0]
        elif piece == ")":
            width = min([*done, sum(now)])
            frames.pop()
            if not frames:
                return width
            outer = frames[-1][2]
            outer[:] = [sum(outer), 0 if kind in ("(?=", "(?!") else width]
        elif piece[0] in "*?":
            now[1] = 0
        elif piece[0] == "{":
            now[1] *= int(piece[1:].split(",")[0].rstrip("}?+"))
        elif piece[0] != "+":
            now[:] = [sum(now), 1]
    return 0
