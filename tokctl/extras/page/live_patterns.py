r"""Patterns for a page, as regular expressions over classes of characters.

Every browser searches them alike. JavaScript's own `\p{L}` depends on the browser's Unicode
version. It also lacks possessive quantifiers, atomic groups and, in older browsers, `(?i:…)`. So
each part of a pattern that matches one character is evaluated here with the `regex` package, which
tokctl itself searches with. Characters that all parts of a pattern treat alike form one class. The
page gets the classes of all characters and the pattern over them. It writes a text as its classes,
one UTF-16 unit each, and searches the result.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import regex

from tokctl import _native
from tokctl.model.patterns import can_backtrack, check_size
from tokctl.model.regular_expressions import (
    PYTHON,
    Alternatives,
    Anchor,
    Atomic,
    Chars,
    CharSet,
    LookAround,
    Node,
    Repeat,
    Sequence,
    UnsupportedRegexError,
    parse,
    print_python,
)

#: The script stores a class in one byte.
_MOST_CLASSES = 256

#: Extended grapheme clusters after UAX #29, table 1c. Linkers and their extenders are separate
#: parts, so that no text is scanned twice.
_CONJUNCT = r"\p{InCB=Extend}*\p{InCB=Linker}[\p{InCB=Extend}\p{InCB=Linker}]*\p{InCB=Consonant}"
_CORE = (
    r"\p{GCB=L}*(?:\p{GCB=V}+|\p{GCB=LV}\p{GCB=V}*|\p{GCB=LVT})\p{GCB=T}*|\p{GCB=L}+|\p{GCB=T}+|"
    r"\p{GCB=RI}\p{GCB=RI}|"
    r"\p{ExtPict}(?:\p{GCB=Extend}*\p{GCB=ZWJ}\p{ExtPict})*|"
    rf"\p{{InCB=Consonant}}(?:{_CONJUNCT})+|"
    r"[^\p{GCB=Control}\r\n]"
)
GRAPHEMES = (
    r"\r\n|[\p{GCB=Control}\r\n]|"
    rf"\p{{GCB=Prepend}}*(?:{_CORE})[\p{{GCB=Extend}}\p{{GCB=ZWJ}}\p{{GCB=SpacingMark}}]*"
)


class NotInPageError(Exception):
    """Pattern or other part of a model that a page can't express; the message says why."""


class Translated(NamedTuple):
    """Pattern for the page.

    Attributes:
        source: JavaScript regular expression whose characters are classes.
        classes: (length, class) of each run of code points, from U+0000 to U+10FFFF.
    """

    source: str
    classes: tuple[tuple[int, int], ...]


#: First of the private-use characters that stand for character sets until classes are known.
_FIRST_SET = 0xE000


class _ClassPrinter:
    """Printer of syntax trees for JavaScript, with numbers in place of character sets."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.sets: dict[CharSet, int] = {}
        #: Number of named groups; each emulates an atomic group.
        self.groups = 0

    def refuse(self, construct: str) -> NotInPageError:
        """Return the error for a pattern with `construct`."""
        return NotInPageError(
            f"the page can't search for {construct} of its pattern {self.pattern:.60}"
        )

    def chars(self, chars: CharSet) -> str:
        """Return the character that stands for a set."""
        return chr(_FIRST_SET + self.sets.setdefault(chars, len(self.sets)))

    def node(self, node: Node) -> str:
        """Return the JavaScript expression of a node."""
        match node:
            case Chars(chars):
                return self.chars(chars)
            case Sequence(items):
                return "".join(self.grouped(item) for item in items)
            case Alternatives(items):
                return "|".join(map(self.node, items))
            case Repeat(body, least, most, is_lazy):
                times = f"{{{least},{'' if most is None else most}}}"
                return f"{self.grouped(body)}{times}{'?' * is_lazy}"
            case Atomic(body):
                self.groups += 1
                name = f"g{self.groups}"
                return rf"(?:(?=(?<{name}>{self.node(body)}))\k<{name}>)"
            case LookAround(body, is_behind, is_negative):
                opening = "(?" + "<" * is_behind + ("!" if is_negative else "=")
                return f"(?:{opening}{self.node(body)}))"
            case Anchor("start"):
                return "(?:^)"
            case Anchor("end"):
                return "(?:$)"
        raise self.refuse("a back reference, a cluster or what a match leaves out")

    def grouped(self, node: Node) -> str:
        """Return the expression of a node, in a group unless it is a single unit."""
        text = self.node(node)
        return text if isinstance(node, (Chars, Atomic, LookAround, Anchor)) else f"(?:{text})"


@cache
def _every_character() -> str:
    return "".join(map(chr, range(0x110000)))


@cache
def _ranges(chars: CharSet) -> tuple[tuple[int, int], ...]:
    """Return the spans (start, end) of code points in a set."""
    run = print_python(Atomic(Repeat(Chars(chars), 1, None)))
    spans = tuple(match.span() for match in regex.finditer(run, _every_character()))
    if not re.match(r"\[?\\p\{(GCB|InCB)=", print_python(Chars(chars))):
        return spans
    codes = (code for start, end in spans for code in range(start, end))
    return tuple((code, code + 1) for code in codes if code not in _newer_than_the_core())


@cache
def _newer_than_the_core() -> frozenset[int]:
    """Return characters that join clusters in the Unicode version of `regex` but not the core's.

    The core splits clusters for tokctl, so its version counts.

    Raises:
        NotInPageError: the Unicode version of `regex` is older than the core's.
    """
    joiners = r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}\p{GCB=Prepend}]"
    joining = set(regex.findall(joiners, _every_character()))
    unassigned = set(regex.findall(r"\p{Cn}", _every_character()[:0x20000])) - joining
    chars = sorted(joining | unassigned)
    text = "".join(f"a{char}a" for char in chars).encode()
    clusters = set(_native.pre_tokens([{"kind": "graphemes"}], text))
    end = 0
    single = set()
    for char in chars:
        start = end + 1
        end = start + len(char.encode()) + 1
        if (start, end - 1) in clusters:
            single.add(char)
    if unassigned - single:
        raise NotInPageError("the installed package `regex` has too old a version of Unicode")
    return frozenset(map(ord, joining & single))


@cache
def translated(pattern: str) -> Translated:
    """Return the pattern for the page.

    Raises:
        NotInPageError: the pattern needs more than classes of characters, or a search for it can
            take too long.
    """
    check_size(pattern)
    if can_backtrack(pattern) and pattern != GRAPHEMES:
        raise NotInPageError(f"a search for its pattern {pattern:.60} may take too long in a page")
    try:
        tree = parse(pattern, PYTHON)
    except UnsupportedRegexError as error:
        raise NotInPageError(f"the page can't search for its pattern: {error}") from None
    printer = _ClassPrinter(pattern)
    body = printer.node(tree)
    changes: dict[int, int] = {0: 0, 0x110000: 0}
    for chars, number in printer.sets.items():
        for position in (position for span in _ranges(chars) for position in span):
            changes[position] = changes.get(position, 0) ^ 1 << number
    numbers: dict[int, int] = {}
    runs: list[tuple[int, int]] = []
    positions = sorted(changes)
    matching = 0
    for start, end in pairwise(positions):
        matching ^= changes[start]
        number = numbers.setdefault(matching, len(numbers))
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0] + end - start, number)
        else:
            runs.append((end - start, number))
    if len(numbers) > _MOST_CLASSES:
        raise NotInPageError(f"its pattern {pattern:.60} tells too many characters apart")
    for number in printer.sets.values():
        members = [
            f"\\x{bits_of_char:02x}" for bits, bits_of_char in numbers.items() if bits >> number & 1
        ]
        body = body.replace(chr(_FIRST_SET + number), f"[{''.join(members)}]")
    return Translated(body, tuple(runs))
