"""The patterns that tiktoken, and what is built on it, split a text by.

tiktoken looks for the pattern with Rust's `fancy-regex`, and drops what stands between the
matches; tokctl looks for `regex:PATTERN` with Python's `regex`, and drops nothing. So a
pattern is taken over where both read it alike (`grammar`) and it leaves nothing out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tokctl.errors import TokctlError
from tokctl.formats.contract import InexpressibleError
from tokctl.model.parts import Part
from tokctl.model.patterns import (
    KNOWN_PATTERNS,
    LONGEST_GROUP,
    PATTERNS,
    compile_pattern,
    digit_groups,
    group_length,
)

__all__ = ["pattern_of", "pre_tokenizers_of"]

_CATEGORIES = (
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp "
    "C Cc Cf Co Cn"
)
_SCRIPTS = (
    "Arabic Armenian Bengali Cyrillic Devanagari Greek Han Hangul Hebrew Hiragana Katakana Latin "
    "Tamil Thai"
)
_PROPERTIES = frozenset(f"{_CATEGORIES} {_SCRIPTS}".split())
_PROPERTY = re.compile(r"\\[pP](?:\{(\w+)\}|([LMNPSZC]))")
_CODE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))")

_CONTROLS = "rntfv"
_SETS = "sSdDwW"

#: Groups in groups, at most.
_DEEPEST = 40
#: The greatest number of a quantifier: a pattern is compiled to as many copies.
_MOST_TIMES = 1000

_TIMES = re.compile(r"\{([0-9]{1,4})(,?)([0-9]{0,4})\}")
_GROUP = re.compile(r"\((?:\?(:|[is]:|=|!|<=|<!|>))?")
_NOT_LITERAL = "\\[](){}*+?|^$."


class Node(NamedTuple):
    """A part of a pattern.

    python, rust: how each writes it.
    least: characters that it takes at least.
    optional: can it always match nothing, wherever it stands?
    ones: patterns of one character each: where one of these stands, the part matches.
    single: does it take one character, whatever stands around it?
    held: patterns of single characters that it takes where it can, and never gives back.
    """

    python: str
    rust: str
    least: int = 0
    optional: bool = False
    ones: tuple[str, ...] = ()
    single: bool = False
    held: tuple[str, ...] = ()


def parse(pattern: str, *, rust: bool) -> Node:
    """The pattern, which is Rust's or Python's; InexpressibleError if it is not read alike."""
    reader = _PatternParser(pattern, rust)
    node = reader.alternatives(0)
    if reader.at < len(pattern):
        raise reader.unlike()
    return node


class _PatternParser:
    """Reads a pattern by recursive descent, from alternatives down to the members of a class.

    at: how many characters are read.
    any_case, any_dot: inside `(?i:` and `(?s:`, how many deep.
    """

    def __init__(self, pattern: str, rust: bool) -> None:
        self.pattern = pattern
        self.rust = rust
        self.at = 0
        self.any_case = 0
        self.any_dot = 0

    def unlike(self, what: str | None = None) -> InexpressibleError:
        shown = what or self.pattern[self.at : self.at + 12]
        place = f"at character {self.at + 1} of its pattern"
        return InexpressibleError(f"{shown!r} {place} is not read alike by Python and Rust")

    def ahead(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def alternatives(self, depth: int) -> Node:
        if depth > _DEEPEST:
            raise InexpressibleError(f"the groups of its pattern are more than {_DEEPEST} deep")
        found = [self.sequence(depth)]
        while self.ahead("|"):
            self.at += 1
            found.append(self.sequence(depth))
        if len(found) == 1:
            return found[0]
        return Node(
            "|".join(node.python for node in found),
            "|".join(node.rust for node in found),
            min(node.least for node in found),
            any(node.optional for node in found),
            tuple(one for node in found for one in node.ones),
            all(node.single for node in found),
            tuple(one for node in found for one in node.held),
        )

    def sequence(self, depth: int) -> Node:
        parts = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            parts.append(self.quantified(depth))
        if len(parts) == 1:
            return parts[0]
        return Node(
            "".join(node.python for node in parts),
            "".join(node.rust for node in parts),
            sum(node.least for node in parts),
            all(node.optional for node in parts),
            _ones_of(parts),
            held=tuple(one for node in parts for one in node.held),
        )

    def quantified(self, depth: int) -> Node:
        start = self.at
        node = self.atom(depth)
        times = self.times()
        if times is None:
            return node
        text, least, most = times
        kind = ""
        if self.pattern[self.at : self.at + 1] in ("?", "+"):
            kind = self.pattern[self.at]
            self.at += 1
        if self.times() is not None:
            raise self.unlike("a quantifier of a quantifier")
        if node.least == 0 and (not node.optional or most is None or most > 1):
            # Both differ in what they do where nothing can be repeated, or looked for twice.
            self.at = start
            raise self.unlike()
        # One that gives nothing back is sure only where it takes single characters.
        sure = kind != "+" or node.single
        ones = node.ones if sure and least <= 1 and most != 0 else ()
        return Node(
            f"{node.python}{text}{kind}",
            f"{node.rust}{text}{kind}",
            node.least * least,
            sure and (least == 0 or node.optional),
            ones,
            held=(*node.held, *(node.ones if kind == "+" else ())),
        )

    def times(self) -> tuple[str, int, int | None] | None:
        """A quantifier: as it is written, the least and the greatest number."""
        sign = self.pattern[self.at : self.at + 1]
        if sign and sign in "*+?":
            self.at += 1
            return sign, int(sign == "+"), 1 if sign == "?" else None
        if sign != "{":
            return None
        match = _TIMES.match(self.pattern, self.at)
        if match is None:
            raise self.unlike()
        least = int(match[1])
        most = least if not match[2] else int(match[3]) if match[3] else None
        if max(least, most or 0) > _MOST_TIMES or (most is not None and most < least):
            raise self.unlike()
        self.at = match.end()
        return match[0], least, most

    def atom(self, depth: int) -> Node:
        sign = self.pattern[self.at]
        if sign == "(":
            return self.group(depth)
        if sign == "[":
            return self.characters()
        if sign in "^$":
            self.at += 1
            if sign == "^":
                return Node("^", "^")
            return Node(r"\Z", "$") if self.rust else Node(r"(?=\n?\Z)", r"(?=\n?\z)")
        if sign == ".":
            self.at += 1
            return Node(".", ".", 1, False, ("(?s:.)" if self.any_dot else r"[^\n]",), True)
        if sign == "\\":
            return self.escape()
        if sign in _NOT_LITERAL or not self.fits_case(sign):
            raise self.unlike()
        self.at += 1
        return _single(sign, self.any_case)

    def escape(self) -> Node:
        if self.ahead(r"\z" if self.rust else r"\Z"):
            self.at += 2
            return Node(r"\Z", r"\z")
        return _single(self.one_escape(), self.any_case)

    def group(self, depth: int) -> Node:
        start = self.at
        match = _GROUP.match(self.pattern, start)
        assert match is not None
        kind = match[1] or ":"
        self.at = match.end()
        if match[1] is None and self.ahead("?"):
            self.at = start
            raise self.unlike()
        self.any_case += kind == "i:"
        self.any_dot += kind == "s:"
        inner = self.alternatives(depth + 1)
        self.any_case -= kind == "i:"
        self.any_dot -= kind == "s:"
        if not self.ahead(")"):
            raise InexpressibleError("a group of its pattern has no end")
        self.at += 1
        python, rust = f"(?{kind}{inner.python})", f"(?{kind}{inner.rust})"
        if kind in ("=", "!", "<=", "<!"):
            if kind[0] == "<" and not inner.single:
                self.at = start
                raise self.unlike()
            return Node(python, rust)
        if kind == ">":
            return Node(python, rust, inner.least)
        return inner._replace(python=python, rust=rust)

    def characters(self) -> Node:
        """A class, `[…]`."""
        members = self.members()
        if not self.ahead("&&"):
            self.at += 1
            return _single(f"[{members}]", self.any_case)
        self.at += 2
        if not self.rust or not self.ahead("["):
            raise self.unlike()
        inner = self.members()
        self.at += 1
        if not self.ahead("]") or members.startswith("^"):
            raise self.unlike()
        self.at += 1
        text = f"(?:(?=[{inner}])[{members}])"
        return Node(text, f"[{members}&&[{inner}]]", 1, False, (text,), True)

    def fits_case(self, sign: str) -> bool:
        """Outside `(?i:` anything does; inside it, what both compare alike."""
        return not self.any_case or (sign.isascii() and sign not in "iI")

    def one_escape(self) -> str:
        r"""An escape that stands for one character, in a class or out of it."""
        if match := _PROPERTY.match(self.pattern, self.at):
            name = match[1] or match[2]
            if name not in _PROPERTIES or self.any_case:
                raise self.unlike()
            self.at = match.end()
            return f"\\{match[0][1]}{{{name}}}"
        if match := _CODE.match(self.pattern, self.at):
            character = chr(int(match[1] or match[2], 16))
            if not self.fits_case(character) or "\ud800" <= character <= "\udfff":
                raise self.unlike()
            self.at = match.end()
            return f"\\u{ord(character):04x}"
        sign = self.pattern[self.at + 1 : self.at + 2]
        punctuation = sign and sign.isascii() and sign.isprintable() and not sign.isalnum()
        if sign and (sign in _CONTROLS + _SETS or (punctuation and sign not in " <>'\"`,;:@!%/=_")):
            self.at += 2
            return f"\\{sign}"
        if punctuation and sign not in "<>":
            # Rust knows no escapes of these; they stand for themselves.
            self.at += 2
            return sign
        raise self.unlike()

    def members(self) -> str:
        """What stands in a class, up to its end or to `&&`."""
        start = self.at
        self.at += 1
        found = ""
        if self.ahead("^"):
            found = "^"
            self.at += 1
        empty = True
        while not self.ahead("]"):
            if self.ahead("&&") and not empty:
                return found
            if self.at >= len(self.pattern):
                raise InexpressibleError("a class of its pattern has no end")
            found += self.member()
            empty = False
        if empty:
            self.at = start
            raise self.unlike()
        return found

    def member(self) -> str:
        first, is_one = self.character()
        last_one = self.pattern[self.at + 1 : self.at + 2] == "]"
        if not self.ahead("-") or last_one:
            return first
        self.at += 1
        last, is_last = self.character()
        if not is_one or not is_last or self.any_case:
            raise self.unlike()
        return f"{first}-{last}"

    def character(self) -> tuple[str, bool]:
        """A member of a class; and is it one character, not a set?"""
        sign = self.pattern[self.at : self.at + 1]
        if sign == "\\":
            text = self.one_escape()
            return text, text[1:2] not in ("p", "P", *_SETS)
        if sign in ("", "[", "]") or not self.fits_case(sign):
            raise self.unlike()
        if self.pattern[self.at : self.at + 2] in ("&&", "--", "~~", "||"):
            raise self.unlike()
        self.at += 1
        return (r"\-" if sign == "-" else sign), True


def _single(text: str, any_case: int) -> Node:
    one = f"(?i:{text})" if any_case else text
    return Node(text, text, 1, False, (one,), True)


def _ones_of(parts: list[Node]) -> tuple[str, ...]:
    """The single characters that a sequence matches: those of one part, where every other can
    be nothing, but for those that an earlier part takes for itself."""
    needed = [at for at, node in enumerate(parts) if not node.optional]
    if len(needed) > 1:
        return ()
    found = []
    for at in needed or range(len(parts)):
        held = [one for node in parts[:at] for one in node.held]
        guard = f"(?!{'|'.join(held)})" if held else ""
        found += [f"{guard}{one}" for one in parts[at].ones]
    return tuple(found)


#: A pattern is no longer than this.
_LONGEST = 1 << 16

#: Alternatives that are tried on every character there is: a second's worth.
_MOST_ONES = 64

#: The whole text is one pre-token.
_EVERYTHING = r"[\s\S]+"

_IDEOGRAPHS = "\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff"
_STOPS = rf"\p{{N}}{_IDEOGRAPHS}"
_DEEPSEEK_V3_THIRD = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|"""
    rf"(?:(?![\r\n\p{{L}}\p{{P}}\p{{S}}{_STOPS}])(?s:.))?(?:(?![{_IDEOGRAPHS}])[\p{{L}}\p{{M}}])+|"
    rf" ?(?:(?![{_IDEOGRAPHS}])[\p{{P}}\p{{S}}])+[\r\n]*|\s*[\r\n]+|\s+(?!(?![{_STOPS}])\S)|\s+"
)
#: DeepSeek-V3's three patterns as one: no match of the third reaches into what the first two
#: take, and what is left between matches is a pre-token.
_DEEPSEEK_V3 = (
    rf"\p{{N}}{{1,3}}|[{_IDEOGRAPHS}]+|{_DEEPSEEK_V3_THIRD}|"
    rf"(?:(?!{_DEEPSEEK_V3_THIRD}|[{_STOPS}])(?s:.))+"
)

#: What stands between the groups of digits of `digit-groups`.
_NO_NUMBERS = r"|\P{N}+"

#: Kinds without options, as the pattern that is published for them, or says the same.
_PATTERNS = {
    # As `tiktoken_ext` has it: it does what GPT-2's own does, faster.
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    **{kind: PATTERNS[kind] for kind in ("cl100k", "llama3", "qwen2", "o200k")},
    "deepseek-v3": _DEEPSEEK_V3,
    "characters": r"(?s:.)",
}
_KINDS = KNOWN_PATTERNS | {pattern: kind for kind, pattern in _PATTERNS.items()}


def pattern_of(parts: Sequence[Part]) -> str:
    """The pattern whose matches are the pre-tokens of these pre-tokenizers.

    Raises:
        InexpressibleError: no pattern that both read alike does the same.
    """
    if not parts:
        return _EVERYTHING
    if len(parts) > 1:
        raise InexpressibleError("several pre-tokenizers, one after the other")
    (part,) = parts
    if part.kind in _PATTERNS:
        return _PATTERNS[part.kind]
    if part.kind == "fixed" and part["length"] <= LONGEST_GROUP:
        return rf"(?s:.{{1,{part['length']}}})"
    if part.kind == "digits":
        return r"\p{N}|\P{N}+" if part["individual"] else r"\p{N}+|\P{N}+"
    if part.kind == "digit-groups" and part["length"] <= LONGEST_GROUP:
        return digit_groups(part["length"]) + _NO_NUMBERS
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
    if pattern == _EVERYTHING:
        return "none"
    if pattern in _KINDS:
        return _KINDS[pattern]
    if pattern.endswith(_NO_NUMBERS) and (length := group_length(pattern[: -len(_NO_NUMBERS)])):
        return f"digit-groups:{length}"
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
