"""Conversion between tiktoken's patterns and tokctl's pre-tokenizers.

tiktoken searches with Rust's `fancy-regex`, and drops the text between matches. tokctl searches
`regex:PATTERN` with Python's `regex`, and keeps the text between matches. So tokctl accepts a
pattern only if it can be translated and its matches cover every text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence as ListOf

from tokctl.core.errors import TokctlError
from tokctl.formats.contract import UnsupportedByFormat
from tokctl.model.parts import Part
from tokctl.model.patterns import (
    KNOWN_PATTERNS,
    LONGEST_GROUP,
    PATTERNS,
    compile_pattern,
    digit_groups,
    group_length,
)
from tokctl.model.regular_expressions import (
    PYTHON,
    RUST,
    Alternatives,
    Atomic,
    Chars,
    CharSet,
    Dialect,
    LookAround,
    Node,
    Repeat,
    Sequence,
    UnsupportedRegexError,
    children,
    complement,
    first_outside,
    intersection,
    least_width,
    parse,
    translate,
    union,
    walk,
)

__all__ = ["pattern_of", "pre_tokenizers_of"]

#: The highest bound of a quantifier: a compiled pattern has one copy of its body per repetition.
_MOST_REPETITIONS = 1000


def _parse(pattern: str, dialect: Dialect) -> Node:
    """Return the syntax tree of a pattern.

    Raises:
        UnsupportedByFormat: Rust and Python read the pattern differently.
    """
    try:
        node = parse(pattern, dialect)
    except UnsupportedRegexError as error:
        raise UnsupportedByFormat(_read_differently(str(error))) from None
    for part in walk(node):
        if isinstance(part, Repeat) and max(part.least, part.most or 0) > _MOST_REPETITIONS:
            raise UnsupportedByFormat(_read_differently(f"a quantifier over {_MOST_REPETITIONS:,}"))
        if isinstance(part, Repeat) and least_width(part.body) == 0 and not _is_optional_once(part):
            raise UnsupportedByFormat(_read_differently("a repetition of what can match nothing"))
        if isinstance(part, LookAround) and part.is_behind and not _is_single(part.body):
            raise UnsupportedByFormat(_read_differently("a look-behind at more than one character"))
    return node


def _read_differently(what: str) -> str:
    return f"its pattern is not read alike by Python and Rust: {what}"


def _is_optional_once(node: Repeat) -> bool:
    return node.most is not None and node.most <= 1 and _is_optional(node.body)


def _is_single(node: Node) -> bool:
    """Return whether a node matches one character, whatever its neighbours are."""
    if isinstance(node, Alternatives):
        return all(map(_is_single, node.items))
    return isinstance(node, Chars)


def _is_optional(node: Node) -> bool:
    """Return whether a node can match the empty text at every position."""
    match node:
        case Sequence(items):
            return all(map(_is_optional, items))
        case Alternatives(items):
            return any(map(_is_optional, items))
        case Repeat(body, least):
            return least == 0 or _is_optional(body)
        case Atomic(Repeat(body) as inner):
            return _is_single(body) and _is_optional(inner)
    return False


def _matched_alone(node: Node) -> list[CharSet]:
    """Return sets of characters; the node matches at each position of one of these characters."""
    match node:
        case Chars(chars):
            return [chars]
        case Alternatives(items):
            return [chars for item in items for chars in _matched_alone(item)]
        case Repeat(body, least, most) if least <= 1 and most != 0:
            return _matched_alone(body)
        case Atomic(Repeat(body) as inner) if _is_single(body):
            return _matched_alone(inner)
        case Sequence(items):
            return _matched_alone_in_sequence(items)
    return []


def _matched_alone_in_sequence(items: tuple[Node, ...]) -> list[CharSet]:
    """Return the character sets of the only item that can't be empty.

    Characters that an earlier item takes and never gives back are not in the sets.
    """
    required = [index for index, item in enumerate(items) if not _is_optional(item)]
    if len(required) > 1:
        return []
    found: list[CharSet] = []
    for index in required or range(len(items)):
        possessed = [chars for item in items[:index] for chars in _possessed(item)]
        available = complement(union(*possessed))
        found += [intersection(chars, available) for chars in _matched_alone(items[index])]
    return found


def _possessed(node: Node) -> list[CharSet]:
    """Return the characters that possessive quantifiers take wherever they can."""
    inner = [chars for child in children(node) for chars in _possessed(child)]
    return inner + (_matched_alone(node.body) if isinstance(node, Atomic) else [])


#: The length of the longest pattern, in characters.
_LONGEST_PATTERN = 1 << 16

#: The pattern whose only match is the whole text.
_EVERYTHING = r"[\s\S]+"

_IDEOGRAPHS = "\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff"
_STOPS = rf"\p{{N}}{_IDEOGRAPHS}"
_DEEPSEEK_V3_THIRD = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"""
    rf"(?:(?![\r\n\p{{L}}\p{{P}}\p{{S}}{_STOPS}])(?s:.))?(?:(?![{_IDEOGRAPHS}])[\p{{L}}\p{{M}}])+|"
    rf" ?(?:(?![{_IDEOGRAPHS}])[\p{{P}}\p{{S}}])+[\r\n]*|\s*[\r\n]+|\s+(?!(?![{_STOPS}])\S)|\s+"
)
#: DeepSeek-V3's three patterns in one. No match of the third pattern reaches into matches of the
#: first two, and the text between matches is a pre-token.
_DEEPSEEK_V3 = (
    rf"\p{{N}}{{1,3}}|[{_IDEOGRAPHS}]+|{_DEEPSEEK_V3_THIRD}|"
    rf"(?:(?!{_DEEPSEEK_V3_THIRD}|[{_STOPS}])(?s:.))+"
)

#: Matches the text between the groups of digits of `digit-groups`.
_OR_NO_NUMBERS = r"|\P{N}+"

#: Pre-tokenizers without options, with the published pattern or an equivalent one.
_PATTERNS = {
    # This is the pattern in `tiktoken_ext`: equivalent to GPT-2's own, and faster.
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    **{kind: PATTERNS[kind] for kind in ("cl100k", "llama3", "qwen2", "o200k")},
    "deepseek-v3": _DEEPSEEK_V3,
    "characters": r"(?s:.)",
}
_KINDS = KNOWN_PATTERNS | {pattern: kind for kind, pattern in _PATTERNS.items()}


def pattern_of(parts: ListOf[Part]) -> str:
    """Return the pattern whose matches are the pre-tokens of the given pre-tokenizers.

    Raises:
        UnsupportedByFormat: no pattern that Rust and Python read alike splits texts in this way.
    """
    if not parts:
        return _EVERYTHING
    if len(parts) > 1:
        raise UnsupportedByFormat("several pre-tokenizers, one after the other")
    (part,) = parts
    if part.kind in _PATTERNS:
        return _PATTERNS[part.kind]
    if part.kind == "fixed" and part["length"] <= LONGEST_GROUP:
        return rf"(?s:.{{1,{part['length']}}})"
    if part.kind == "digits":
        return r"\p{N}|\P{N}+" if part["individual"] else r"\p{N}+|\P{N}+"
    if part.kind == "digit-groups" and part["length"] <= LONGEST_GROUP:
        return digit_groups(part["length"]) + _OR_NO_NUMBERS
    if part.kind == "split" and part["behaviour"] == "isolated":
        # Matches and the text between them are all pre-tokens, so inverting changes nothing.
        if part["regex"]:
            return _covering_pattern(part["pattern"])
        return _or_gap(re.sub(r"[\\^$.|?*+()\[\]{}]", r"\\\g<0>", part["pattern"]))
    raise UnsupportedByFormat(f"the pre-tokenizer {part}")


def _covering_pattern(pattern: str) -> str:
    node = _parse(pattern, PYTHON)
    if least_width(node) == 0:
        raise UnsupportedByFormat("its pattern can match nothing")
    translated = _translate(pattern, PYTHON, RUST)
    return translated if not _uncovered(node) else _or_gap(translated)


def _translate(pattern: str, source: Dialect, target: Dialect) -> str:
    try:
        return translate(pattern, source, target)
    except UnsupportedRegexError as error:
        raise UnsupportedByFormat(_read_differently(str(error))) from None


def _or_gap(pattern: str) -> str:
    """Return a pattern that matches `pattern`, or else all text before its next match."""
    return f"{pattern}|(?:(?!{pattern})(?s:.))+"


def pre_tokenizers_of(pattern: str) -> str:
    """Return the pre-tokenizer, in text form, that splits texts as `pattern` does in tiktoken.

    Raises:
        UnsupportedByFormat: the pattern is not valid, means something else in Python, or leaves out
            a part of some text, which tiktoken then drops.

    Example:
        >>> pre_tokenizers_of("(?s:.)"), pre_tokenizers_of("[a-z]|[^a-z]")
        ('characters', 'regex:[a-z]|[^a-z]')
    """
    if len(pattern) > _LONGEST_PATTERN:
        raise UnsupportedByFormat(f"its pattern is longer than {_LONGEST_PATTERN} characters")
    if pattern == _EVERYTHING:
        return "none"
    if pattern in _KINDS:
        return _KINDS[pattern]
    if pattern.endswith(_OR_NO_NUMBERS) and (
        length := group_length(pattern[: -len(_OR_NO_NUMBERS)])
    ):
        return f"digit-groups:{length}"
    # `_or_gap` returns a pattern, a fixed text around it, and the pattern again.
    fixed_length = len(_or_gap(""))
    body = pattern[: (len(pattern) - fixed_length) // 2]
    uncovered = ""
    if body and pattern == _or_gap(body):
        pattern = body
        node = _parse(pattern, RUST)
    else:
        node = _parse(pattern, RUST)
        uncovered = _uncovered(node)
    if least_width(node) == 0:
        raise UnsupportedByFormat("its pattern can match nothing")
    if uncovered:
        raise UnsupportedByFormat(
            f"as far as tokctl can tell, its pattern leaves out U+{ord(uncovered):04X}, and "
            "tiktoken drops what a pattern leaves out"
        )
    translated = _translate(pattern, RUST, PYTHON)
    try:
        compile_pattern(translated)
    except TokctlError as error:
        raise UnsupportedByFormat(error.message) from None
    return f"regex:{translated}"


def _uncovered(node: Node) -> str:
    """Return a character that the node does not match by itself, or an empty text."""
    return first_outside(union(*_matched_alone(node)))
