"""Pre-tokenizers as one pattern of `fancy-regex`, and such a pattern as pre-tokenizers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from tokctl.errors import TokctlError
from tokctl.formats.contract import InexpressibleError
from tokctl.formats.rust_patterns.grammar import parse
from tokctl.model.parts import Part
from tokctl.model.patterns import KNOWN_PATTERNS, PATTERNS, compile_pattern

#: A pattern is no longer than this.
_LONGEST = 1 << 16

#: Alternatives that are tried on every character there is: a second's worth.
_MOST_ONES = 64

#: The whole text is one pre-token.
EVERYTHING = r"[\s\S]+"

_IDEOGRAPHS = "\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff"
_STOPS = rf"\p{{N}}{_IDEOGRAPHS}"
_DEEPSEEK_V3_THIRD = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"""
    rf"(?:(?![\r\n\p{{L}}\p{{P}}\p{{S}}{_STOPS}])(?s:.))?(?:(?![{_IDEOGRAPHS}])[\p{{L}}\p{{M}}])+|"
    rf" ?(?:(?![{_IDEOGRAPHS}])[\p{{P}}\p{{S}}])+[\r\n]*|\s*[\r\n]+|\s+(?!(?![{_STOPS}])\S)|\s+"
)
#: DeepSeek-V3's three patterns as one: no match of the third reaches into what the first two
#: take, and what is left between matches is a pre-token.
DEEPSEEK_V3 = (
    rf"\p{{N}}{{1,3}}|[{_IDEOGRAPHS}]+|{_DEEPSEEK_V3_THIRD}|"
    rf"(?:(?!{_DEEPSEEK_V3_THIRD}|[{_STOPS}])(?s:.))+"
)

#: Kinds without options, as the pattern that is published for them, or says the same.
_PATTERNS = {
    # As `tiktoken_ext` has it: it does what GPT-2's own does, faster.
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    **{kind: PATTERNS[kind] for kind in ("cl100k", "llama3", "qwen2", "o200k")},
    "deepseek-v3": DEEPSEEK_V3,
    "characters": r"(?s:.)",
}


def pattern_of(parts: Sequence[Part]) -> str:
    """The pattern whose matches are the pre-tokens of these pre-tokenizers.

    Raises:
        InexpressibleError: no pattern that both read alike does the same.
    """
    if not parts:
        return EVERYTHING
    if len(parts) > 1:
        raise InexpressibleError("several pre-tokenizers, one after the other")
    (part,) = parts
    if part.kind in _PATTERNS:
        return _PATTERNS[part.kind]
    if part.kind == "fixed" and part["length"] <= 1000:
        return rf"(?s:.{{1,{part['length']}}})"
    if part.kind == "digits":
        return r"\p{N}|\P{N}+" if part["individual"] else r"\p{N}+|\P{N}+"
    if part.kind == "split" and part["behaviour"] == "isolated":
        # Matches and what is between them are pre-tokens; so are they where it is inverted.
        if part["regex"]:
            return _with_gaps(part["pattern"])
        return _gaps(re.sub(r"[\\^$.|?*+()\[\]{}]", r"\\\g<0>", part["pattern"]))
    raise InexpressibleError(f"the pre-tokenizer {part}")


def _with_gaps(pattern: str) -> str:
    node = parse(pattern, rust=False)
    if node.least == 0:
        raise InexpressibleError("its pattern can match nothing")
    return node.rust if not _left_out(node.ones) else _gaps(node.rust)


def _gaps(pattern: str) -> str:
    """The pattern, or else what stands before its next match."""
    return f"{pattern}|(?:(?!{pattern})(?s:.))+"


def pre_tokenizers_of(pattern: str) -> str:
    """The pre-tokenizer, in its text form, that splits a text as `pattern` does.

    Raises:
        InexpressibleError: the pattern is none, is not read alike here, or leaves out a
            part of some text, which tiktoken then drops.
    """
    if len(pattern) > _LONGEST:
        raise InexpressibleError(f"its pattern is longer than {_LONGEST} characters")
    if pattern == EVERYTHING:
        return "none"
    if pattern in KNOWN_PATTERNS:
        return KNOWN_PATTERNS[pattern]
    for kind, known in _PATTERNS.items():
        if pattern == known:
            return kind
    # What `_gaps` made: a pattern, what it puts around it, and the pattern again.
    around = len(_gaps(""))
    half = pattern[: (len(pattern) - around) // 2]
    if half and pattern == _gaps(half):
        node = parse(half, rust=True)
        left_out = ""
    else:
        node = parse(pattern, rust=True)
        left_out = _left_out(node.ones)
    if node.least == 0:
        raise InexpressibleError("its pattern can match nothing")
    if left_out:
        raise InexpressibleError(
            f"as far as tokctl can tell, its pattern leaves out U+{ord(left_out):04X}, and "
            "tiktoken drops what a pattern leaves out"
        )
    try:
        compile_pattern(node.python)
    except TokctlError as error:
        raise InexpressibleError(error.message) from None
    return f"regex:{node.python}"


@lru_cache(maxsize=1)
def _every_character() -> str:
    return "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))


@lru_cache(maxsize=64)
def _left_out(ones: tuple[str, ...]) -> str:
    """A character that none of these patterns of one character matches; empty: there is none."""
    ones = tuple(dict.fromkeys(ones))
    if not ones:
        return "a"
    if len(ones) > _MOST_ONES:
        raise InexpressibleError("its pattern has too many alternatives")
    import regex

    try:
        found = regex.match(f"(?:{'|'.join(ones)})*+", _every_character())
    except (regex.error, RecursionError, OverflowError) as error:
        raise InexpressibleError(f"its pattern does not compile: {error}") from None
    return _every_character()[found.end() : found.end() + 1] if found else "a"
