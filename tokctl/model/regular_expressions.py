r"""Parser and printers of regular expressions in three dialects.

A pattern is parsed into a syntax tree that is independent of the dialect: sets of characters
include their case variants, and shorthands such as `\b`, `$` or `\R` are expanded. Two patterns
with equal trees match alike, and a tree from one dialect can be printed in another.

The dialects are Oniguruma (`tokenizer.json`), Python's `regex` package (recipes) and Rust's
`fancy-regex` (tiktoken). A construct that a dialect can't express raises `UnsupportedRegexError`,
which names the construct and its position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Literal, TypeAlias

#: Greatest nesting depth of groups.
DEEPEST = 50


class UnsupportedRegexError(ValueError):
    """A pattern that its dialect does not allow, or that another dialect can't express."""


# -- sets of characters ------------------------------------------------------------------------

#: First and last code point of a range, both included.
Span: TypeAlias = tuple[int, int]
_LAST = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Codes:
    """A set of code points as ascending spans that neither overlap nor touch."""

    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Property:
    """The set of characters with a Unicode property, by the property's name in `regex`."""

    name: str


@dataclass(frozen=True, slots=True)
class Union:
    """The characters that are in at least one of the members."""

    members: tuple[CharSet, ...]


@dataclass(frozen=True, slots=True)
class Intersection:
    """The characters that are in all members."""

    members: tuple[CharSet, ...]


@dataclass(frozen=True, slots=True)
class Complement:
    """The characters that are not in a set."""

    of: CharSet


@dataclass(frozen=True, slots=True)
class Folded:
    """A set with the flag `i`, as Python's `regex` reads it.

    No explicit set of characters has this meaning.
    """

    of: CharSet


CharSet: TypeAlias = Codes | Property | Union | Intersection | Complement | Folded
NOTHING = Codes(())
ANYTHING = Complement(NOTHING)


def codes(*spans: Span) -> Codes:
    """Return the set of code points in the spans, which may overlap and have any order."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return Codes(tuple(merged))


def characters(text: Iterable[str]) -> Codes:
    """Return the set of the characters of `text`."""
    return codes(*((ord(char), ord(char)) for char in text))


def union(*members: CharSet) -> CharSet:
    """Return the union of sets in canonical form: equal unions give equal objects."""
    flat = [one for member in members for one in _members_of(Union, member)]
    listed = codes(*chain.from_iterable(one.spans for one in flat if isinstance(one, Codes)))
    others: set[CharSet] = {one for one in flat if not isinstance(one, Codes)}
    # Simplified because `regex` matches everything with `[^\D\d]`.
    if ANYTHING in others or any(complement(one) in others for one in (*others, listed)):
        return ANYTHING
    return _one_of(Union, ([listed] if listed.spans or not others else []), others)


def intersection(*members: CharSet) -> CharSet:
    """Return the intersection of sets in canonical form: equal intersections are equal objects."""
    flat = {one for member in members for one in _members_of(Intersection, member)}
    others = flat - {ANYTHING}
    if NOTHING in others or any(complement(one) in others for one in others):
        return NOTHING
    return _one_of(Intersection, [] if others else [ANYTHING], others)


def complement(of: CharSet) -> CharSet:
    """Return the set of the characters that are not in a set."""
    return of.of if isinstance(of, Complement) else Complement(of)


def _members_of(kind: type[Union | Intersection], one: CharSet) -> tuple[CharSet, ...]:
    return one.members if isinstance(one, kind) else (one,)


def _one_of(
    kind: type[Union | Intersection], first: list[CharSet], others: set[CharSet]
) -> CharSet:
    members = (*first, *sorted(others, key=repr))
    return members[0] if len(members) == 1 else kind(members)


def only_character(chars: CharSet) -> str | None:
    """Return the character of a set with exactly one, else None."""
    if isinstance(chars, Codes) and len(chars.spans) == 1:
        start, end = chars.spans[0]
        return chr(start) if start == end else None
    return None


# -- syntax trees ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chars:
    """A node that matches one character of a set."""

    of: CharSet


@dataclass(frozen=True, slots=True)
class Sequence:
    """A node that matches its items one after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """A node that matches the first of its items that leads to a match."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Capture:
    """A group whose text a back reference repeats; groups are numbered from 1."""

    body: Node
    number: int


@dataclass(frozen=True, slots=True)
class Atomic:
    """A group that keeps its first match: no backtracking into it."""

    body: Node


@dataclass(frozen=True, slots=True)
class Repeat:
    """A quantifier.

    Attributes:
        body: the repeated node.
        least: fewest repetitions.
        most: most repetitions; None: no limit.
        is_lazy: whether few repetitions are tried first.
    """

    body: Node
    least: int
    most: int | None
    is_lazy: bool = False


@dataclass(frozen=True, slots=True)
class LookAround:
    """A look-ahead or look-behind, which matches no characters."""

    body: Node
    is_behind: bool = False
    is_negative: bool = False


@dataclass(frozen=True, slots=True)
class Anchor:
    r"""The start or end of the text, or `\K`, which restarts the match at its position."""

    at: Literal["start", "end", "keep"]


@dataclass(frozen=True, slots=True)
class BackReference:
    """A reference to the text that a captured group matched."""

    number: int


@dataclass(frozen=True, slots=True)
class Grapheme:
    r"""An extended grapheme cluster, `\X`."""


Node: TypeAlias = (
    Chars
    | Sequence
    | Alternatives
    | Capture
    | Atomic
    | Repeat
    | LookAround
    | Anchor
    | BackReference
    | Grapheme
)


def sequence(items: Iterable[Node]) -> Node:
    """Return a node for the items in a row; nested sequences are flattened."""
    flat = tuple(
        child for item in items for child in (item.items if isinstance(item, Sequence) else (item,))
    )
    return flat[0] if len(flat) == 1 else Sequence(flat)


def alternatives(items: Iterable[Node]) -> Node:
    """Return a node for alternatives, tried in order; a single item is returned unchanged."""
    listed = tuple(items)
    return listed[0] if len(listed) == 1 else Alternatives(listed)


def children(node: Node) -> tuple[Node, ...]:
    """Return the child nodes of a node."""
    if isinstance(node, (Sequence, Alternatives)):
        return node.items
    if isinstance(node, (Capture, Atomic, Repeat, LookAround)):
        return (node.body,)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all its descendants, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def least_width(node: Node) -> int:
    """Return a lower bound for the number of characters in a match."""
    match node:
        case Chars() | Grapheme():
            return 1
        case Sequence(items):
            return sum(map(least_width, items))
        case Alternatives(items):
            return min(map(least_width, items))
        case Capture(body) | Atomic(body):
            return least_width(body)
        case Repeat(body, least):
            return least * least_width(body)
    return 0


# -- case folding, as Oniguruma does it --------------------------------------------------------

#: Blocks that contain characters with case foldings.
_FOLDING_BLOCKS = (
    *((0x41, 0x590), (0x10A0, 0x1100), (0x13A0, 0x1400), (0x1C80, 0x1CC0), (0x1E00, 0x2190)),
    *((0x24B0, 0x24F0), (0x2C00, 0x2D00), (0xA640, 0xA7FF), (0xAB70, 0xABC0), (0xFB00, 0xFB20)),
    *((0xFF20, 0xFF60), (0x10400, 0x10600), (0x10C80, 0x10D00), (0x118A0, 0x118E0)),
    *((0x16E40, 0x16E80), (0x1E900, 0x1E950)),
)
#: Letters whose case folding is newer than Unicode 16, the version of Oniguruma.
_FOLDED_SINCE = codes((0xA7CE, 0xA7CF), (0xA7D2, 0xA7D5), (0x16EA0, 0x16ED3))
#: Case foldings that are new in Unicode 16; Python's tables may be older.
_FOLDED_IN_16 = {
    **{code: code + 0x20 for code in range(0x10D50, 0x10D66)},
    0x1C89: 0x1C8A,
    0xA7CB: 0x264,
    0xA7CC: 0xA7CD,
    0xA7DA: 0xA7DB,
    0xA7DC: 0x19B,
}


@cache
def foldings() -> dict[str, str]:
    """Return the case folding of each character that folds to another text, as of Unicode 16."""
    late = {code for start, end in _FOLDED_SINCE.spans for code in range(start, end + 1)}
    letters = (chr(code) for block in _FOLDING_BLOCKS for code in range(*block) if code not in late)
    folds = {char: char.casefold() for char in letters if char.casefold() != char}
    return folds | {chr(code): chr(to) for code, to in _FOLDED_IN_16.items()}


@cache
def _variants() -> dict[str, str]:
    """Return, for each case folding, the characters that fold to it; a single one is included."""
    by_folding: dict[str, list[str]] = {}
    for char, folded in foldings().items():
        by_folding.setdefault(folded, []).append(char)
    return {
        folded: "".join([*([folded] if len(folded) == 1 else []), *chars])
        for folded, chars in by_folding.items()
    }


@cache
def _cased() -> str:
    """Return all characters that have case variants, sorted."""
    return "".join(sorted(set("".join(_variants().values()))))


@cache
def _long_foldings() -> dict[str, str]:
    """Return, for each case folding of two or three characters, the characters that fold to it."""
    return {folded: chars for folded, chars in _variants().items() if len(folded) > 1}


def case_variants(char: str) -> str:
    """Return the characters that differ from `char` at most in case, as one string."""
    folded = foldings().get(char, char)
    return _variants().get(folded, char)


def _with_variants(chars: CharSet) -> CharSet:
    """Return the set extended by all case variants of its characters."""
    held = characters_in(chars, _cased())
    missing = {other for char in held for other in case_variants(char)} - held
    return union(chars, characters(missing)) if missing else chars


def characters_in(chars: CharSet, text: str) -> set[str]:
    """Return the characters of `text` that are in the set."""
    if chars == NOTHING:
        return set()
    import regex

    return set(regex.findall(print_python(Chars(chars)), text))


@cache
def first_outside(chars: CharSet) -> str:
    """Return the first character outside a set; empty if the set holds every character."""
    import regex

    every_character = _every_character()
    outside = regex.match(print_python(Atomic(Repeat(Chars(chars), 0, None))), every_character)
    return every_character[outside.end() : outside.end() + 1] if outside else every_character[0]


@cache
def _every_character() -> str:
    return "".join(map(chr, chain(range(0xD800), range(0xE000, _LAST + 1))))


def _folded(text: str) -> Iterator[tuple[int, str]]:
    """Yield the length and the case folding of each part of `text` that folds as a unit.

    Most parts have one character.
    """
    folds = foldings()
    at = 0
    while at < len(text):
        parts = [folds.get(char, char) for char in text[at : at + 3]]
        for length in (3, 2):
            together = "".join(parts[:length])
            are_single = len(parts) >= length and all(len(part) == 1 for part in parts[:length])
            if are_single and together in _long_foldings():
                yield length, together
                at += length
                break
        else:
            yield 1, parts[0]
            at += 1


def any_case(text: str) -> Node:
    """Return a tree that matches the text in any case: `ss` also matches `ß`."""
    found: list[Node] = []
    for _, folded in _folded(text):
        if len(folded) == 1:
            found.append(Chars(characters(case_variants(folded))))
        else:
            found.append(alternatives([Chars(characters(_variants()[folded])), _spelled(folded)]))
    return sequence(found)


def _spelled(folded: str) -> Node:
    return sequence(Chars(characters(case_variants(char))) for char in folded)


# -- dialects ----------------------------------------------------------------------------------

_DIGIT, _SPACE, _WORD = Property("Nd"), Property("White_Space"), Property("Word")
_HEX = codes((48, 57), (65, 70), (97, 102))
#: Oniguruma's `\w` inside a class (without U+200C and U+200D) and alone. The lone `\w` takes
#: characters below U+0100 from a Latin-1 table, which has six more characters.
_CLASS_WORD = union(Property("Alphabetic"), Property("M"), _DIGIT, Property("Pc"))
_LONE_WORD = union(_CLASS_WORD, characters("²³¹¼½¾"))
_LINE_FEED = codes((10, 10))
_LINE_ENDS = codes((10, 13), (0x85, 0x85), (0x2028, 0x2029))
_TEXT_START, _TEXT_END = Anchor("start"), Anchor("end")


def _boundary(word: CharSet, *, is_inside: bool) -> Node:
    """Return a tree for a word boundary, or for a position that is none.

    Args:
        word: set of word characters.
        is_inside: whether the tree matches all positions except word boundaries.
    """
    behind, ahead = LookAround(Chars(word), is_behind=True), LookAround(Chars(word))
    not_behind, not_ahead = replace(behind, is_negative=True), replace(ahead, is_negative=True)
    second = (ahead, not_ahead) if is_inside else (not_ahead, ahead)
    return alternatives([sequence((behind, second[0])), sequence((not_behind, second[1]))])


_NOT_AT_END = LookAround(_TEXT_END, is_negative=True)
_BEHIND_LINE = LookAround(Chars(_LINE_FEED), is_behind=True)
_LINE_START = alternatives([_TEXT_START, sequence((_BEHIND_LINE, _NOT_AT_END))])
_LINE_END = alternatives([_TEXT_END, LookAround(Chars(_LINE_FEED))])
_LAST_LINE_END = LookAround(sequence((Repeat(Chars(_LINE_FEED), 0, 1), _TEXT_END)))
_LINE_BREAK = Atomic(
    alternatives([sequence(map(Chars, map(characters, "\r\n"))), Chars(_LINE_ENDS)])
)


@dataclass(frozen=True)
class Dialect:
    """The syntax of a dialect of regular expressions.

    Attributes:
        name: name in messages.
        sets: escapes for a set of characters, outside a class.
        sets_in_class: escapes for a set of characters, inside a class.
        anchors: escapes and signs that match between characters.
        controls: escapes for one character.
        named: properties whose name or characters differ from those in `regex`.
        posix: POSIX brackets, such as `[:alpha:]`.
        flags: letters of `(?i)` and the flag that each sets: case, dot, lines or spaces.
        nests: whether a class may contain classes.
        group_names: openings of a named group.
    """

    name: str
    sets: dict[str, CharSet]
    sets_in_class: dict[str, CharSet]
    anchors: dict[str, Node]
    controls: dict[str, str]
    named: dict[str, CharSet]
    posix: dict[str, CharSet]
    flags: dict[str, str]
    nests: bool
    group_names: tuple[str, ...] = ("(?<", "(?P<")


def _both(sets: dict[str, CharSet]) -> dict[str, CharSet]:
    """Return the escapes with their complements, whose letter is upper-case."""
    return sets | {name.upper(): complement(chars) for name, chars in sets.items()}


_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a"}
_POSIX = {
    "alpha": Property("Alphabetic"),
    "alnum": union(Property("Alphabetic"), _DIGIT),
    "digit": _DIGIT,
    "punct": union(Property("P"), Property("S")),
    "space": _SPACE,
    "upper": Property("Uppercase"),
    "lower": Property("Lowercase"),
    "xdigit": _HEX,
    "ascii": codes((0, 127)),
    "cntrl": Property("Cc"),
    "blank": union(Property("Zs"), characters("\t")),
    "graph": Property("Graph"),
    "print": Property("Print"),
    "word": _CLASS_WORD,
}
_ONIGURUMA_SETS: dict[str, CharSet] = {"d": _DIGIT, "s": _SPACE, "h": _HEX}
ONIGURUMA = Dialect(
    "Oniguruma",
    sets=_both(_ONIGURUMA_SETS | {"w": _LONE_WORD}) | {"N": complement(_LINE_FEED), "O": ANYTHING},
    sets_in_class=_both(_ONIGURUMA_SETS | {"w": _CLASS_WORD}),
    anchors={
        "^": _LINE_START,
        "$": _LINE_END,
        r"\A": _TEXT_START,
        r"\z": _TEXT_END,
        r"\Z": _LAST_LINE_END,
        r"\b": _boundary(_LONE_WORD, is_inside=False),
        r"\B": _boundary(_LONE_WORD, is_inside=True),
        r"\R": _LINE_BREAK,
        r"\K": Anchor("keep"),
        r"\X": Grapheme(),
    },
    controls=_CONTROLS | {"e": "\x1b"},
    named=_POSIX | {"punct": Property("P")},
    posix=_POSIX,
    flags={"i": "case", "m": "dot", "x": "spaces"},
    nests=True,
    group_names=("(?<", "(?'"),
)
_SHORTHANDS = _both({"d": _DIGIT, "s": _SPACE, "w": _WORD})
_PYTHON_POSIX = _POSIX | {
    "word": _WORD,
    **{name: Property(f"posix_{name}") for name in ("alnum", "digit", "punct")},
}
PYTHON = Dialect(
    "Python's regex package",
    sets=_SHORTHANDS,
    sets_in_class=_SHORTHANDS,
    anchors={
        "^": _TEXT_START,
        "$": _LAST_LINE_END,
        r"\A": _TEXT_START,
        r"\Z": _TEXT_END,
        r"\b": _boundary(_WORD, is_inside=False),
        r"\B": _boundary(_WORD, is_inside=True),
        r"\K": Anchor("keep"),
        r"\X": Grapheme(),
    },
    controls=_CONTROLS,
    named=_POSIX | {"word": _WORD, "xdigit": Property("XDigit"), "punct": Property("P")},
    posix=_PYTHON_POSIX,
    flags={"i": "case", "s": "dot", "m": "lines"},
    nests=False,
)

RUST = Dialect(
    "Rust's fancy-regex",
    sets=_SHORTHANDS,
    sets_in_class=_SHORTHANDS,
    anchors={"^": _TEXT_START, "$": _TEXT_END, r"\z": _TEXT_END},
    controls=_CONTROLS,
    named={},
    posix={},
    flags={"i": "case", "s": "dot"},
    nests=True,
)

_GENERAL_CATEGORIES = (
    *("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc"),
    *("Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp", "C"),
    *("Cc", "Cf", "Cn", "Co"),
)
_SCRIPTS = (
    *("Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Greek", "Han", "Hangul"),
    *("Hebrew", "Hiragana", "Katakana", "Latin", "Tamil", "Thai"),
)
_BINARY = ("Alphabetic", "Lowercase", "Uppercase", "White_Space")
#: Property names as this module spells them, by their lower-case letters and digits.
_SPELLED_NAMES = {
    re.sub("[ _-]", "", name).lower(): name for name in (*_GENERAL_CATEGORIES, *_SCRIPTS, *_BINARY)
}
_SPELLED_NAMES |= {
    "letter": "L",
    "uppercaseletter": "Lu",
    "lowercaseletter": "Ll",
    "titlecaseletter": "Lt",
    "mark": "M",
    "number": "N",
    "decimalnumber": "Nd",
    "punctuation": "P",
    "symbol": "S",
    "separator": "Z",
    "spaceseparator": "Zs",
    "other": "C",
    "control": "Cc",
}


# -- the parser --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Flags:
    case: bool = False
    dot: bool = False
    lines: bool = False
    spaces: bool = False


@dataclass(frozen=True)
class _AnyCase:
    """A text to compare without case; several of its characters can fold together."""

    text: str


@dataclass(frozen=True)
class _CaseClass:
    """A class that ignores case.

    Attributes:
        chars: the characters of the class with their case variants.
        texts: texts of several characters that a character of the class folds to.
    """

    chars: CharSet
    texts: tuple[str, ...]


_Item: TypeAlias = Node | _AnyCase | _CaseClass


_PROPERTY_NAME = re.compile(r"\\[pP]\{(\^?)([\w =\-]+)\}")
_POSIX_BRACKET = re.compile(r"\[:(\^?)(\w+):\]")
_INTERVAL = re.compile(r"\{(\d{0,6})(?:(,)(\d{0,6}))?\}")
_HEX_CODE = re.compile(r"\\(?:x\{([0-9A-Fa-f]{1,8})\}|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
_BYTES = re.compile(r"(?:\\x[0-9A-Fa-f]{2})+")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_NAME = re.compile(r"\(\?(?:P?<(?P<angled>[^\W\d]\w*)>|'(?P<quoted>[^\W\d]\w*)')")
_REFERENCE = re.compile(
    r"\\k(?:<(?P<angled>\w+)>|'(?P<quoted>\w+)')|\(\?P=(?P<python>\w+)\)|\\([1-9]\d?)"
)
_LOOKS = {"(?=": (False, False), "(?!": (False, True), "(?<=": (True, False), "(?<!": (True, True)}
_EXOTIC = {
    "(?~": "an absent operator",
    "(?(": "a condition",
    "(?|": "a branch reset",
    "(?{": "a callout",
    "(*": "a callout",
    "(?y": "a text segment mode",
    r"\g<": "a call of a group",
    r"\g'": "a call of a group",
    r"\G": "the start of a search",
    r"\y": "a text segment boundary",
    r"\Y": "a text segment boundary",
    r"\M-": "a meta character",
}
#: Most characters of a pattern; a longer one is refused before parsing.
LONGEST = 100_000


class _Parser:
    """Recursive descent parser, from alternatives down to members of a class.

    Attributes:
        at: index of the next character to read.
        groups: numbers of the capturing groups, by name and by number as text.
    """

    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self.pattern = pattern
        self.dialect = dialect
        self.at = 0
        self.is_oniguruma = dialect is ONIGURUMA
        self.nests = dialect.nests
        #: In Oniguruma, unnamed groups don't capture if the pattern has a named group.
        self.captures = not (self.is_oniguruma and re.search(r"\(\?(?:<[^=!]|')", pattern))
        self.groups: dict[str, list[int]] = {}
        self.closed: set[int] = set()
        self.number = 0
        self.depth = 0
        self.is_behind = False
        #: Whether the last class was negated.
        self.was_negated = False

    # -- reading

    def refuse(self, why: str, at: int | None = None, length: int = 12) -> UnsupportedRegexError:
        start = self.at if at is None else at
        shown = self.pattern[start : start + length]
        return UnsupportedRegexError(f"{shown!r} at character {start + 1}: {why}")

    def ahead(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def takes(self, text: str) -> bool:
        found = self.ahead(text)
        self.at += len(text) * found
        return found

    def match(self, expression: re.Pattern[str]) -> re.Match[str] | None:
        found = expression.match(self.pattern, self.at)
        if found:
            self.at = found.end()
        return found

    def skip(self, flags: _Flags) -> None:
        """Skip comments and, with the flag `x`, white space."""
        while self.at < len(self.pattern):
            if self.ahead("(?#"):
                end = self.pattern.find(")", self.at)
                if end < 0:
                    raise self.refuse("the comment has no end")
                self.at = end + 1
            elif flags.spaces and self.pattern[self.at] in " \t\n\r\f":
                self.at += 1
            elif flags.spaces and self.ahead("#"):
                end = self.pattern.find("\n", self.at)
                self.at = end + 1 if end >= 0 else len(self.pattern)
            else:
                return

    # -- alternatives, sequences, quantifiers

    def node(self, item: _Item) -> Node:
        if isinstance(item, _AnyCase):
            if self.is_behind and any(
                length > 1 or len(to) > 1 for length, to in _folded(item.text)
            ):
                raise self.refuse("case folding to several characters in a look-behind")
            return any_case(item.text)
        if isinstance(item, _CaseClass):
            return alternatives([Chars(item.chars), *map(_spelled, item.texts)])
        return item

    def sequence_of(self, items: list[_Item]) -> Node:
        merged: list[_Item] = []
        for item in items:
            if merged and isinstance(item, _AnyCase) and isinstance(merged[-1], _AnyCase):
                merged[-1] = _AnyCase(merged[-1].text + item.text)
            else:
                merged.append(item)
        return sequence(map(self.node, merged))

    def alternatives(self, flags: _Flags) -> list[_Item]:
        """Parse alternatives; return the items of a single alternative, else one node."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise UnsupportedRegexError(f"its groups are more than {DEEPEST} deep")
        found = [self.sequence(flags)]
        while self.takes("|"):
            found.append(self.sequence(flags))
        self.depth -= 1
        return found[0] if len(found) == 1 else [alternatives(map(self.sequence_of, found))]

    def sequence(self, flags: _Flags) -> list[_Item]:
        found: list[_Item] = []
        while True:
            self.skip(flags)
            if self.at == len(self.pattern) or self.pattern[self.at] in "|)":
                return found
            if (switched := self.switched(flags)) is not None:
                # Flags apply up to the end of the group, including its later alternatives.
                return [*found, self.sequence_of(self.alternatives(switched))]
            found += self.quantified(flags)

    def switched(self, flags: _Flags) -> _Flags | None:
        """Return the flags after an inline flag group; None if no flag group follows."""
        found = _FLAGS.match(self.pattern, self.at)
        if not found or found[3] == ":":
            return None
        if not self.is_oniguruma and (self.at or found[2]):
            raise self.refuse("flags in the middle of a pattern")
        changed = self.changed(flags, found)
        self.at = found.end()
        return changed

    def changed(self, flags: _Flags, found: re.Match[str]) -> _Flags:
        for letters, value in ((found[1], True), (found[2] or "", False)):
            for letter in letters:
                if letter not in self.dialect.flags:
                    raise self.refuse(f"the flag {letter!r} is not known")
                flags = replace(flags, **{self.dialect.flags[letter]: value})
        return flags

    def quantified(self, flags: _Flags) -> list[_Item]:
        items = self.atom(flags)
        was_quantified = False
        while True:
            self.skip(flags)
            start = self.at
            times = self.times()
            if times is None:
                return items
            if len(items) == 1 and isinstance(items[0], (LookAround, Anchor)):
                raise self.refuse("a quantifier behind what takes no characters", start)
            least, most, is_lazy, is_possessive = times
            if was_quantified and not self.is_oniguruma:
                raise self.refuse("a quantifier of a quantifier", start)
            body: Node
            if len(items) == 1 and isinstance(items[0], _CaseClass) and most is None:
                body = self.repeated_class(items[0])
            else:
                body = self.sequence_of(items)
            if (least, most) == (1, 1):
                # Oniguruma ignores {1}: a text without case continues after it.
                items = items if self.is_oniguruma else [body]
                was_quantified = True
                continue
            if is_possessive and self.is_behind:
                raise self.refuse("a possessive quantifier in a look-behind", start)
            is_counted = least > 1 or (most is not None and most > 1)
            is_plain = isinstance(body, Repeat) and isinstance(body.body, Chars)
            if self.is_oniguruma and is_counted and not is_plain and least_width(body) == 0:
                # Oniguruma skips repetitions that match nothing.
                raise self.refuse("a counted repetition of what can match nothing", start)
            made: Node = Repeat(body, least, most, is_lazy and least != most)
            items = [Atomic(made) if is_possessive else made]
            was_quantified = True

    def repeated_class(self, item: _CaseClass) -> Node:
        """Return a node for a case-insensitive class under `*` or `+`.

        The texts of the class can be left out if the class matches each of their characters.
        """
        singly = {other for text in item.texts for char in text for other in case_variants(char)}
        if singly <= characters_in(item.chars, "".join(singly)):
            return Chars(item.chars)
        return self.node(item)

    def times(self) -> tuple[int, int | None, bool, bool] | None:
        """Parse a quantifier.

        Returns:
            Fewest and most repetitions, whether it is lazy, and whether it is possessive; None if
            no quantifier follows.
        """
        sign = self.pattern[self.at : self.at + 1]
        if sign and sign in "*+?":
            self.at += 1
            least, most = int(sign == "+"), 1 if sign == "?" else None
            lazy = self.takes("?")
            return least, most, lazy, not lazy and self.takes("+")
        found = _INTERVAL.match(self.pattern, self.at) if sign == "{" else None
        if not found or not (found[1] or found[3]):
            return None
        least, is_fixed = int(found[1] or 0), not found[2]
        most = least if is_fixed else int(found[3]) if found[3] else None
        if max(least, most or 0) > 100_000:
            raise self.refuse("a quantifier over 100,000")
        if self.dialect is RUST and not found[1]:
            raise self.refuse("a quantifier without its least number")
        is_swapped = most is not None and most < least
        if is_swapped and not self.is_oniguruma:
            raise self.refuse("a quantifier whose numbers descend")
        self.at = found.end()
        if is_swapped:
            # Oniguruma's notation for a possessive interval.
            assert most is not None
            return most, least, False, True
        if self.is_oniguruma:
            # In Oniguruma, `{n}?` and `{n,m}+` are quantified quantifiers.
            return least, most, not is_fixed and self.takes("?"), False
        lazy = self.takes("?")
        return least, most, lazy, not lazy and self.takes("+")

    # -- atoms

    def atom(self, flags: _Flags) -> list[_Item]:
        for opening, what in _EXOTIC.items():
            if self.is_oniguruma and self.ahead(opening):
                raise self.refuse(f"{what} has no counterpart")
        first = self.pattern[self.at]
        if first == "(":
            return self.group(flags)
        if first == "[":
            return [self.in_any_case(self.char_class(), flags)]
        if first == ".":
            self.at += 1
            return [Chars(ANYTHING if flags.dot else complement(_LINE_FEED))]
        if first in "^$":
            self.at += 1
            if flags.lines:
                return [_LINE_END if first == "$" else _ANY_LINE_START]
            return [self.dialect.anchors[first]]
        if first in "*+?" or (first == "{" and self.times() is not None):
            raise self.refuse("a quantifier of nothing")
        if first == "\\":
            return [self.escape(flags)]
        self.at += 1
        return [self.literal(first, flags)]

    def literal(self, char: str, flags: _Flags) -> _Item:
        if not flags.case:
            return Chars(characters(char))
        if self.is_oniguruma:
            return _AnyCase(char)
        return Chars(self.dialect_variants(characters(char)))

    def in_any_case(self, chars: CharSet, flags: _Flags) -> _Item:
        """Return an item for a class, with case variants if the flag `i` is set."""
        if not flags.case:
            return Chars(chars)
        if not self.is_oniguruma:
            if self.was_negated:
                return Chars(complement(self.dialect_variants(complement(chars))))
            return Chars(self.dialect_variants(chars))
        if self.was_negated:
            return Chars(complement(_with_variants(complement(chars))))
        held = characters_in(chars, "".join(_long_foldings().values()))
        texts = [text for text, chars_of in _long_foldings().items() if held & {*chars_of}]
        wide = _with_variants(chars)
        return _CaseClass(wide, tuple(texts)) if texts else Chars(wide)

    def dialect_variants(self, chars: CharSet) -> CharSet:
        if self.dialect is RUST:
            if not isinstance(chars, Codes):
                raise self.refuse("a property or a set without case before this", length=4)
            return _with_variants(chars)
        if not isinstance(chars, Codes):
            return Folded(chars)
        import regex

        every = _cased() + "İı"
        found = {*regex.findall(f"(?i:{print_python(Chars(chars))})", every)}
        held = characters_in(chars, every)
        return union(chars, characters(found - held)) if held <= found else Folded(chars)

    def group(self, flags: _Flags) -> list[_Item]:
        start = self.at
        if self.takes("(?:"):
            return self.inside(flags, start)
        if self.takes("(?>"):
            if self.is_behind:
                raise self.refuse("an atomic group in a look-behind", start)
            return [Atomic(self.sequence_of(self.inside(flags, start)))]
        for opening, (is_behind, is_negative) in _LOOKS.items():
            if self.takes(opening):
                outer, self.is_behind = self.is_behind, self.is_behind or is_behind
                body = self.sequence_of(self.inside(flags, start))
                self.is_behind = outer
                return [LookAround(body, is_behind, is_negative)]
        if found := self.match(_FLAGS):
            self.at = start
            changed = self.changed(flags, found)
            self.at = found.end()
            return [self.sequence_of(self.inside(changed, start))]
        is_named = any(map(self.ahead, self.dialect.group_names))
        found = self.match(_NAME) if is_named else None
        if found is None and self.ahead("(?"):
            raise self.refuse(
                f"{self.dialect.name} has no group that begins so, or it is not known"
            )
        if found is None and not self.captures:
            self.at += 1
            return self.inside(flags, start)
        self.number += 1
        number = self.number
        name = (found["angled"] or found["quoted"]) if found else None
        self.at += found is None
        for key in filter(None, (str(number), name)):
            self.groups.setdefault(key, []).append(number)
        body = self.sequence_of(self.inside(flags, start))
        self.closed.add(number)
        return [Capture(body, number)]

    def inside(self, flags: _Flags, start: int) -> list[_Item]:
        """Parse the content of a group and its closing bracket."""
        items = self.alternatives(flags)
        if not self.takes(")"):
            raise self.refuse("the group has no end", start)
        return items

    def escape(self, flags: _Flags) -> _Item:
        start = self.at
        if found := self.match(_REFERENCE):
            if found[4] and int(found[4]) > 9 and found[4] not in self.groups:
                self.at = start
            else:
                return self.reference(found, flags, start)
        two = self.pattern[start : start + 2]
        if two in self.dialect.anchors:
            # In a look-behind of several lengths, Oniguruma gives other results for these.
            if self.is_behind and two in (r"\b", r"\B", r"\X", r"\R", r"\K"):
                raise self.refuse("it stands in a look-behind", length=2)
            if two == r"\K" and self.depth > 1:
                raise self.refuse("it stands in a group", length=2)
            self.at += 2
            return self.dialect.anchors[two]
        if two[1:] in self.dialect.sets:
            self.at += 2
            return self.caseless(Chars(self.dialect.sets[two[1:]]), flags)
        if chars := self.named_property():
            is_word = chars in (_CLASS_WORD, complement(_CLASS_WORD)) and self.is_oniguruma
            if is_word:
                chars = _LONE_WORD if chars == _CLASS_WORD else complement(_LONE_WORD)
            return self.caseless(Chars(chars), flags)
        return self.literal(self.character_escape(in_class=False), flags)

    def caseless(self, chars: Chars, flags: _Flags) -> Node:
        """Return a set outside a class, with case variants if the flag `i` is set.

        Oniguruma has no case variants for such sets.
        """
        if flags.case and not self.is_oniguruma:
            return Chars(self.dialect_variants(chars.of))
        return chars

    def reference(self, found: re.Match[str], flags: _Flags, start: int) -> Node:
        if self.dialect is PYTHON and not (found["python"] or found[4]):
            raise self.refuse("this escape is not known", start)
        name = found["angled"] or found["quoted"] or found["python"] or found[4]
        numbers = self.groups.get(name, [])
        if len(numbers) != 1 or numbers[0] not in self.closed:
            raise self.refuse("a reference to no group, to several, or to one that is open", start)
        if flags.case or self.is_behind:
            raise self.refuse("a back reference without case or in a look-behind", start)
        return BackReference(numbers[0])

    def named_property(self) -> CharSet | None:
        found = self.match(_PROPERTY_NAME)
        if found is None:
            return None
        return self.property(found[2], (found[0][1] == "P") != bool(found[1]), self.dialect.named)

    def property(self, name: str, is_negative: bool, named: dict[str, CharSet]) -> CharSet:
        key = re.sub("[ _-]", "", name).lower()
        if self.dialect is RUST and key not in _SPELLED_NAMES:
            raise self.refuse("the property is not known", max(self.at - len(name) - 4, 0))
        chars = named.get(key) or Property(_SPELLED_NAMES.get(key, name if "=" in name else key))
        return complement(chars) if is_negative else chars

    def character_escape(self, *, in_class: bool) -> str:
        """Parse an escape for one character and return the character."""
        start = self.at
        if found := self.match(_HEX_CODE):
            code = int(found[1] or found[2] or found[3], 16)
            if found[3 if self.is_oniguruma else 1] and self.dialect is not RUST:
                raise self.refuse("this escape is not known", start)
            if code > _LAST or 0xD800 <= code < 0xE000:
                raise self.refuse("no character has this code", start)
            return chr(code)
        if self.is_oniguruma and (found := self.match(_BYTES)):
            data = bytes.fromhex(found[0].replace(r"\x", ""))
            for length in range(1, min(4, len(data)) + 1):
                try:
                    char = data[:length].decode()
                except UnicodeDecodeError:
                    continue
                self.at = start + 4 * length
                return char
            raise self.refuse("these bytes are no character", start)
        if found := self.match(re.compile(r"\\x([0-9A-Fa-f]{2})")):
            return chr(int(found[1], 16))
        self.at += 2
        sign = self.pattern[start + 1 : start + 2]
        if not sign:
            raise self.refuse("nothing is escaped", start)
        if sign in self.dialect.controls:
            return self.dialect.controls[sign]
        if in_class and sign == "b":
            return "\b"
        if not (sign.isascii() and sign.isalnum()):
            return sign
        if self.is_oniguruma:
            if sign in "01234567":
                self.at -= 1
                digits = self.match(re.compile("0[0-7]{0,2}|[0-7]{1,3}"))
                assert digits is not None
                if int(digits[0], 8) < 128:
                    return chr(int(digits[0], 8))
            elif sign not in "89xuocCM" and not (sign == "k" and self.ahead("<")):
                return sign  # a letter without a meaning stands for itself
        raise self.refuse("this escape is not known", start)

    # -- classes

    def char_class(self, *, is_nested: bool = False) -> CharSet:
        """Parse a class with its nested classes and intersections."""
        start = self.at
        self.at += 1
        is_negated = self.takes("^")
        parts: list[list[CharSet]] = [[]]
        last: str | None = None  # the previous character, which may start a range
        is_first = True
        negates_inside = False
        while True:
            if self.at >= len(self.pattern):
                raise self.refuse("the class has no end", start)
            if self.ahead("]") and not is_first:
                self.at += 1
                break
            if self.nests and self.takes("&&"):
                parts.append([])
                last = None
                is_first = False
                continue
            if self.ahead("-") and not is_first and parts[-1]:
                after = self.pattern[self.at + 1 : self.at + 2]
                ends = after == "]" or (self.nests and self.pattern.startswith("&&", self.at + 1))
                if last is not None and not ends:
                    self.at += 1
                    if self.nests and self.ahead("["):
                        raise self.refuse("a range that ends in a class", start)
                    to = only_character(self.member())
                    if to is None or to < last:
                        raise self.refuse(
                            "a range that has no end, or ends before it begins", start
                        )
                    parts[-1][-1] = codes((ord(last), ord(to)))
                    last = None
                    continue
            is_first = False
            at = self.at
            one = self.member()
            last = only_character(one)
            if self.pattern[at] == "[" and self.at > at + 1:
                last = None
                negates_inside = negates_inside or self.was_negated
            parts[-1].append(one)
        listed = [union(*part) for part in parts]
        is_combined = is_nested or is_negated or len(parts) > 1
        if self.is_oniguruma and is_combined and any(map(_holds_everything, listed)):
            # Oniguruma miscounts the characters of this kind of class.
            raise self.refuse("a combined class that lists all characters", start)
        if self.is_oniguruma and is_negated and negates_inside and len(parts) > 1:
            # Oniguruma loses the characters beyond ASCII in this kind of class.
            raise self.refuse("a negated intersection with a negated class", start)
        whole = intersection(*listed)
        self.was_negated = is_negated
        return complement(whole) if is_negated else whole

    def member(self) -> CharSet:
        """Parse one member of a class: a character, a set or a nested class."""
        start = self.at
        first = self.pattern[start : start + 1]
        if first == "[":
            self.was_negated = False
            if found := self.match(_POSIX_BRACKET):
                key = found[2].lower()
                if key not in self.dialect.posix:
                    raise self.refuse("this POSIX bracket is not known", start)
                return self.property(key, bool(found[1]), self.dialect.posix)
            if self.nests:
                return self.char_class(is_nested=True)
        if first == "\\":
            sign = self.pattern[start + 1 : start + 2]
            if sign in self.dialect.sets_in_class:
                self.at += 2
                return self.dialect.sets_in_class[sign]
            return self.named_property() or characters(self.character_escape(in_class=True))
        self.at += 1
        return characters(first)


def _holds_everything(chars: CharSet) -> bool:
    if isinstance(chars, Union):
        return not first_outside(chars)
    return chars in (ANYTHING, codes((0, _LAST)))


_ANY_LINE_START = alternatives([_TEXT_START, _BEHIND_LINE])


def parse(pattern: str, dialect: Dialect) -> Node:
    """Return the syntax tree of a pattern.

    Groups that no back reference needs are not captures in the tree.

    Args:
        pattern: the pattern.
        dialect: dialect of the pattern.

    Raises:
        UnsupportedRegexError: the pattern is invalid in the dialect, or no tree can express it.
    """
    parser = _Parser(pattern, dialect)
    if len(pattern) > LONGEST:
        raise UnsupportedRegexError(f"it has more than {LONGEST:,} characters")
    if dialect is PYTHON and parser.takes("(?V1)"):
        parser.nests = True
    try:
        node = parser.sequence_of(parser.alternatives(_Flags()))
    except RecursionError:
        raise UnsupportedRegexError("its groups are too deep") from None
    if parser.at < len(pattern):
        raise parser.refuse("this bracket closes nothing", length=1)
    tree = _without_captures(node)
    if parser.is_oniguruma and _begins_with_a_condition_and_dots(tree):
        raise UnsupportedRegexError(
            "it begins with a condition and a run of any characters, which Oniguruma looks for "
            "at the start of a line only"
        )
    return tree


def _is_condition(node: Node) -> bool:
    if isinstance(node, Alternatives | Sequence):
        return all(map(_is_condition, node.items))
    return isinstance(node, LookAround | Anchor)


def _begins_with_a_condition_and_dots(node: Node) -> bool:
    if not isinstance(node, Sequence):
        return isinstance(node, Atomic) and _begins_with_a_condition_and_dots(node.body)
    behind = next((at for at, item in enumerate(node.items) if not _is_condition(item)), 0)
    return behind > 0 and _is_run_of_dots(node.items[behind])


def _is_run_of_dots(node: Node) -> bool:
    match node:
        case Repeat(Chars(chars), _, None, False):
            return chars in (ANYTHING, complement(_LINE_FEED))
        case Repeat(body) | Atomic(body) | Capture(body):
            return _is_run_of_dots(body)
        case Sequence(items) if items:
            return _is_run_of_dots(items[0])
    return False


def _without_captures(node: Node) -> Node:
    """Return the tree with captures only for back references, numbered from 1 without gaps."""
    used = sorted({one.number for one in walk(node) if isinstance(one, BackReference)})
    numbers = {old: new for new, old in enumerate(used, 1)}

    def rebuilt(one: Node) -> Node:
        match one:
            case Sequence(items):
                return sequence(map(rebuilt, items))
            case Alternatives(items):
                return alternatives(map(rebuilt, items))
            case Capture(body, number):
                inner = rebuilt(body)
                return Capture(inner, numbers[number]) if number in numbers else inner
            case BackReference(number):
                return BackReference(numbers[number])
            case Atomic(body) | Repeat(body) | LookAround(body):
                return replace(one, body=rebuilt(body))
        return one

    return rebuilt(node)


# -- printers ----------------------------------------------------------------------------------

#: Properties that contain the same characters in all dialects.
_KNOWN_PROPERTIES = frozenset(_SPELLED_NAMES.values())
_SIGNS = frozenset("\\[](){}*+?|^$.")
_SIGNS_IN_CLASS = frozenset("\\[]^-&|~")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
#: Characters that are printed as escapes because a reader would not see them.
_UNSEEN = (
    *((0x7F, 0xA0), (0xAD, 0xAD), (0x300, 0x36F), (0x61C, 0x61C), (0x115F, 0x1160)),
    *((0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x3000, 0x3000)),
    *((0x3164, 0x3164), (0xD800, 0xF8FF), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFF0, 0xFFFF)),
    (0xE0000, _LAST),
)


@dataclass(frozen=True)
class _Text:
    """A printed node.

    Attributes:
        text: the printed text.
        is_atom: whether a quantifier after the text applies to all of it.
        folds: the text inside `(?i:…)`; None if the node must not be written inside it. Equal to
            `text` for a node without case.
    """

    text: str
    is_atom: bool = False
    folds: str | None = None

    def is_folded(self) -> bool:
        return self.folds not in (None, self.text)


class _Printer:
    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.uses_nesting = False
        self.idioms = {node: text for text, node in dialect.anchors.items() if text != "\\A"}
        self.idioms[_TEXT_START] = r"\A"
        if dialect is PYTHON:
            self.idioms[_LINE_END] = "(?m:$)"
        self.sets = {
            chars: "\\" + name for name, chars in dialect.sets.items() if name not in ("N", "O")
        }
        self.sets_in_class = {chars: "\\" + name for name, chars in dialect.sets_in_class.items()}

    def refuse(self, what: str) -> UnsupportedRegexError:
        return UnsupportedRegexError(f"{what} can't be written for {self.dialect.name}")

    def whole(self, node: Node) -> str:
        text = self.node(node).text or "(?:)"
        return f"(?V1){text}" if self.dialect is PYTHON and self.uses_nesting else text

    def node(self, node: Node) -> _Text:
        if node in self.idioms:
            return _Text(self.idioms[node], True)
        match node:
            case Chars(chars):
                return self.chars(chars)
            case Sequence(items):
                return self.sequence(items)
            case Alternatives(items):
                printed = list(map(self.node, items))
                folds = [one.folds for one in printed if one.folds is not None]
                whole = "|".join(folds) if len(folds) == len(printed) else None
                return _Text("|".join(one.text for one in printed), False, whole)
            case Repeat(body, least, most, is_lazy):
                return self.repeat(body, _times(least, most) + "?" * is_lazy)
            case Atomic(Repeat(body, least, most, False)) if self.is_possessive(least, most):
                return self.repeat(body, _times(least, most) + "+")
            case Atomic(body):
                return self.grouped("(?>", body)
            case LookAround(body, is_behind, is_negative):
                return self.grouped("(?" + "<" * is_behind + ("!" if is_negative else "="), body)
            case Capture(body):
                return self.grouped("(", body)
            case BackReference(number):
                return _Text(rf"(?:\{number})", True)
        raise self.refuse({"keep": r"\K"}.get(getattr(node, "at", ""), type(node).__name__))

    def grouped(self, opening: str, body: Node) -> _Text:
        return _Text(f"{opening}{self.node(body).text})", True)

    def is_possessive(self, least: int, most: int | None) -> bool:
        return self.dialect is not ONIGURUMA or (least, most) in ((0, None), (1, None), (0, 1))

    def repeat(self, body: Node, times: str) -> _Text:
        printed = self.node(body)
        text = printed.text if printed.is_atom else f"(?:{printed.text})"
        folds = printed.folds
        if folds is not None and not (printed.is_atom and len(folds) == 1):
            folds = f"(?:{folds})"
        return _Text(text + times, False, None if folds is None else folds + times)

    def sequence(self, items: tuple[Node, ...]) -> _Text:
        printed = [
            _Text(f"(?:{one.text})", True, None if one.folds is None else f"(?:{one.folds})")
            if isinstance(item, Alternatives) and not one.is_atom
            else one
            for item, one in zip(items, map(self.node, items), strict=True)
        ]
        # Adjacent characters that `(?i:…)` would fold together are printed outside of it.
        if any(one.is_folded() for one in printed):
            text = "".join(map(_letter, items, printed))
            for at, (length, _) in zip(_starts(text), _folded(text), strict=True):
                for place in range(at, at + length) if length > 1 else ():
                    printed[place] = _Text(printed[place].text, True)
        folds = [one.folds for one in printed if one.folds is not None]
        whole = "".join(folds) if len(folds) == len(printed) else None
        return _Text("".join(self.runs(items, printed)), False, whole)

    def runs(self, items: tuple[Node, ...], printed: list[_Text]) -> Iterator[str]:
        """Yield the items of a sequence, grouping runs that case-insensitive groups shorten.

        The group `(?i:…)` is never used at the start of a pattern, where `regex` would ignore the
        case of the whole set of first characters.
        """
        run: list[_Text] = []
        width = 0
        for item, one in zip(items, printed, strict=True):
            if width and one.folds is not None:
                run.append(one)
            else:
                yield _run_text(run)
                run = []
                yield one.text
            width += least_width(item)
        yield _run_text(run)

    # -- sets

    def chars(self, chars: CharSet) -> _Text:
        if self.dialect is not ONIGURUMA and isinstance(chars, Codes) and len(chars.spans) > 1:
            low = chr(chars.spans[0][0]).lower()
            if low in _LETTERS and low != "i" and chars == characters(case_variants(low)):
                return _Text(self.plain(chars).text, True, low)
        return self.plain(chars)

    def plain(self, chars: CharSet) -> _Text:
        """Return a set as printed outside a case-insensitive group."""
        char = only_character(chars)
        if char is not None:
            text = self.character(char)
            return _Text(text, True, None if _is_cased(char) else text)
        if chars == ANYTHING:
            return _Text("(?m:.)" if self.dialect is ONIGURUMA else "(?s:.)", True)
        if chars == NOTHING:
            return _Text("(?!)", True)
        if chars == complement(_LINE_FEED):
            return _Text(".", True)
        if isinstance(chars, Folded):
            if self.dialect is not PYTHON:
                raise self.refuse("a class without case of the regex package")
            return _Text(f"(?i:{self.plain(chars.of).text})", True)
        if chars in self.sets:
            return _Text(self.sets[chars], True)
        flat = self.flat(chars)
        if flat is not None and not isinstance(chars, (Union, Codes)):
            return _Text(flat, True)
        return _Text(self.bracketed(chars), True)

    def bracketed(self, chars: CharSet) -> str:
        """Return a set as a class in brackets, with nested classes only if necessary."""
        flat = self.flat(chars)
        if flat is not None:
            return f"[{flat}]"
        if isinstance(chars, Complement):
            inner = self.flat(chars.of)
            return f"[^{inner}]" if inner is not None else f"[^{self.nested(chars.of)}]"
        if isinstance(chars, Intersection):
            return f"[{'&&'.join(map(self.nested, chars.members))}]"
        assert isinstance(chars, Union)
        return f"[{''.join(self.flat(one) or self.nested(one) for one in chars.members)}]"

    def nested(self, chars: CharSet) -> str:
        self.uses_nesting = True
        return self.bracketed(chars)

    def flat(self, chars: CharSet) -> str | None:
        """Return the members of a class without brackets; None if a nested class is needed."""
        if chars in self.sets_in_class:
            return self.sets_in_class[chars]
        match chars:
            case Codes(spans):
                return "".join(map(self.span, spans)) or None
            case Property(name):
                return self.property(name, "p")
            case Complement(Property(name)):
                return self.property(name, "P")
            case Union(members):
                parts = [self.flat(one) for one in members]
                return None if None in parts else "".join(part or "" for part in parts)
        return None

    def property(self, name: str, letter: str) -> str | None:
        is_known = name in _KNOWN_PROPERTIES or (
            self.dialect is ONIGURUMA and name in ("Graph", "Print")
        )
        if self.dialect is not PYTHON and not is_known:
            raise self.refuse(rf"the property \p{{{name}}}")
        return rf"\{letter}{{{name}}}"

    def span(self, span: Span) -> str:
        start, end = span
        signs = {start, end} if end - start < 2 else ()
        text = [self.character(chr(code), in_class=True) for code in sorted(signs or span)]
        return "".join(text) if signs else "-".join(text)

    def character(self, char: str, *, in_class: bool = False) -> str:
        code = ord(char)
        if char in (_SIGNS_IN_CLASS if in_class else _SIGNS):
            return "\\" + char
        for name, control in self.dialect.controls.items():
            if char == control:
                return "\\" + name
        if code >= 32 and not any(start <= code <= end for start, end in _UNSEEN):
            return char
        return rf"\U{code:08X}" if self.dialect is PYTHON else rf"\x{{{code:X}}}"


def _is_cased(char: str) -> bool:
    return not char == char.lower() == char.upper() == char.casefold()


def _letter(node: Node, printed: _Text) -> str:
    """Return the one character, in any case, that a node matches; NUL for other nodes."""
    char = only_character(node.of) if isinstance(node, Chars) else None
    return printed.folds if printed.folds and len(printed.folds) == 1 else char or "\0"


def _run_text(run: list[_Text]) -> str:
    if not any(one.is_folded() for one in run):
        return "".join(one.text for one in run)
    text = "".join(one.folds or "" for one in run)
    quantified = re.fullmatch(r"\(\?:([^()\\[\]]*)\)((?:[*+?]|\{[\d,]+\})[?+]?)", text)
    return f"(?i:{quantified[1]}){quantified[2]}" if quantified else f"(?i:{text})"


def _starts(text: str) -> Iterator[int]:
    at = 0
    for length, _ in _folded(text):
        yield at
        at += length


def _times(least: int, most: int | None) -> str:
    match least, most:
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case 0, 1:
            return "?"
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


def print_tree(node: Node, dialect: Dialect) -> str:
    """Return a pattern in `dialect` that has this syntax tree.

    Raises:
        UnsupportedRegexError: the dialect can't express a part of the tree.
    """
    return _Printer(dialect).whole(node)


def print_python(node: Node) -> str:
    """Return a pattern for Python's `regex` package that has this syntax tree."""
    return print_tree(node, PYTHON)


def translate(pattern: str, source: Dialect, target: Dialect) -> str:
    r"""Return a pattern of one dialect in another, unchanged if both read it alike.

    Args:
        pattern: the pattern.
        source: dialect of the pattern.
        target: dialect of the result.

    Raises:
        UnsupportedRegexError: the pattern can't be parsed, or the target can't express it.

    Example:
        >>> translate(r"\h+", ONIGURUMA, PYTHON)
        '[0-9A-Fa-f]+'
    """
    tree = parse(pattern, source)
    if target is PYTHON and ("(?i" in pattern or Chars(NOTHING) in walk(tree)):
        # `regex` reads both constructs wrongly: see `_Printer.runs` and `union`.
        return print_tree(tree, target)
    try:
        if parse(pattern, target) == tree:
            return pattern
    except UnsupportedRegexError:
        pass
    return print_tree(tree, target)
