"""Patterns for a page: as regular expressions over classes of characters, which every browser
searches alike.

JavaScript's own `\\p{L}` is of whatever Unicode version the browser has, and it lacks possessive
quantifiers, atomic groups and, in older browsers, `(?i:…)`. So each part of a pattern that matches
one character is looked up here, by the `regex` package that tokctl itself searches with: characters
that all parts of a pattern treat alike are one class. The page gets the classes of all characters
and the pattern over them, writes a text as its classes, one UTF-16 unit each, and searches that.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import regex

from tokctl import _native
from tokctl.model.patterns import can_backtrack, check_size

#: Classes are written in units of one byte.
_MOST_CLASSES = 256

#: UAX #29, table 1c: extended grapheme clusters. Linkers and what extends them are told apart so
#: that no text is walked through twice.
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
    """A pattern, or another part, that the page can't have; the message says why."""


class Translated(NamedTuple):
    """A pattern for the page.

    source: a JavaScript regular expression whose characters are classes.
    classes: (length, class) of each run of code points, from U+0000 to U+10FFFF.
    """

    source: str
    classes: tuple[tuple[int, int], ...]


class _Atom(NamedTuple):
    """A part that matches one character, as the pattern spells it."""

    source: str
    ignores_case: bool = False


#: In place of atoms until their classes are known.
_FIRST_ATOM = 0xE000
_SET = re.compile(r"\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\.|[^\]\\])*\]", re.DOTALL)
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_CODE = re.compile(r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[pP](?:\{[^}]*\}|\w)")
_FLAGS = re.compile(r"\(\?([ius]+)(-[is]+)?([:)])")
_NAMED = re.compile(r"\(\?P?<[A-Za-z_]\w*>")


class _Reader:
    """Reads a pattern of the `regex` package, version 0, and writes it for JavaScript."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.atoms: dict[_Atom, int] = {}
        #: Groups that are referred to: those of atomic ones.
        self.groups = 0

    def refuse(self, what: str) -> NotInPageError:
        return NotInPageError(f"the page can't search for {what} of its pattern {self.text:.60}")

    def takes(self, text: str) -> bool:
        found = self.text.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def atom(self, source: str, flags: str) -> str:
        if source == ".":
            source = r"[\s\S]" if "s" in flags else r"[^\n]"
        atom = _Atom(source, "i" in flags)
        return chr(_FIRST_ATOM + self.atoms.setdefault(atom, len(self.atoms)))

    def alternatives(self, flags: str) -> str:
        found = [self.sequence(flags)]
        while self.takes("|"):
            found.append(self.sequence(flags))
        return "|".join(found)

    def sequence(self, flags: str) -> str:
        found = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            at = self.at
            switch = _FLAGS.match(self.text, at)
            if switch and switch[3] == ")":
                if at or switch[2]:
                    raise self.refuse("flags in the middle")
                flags = switch[1]
                self.at = switch.end()
                continue
            found.append(self.repeated(self.piece(flags)))
        return "".join(found)

    def repeated(self, piece: str) -> str:
        if self.at == len(self.text):
            return piece
        count = _COUNT.match(self.text, self.at)
        if count and (count[1] or count[3]):
            self.at = count.end()
            often = f"{{{count[1] or 0}{count[2]}{count[3]}}}"
        elif self.text[self.at] in "*+?":
            often = self.text[self.at]
            self.at += 1
        else:
            return piece
        if self.takes("?"):
            return f"{piece}{often}?"
        return self.atomic(piece + often) if self.takes("+") else piece + often

    def atomic(self, body: str) -> str:
        self.groups += 1
        return rf"(?:(?=(?<g{self.groups}>{body}))\k<g{self.groups}>)"

    def piece(self, flags: str) -> str:
        text, at = self.text, self.at
        first = text[at]
        if first == "(":
            return self.group(flags)
        if first == "[":
            found = _SET.match(text, at)
            if not found:
                raise self.refuse("a set")
            self.at = found.end()
            return self.atom(found[0], flags)
        if first == "\\":
            return self.escape(flags)
        self.at += 1
        if first == "^":
            return "(?:^)"
        if first == "$":
            return f"(?={self.atom(_NEWLINE, '')}?$)".join(("(?:", ")"))
        if first == "{":
            raise self.refuse("a brace")
        return self.atom(first if first == "." else regex.escape(first, special_only=True), flags)

    def group(self, flags: str) -> str:
        outer = self.at
        switch, name = _FLAGS.match(self.text, outer), _NAMED.match(self.text, outer)
        kind, after = "(?:", flags
        if switch:
            self.at = switch.end()
            after = "".join({*flags, *switch[1]} - {*(switch[2] or "")})
        elif name:
            self.at = name.end()
        elif not self.text.startswith("(?", outer):
            self.at += 1
        else:
            kinds = ("(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>")
            kind = next(filter(self.takes, kinds), "")
            if not kind:
                raise self.refuse(f"the group {self.text[outer : outer + 4]}")
        groups = self.groups
        body = self.alternatives(after)
        if not self.takes(")"):
            raise self.refuse("a group")
        if kind == "(?>":
            return self.atomic(body)
        if kind.startswith("(?<") and self.groups > groups:
            raise self.refuse("an atomic group behind (?<")
        return f"{kind}{body})" if kind == "(?:" else f"(?:{kind}{body}))"

    def escape(self, flags: str) -> str:
        code = _CODE.match(self.text, self.at + 1)
        kind = code[0] if code else self.text[self.at + 1 : self.at + 2]
        self.at += 1 + len(kind)
        if kind in ("b", "B"):
            word = self.atom(r"\w", "")
            ends = (f"(?<!{word})(?={word})", f"(?<={word})(?!{word})")
            same = (f"(?<!{word})(?!{word})", f"(?<={word})(?={word})")
            return f"(?:{'|'.join(ends if kind == 'b' else same)})"
        if kind == "A":
            return "(?:^)"
        if kind in ("Z", "z"):
            return "(?:$)"
        if code or kind in ("d", "D", "w", "W", "s", "S", "n", "r", "t", "f", "v", "a"):
            return self.atom("\\" + kind, flags)
        if not kind or (kind.isascii() and kind.isalnum()):
            raise self.refuse(f"\\{kind}")
        return self.atom("\\" + kind, flags)


_NEWLINE = r"\n"


@cache
def _every_character() -> str:
    return "".join(map(chr, range(0x110000)))


@cache
def _ranges(atom: _Atom) -> tuple[tuple[int, int], ...]:
    """The code points that an atom matches."""
    flags = regex.IGNORECASE if atom.ignores_case else 0
    found = regex.compile(f"(?:{atom.source})++", flags).finditer(_every_character())
    spans = tuple(match.span() for match in found)
    if not re.match(r"\[?\\p\{(GCB|InCB)=", atom.source):
        return spans
    codes = (code for start, end in spans for code in range(start, end))
    return tuple((code, code + 1) for code in codes if code not in _newer_than_the_core())


@cache
def _newer_than_the_core() -> frozenset[int]:
    """Characters that join others in clusters by the Unicode version of `regex`, which splits no
    clusters for tokctl, and do not by the core's, which does.

    Raises:
        NotInPageError: it is the other way round.
    """
    joiners = r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}\p{GCB=Prepend}]"
    joining = set(regex.findall(joiners, _every_character()))
    unassigned = set(regex.findall(r"\p{Cn}", _every_character()[:0x20000])) - joining
    chars = sorted(joining | unassigned)
    text = "".join(f"a{char}a" for char in chars).encode()
    clusters = set(_native.pre_tokens([{"kind": "graphemes"}], text))
    end = 0
    alone = set()
    for char in chars:
        start = end + 1
        end = start + len(char.encode()) + 1
        if (start, end - 1) in clusters:
            alone.add(char)
    if unassigned - alone:
        raise NotInPageError("the installed package `regex` has too old a version of Unicode")
    return frozenset(map(ord, joining & alone))


@cache
def translated(pattern: str) -> Translated:
    """The pattern for the page.

    Raises:
        NotInPageError: it holds what classes of characters can't express, or a search for it can
            take too long.
    """
    check_size(pattern)
    if can_backtrack(pattern) and pattern != GRAPHEMES:
        raise NotInPageError(f"a search for its pattern {pattern:.60} may take too long in a page")
    reader = _Reader(pattern)
    try:
        body = reader.alternatives("")
    except RecursionError:
        raise reader.refuse("groups so deep in groups") from None
    if reader.at < len(pattern):
        raise reader.refuse("a group")
    changes: dict[int, int] = {0: 0, 0x110000: 0}
    for atom, number in reader.atoms.items():
        for place in (place for span in _ranges(atom) for place in span):
            changes[place] = changes.get(place, 0) ^ 1 << number
    numbers: dict[int, int] = {}
    runs: list[tuple[int, int]] = []
    places = sorted(changes)
    matching = 0
    for start, end in pairwise(places):
        matching ^= changes[start]
        number = numbers.setdefault(matching, len(numbers))
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0] + end - start, number)
        else:
            runs.append((end - start, number))
    if len(numbers) > _MOST_CLASSES:
        raise NotInPageError(f"its pattern {pattern:.60} tells too many characters apart")
    for number in reader.atoms.values():
        members = [f"\\x{one:02x}" for bits, one in numbers.items() if bits >> number & 1]
        body = body.replace(chr(_FIRST_ATOM + number), f"[{''.join(members)}]")
    return Translated(body, tuple(runs))
