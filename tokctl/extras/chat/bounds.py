"""Bounds on the size and time of every operation that a chat template can call.

`FILTERS`, `TESTS`, `FUNCTIONS` and `METHODS` list everything that the sandbox can reach, each with
a bound that is computed before the operation runs. The sandbox refuses operations that are not
listed; a test derives the lists from Jinja2 and Python.
"""

from __future__ import annotations

import re
import string
import sys
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    Set,
    ValuesView,
)
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from jinja2 import Undefined
from jinja2.filters import do_mark_safe
from jinja2.runtime import BlockReference, LoopContext, Macro
from jinja2.utils import Cycler, Joiner, Namespace

#: Jinja2's type of text that is marked as escaped.
Markup: type = type(do_mark_safe(""))

#: Cost, in characters, of reading one element of a list.
VALUE = 64
#: Sizes in characters (1 to 4 bytes each): the overhead of a value, a new value in a list, and a
#: reference in a list.
_HEAD, _NEW, _REFERENCE = 16, 24, 2
#: The most characters that escaping makes of one character (`\\ud83d\\ude00`).
_ESCAPED = 12
#: Characters of a number or separator when written; long integers count their digits, too.
_WRITTEN = 32


class TooMuchValueError(Exception):
    """A value exceeds the limit of `measure`."""


def measure(value: Any, limit: float) -> tuple[int, int]:
    """Return the number of characters and of elements in `value` and all values nested in it.

    A list that occurs several times in another list is counted each time.

    Args:
        value: any value that a template can hold.
        limit: the limit on the characters plus `VALUE` for each element.

    Raises:
        TooMuchValueError: the value exceeds `limit`.
    """
    characters = elements = 0
    stack = [value]
    while stack:
        value = stack.pop()
        kind = type(value)
        inner: Iterable[Any] = ()
        if kind is str:
            characters += len(value)
        elif kind is list or kind is tuple:
            elements += len(value) + 1
            inner = value
        elif kind is dict:
            elements += 2 * len(value) + 1
            inner = chain(value, value.values())
        elif value is None or isinstance(value, (int, float)):
            characters += value.bit_length() >> 3 if isinstance(value, int) else 0
        elif isinstance(value, (str, bytes)):
            characters += len(value)
        elif isinstance(value, range):
            elements += len(value)
        elif isinstance(value, Mapping):
            elements += 2 * len(value) + 1
            inner = chain(value, value.values())
        elif isinstance(value, (list, tuple, Set, KeysView, ValuesView, ItemsView)):
            elements += len(value) + 1
            inner = value
        elif isinstance(value, Namespace):
            elements += 1
            stack.append(value._Namespace__attrs)
        else:
            elements += 1
        for item in inner:
            if type(item) is str:
                characters += len(item)
            else:
                stack.append(item)
        if characters + elements * VALUE > limit:
            raise TooMuchValueError
    return characters, elements


class Operands:
    """Measured arguments of an operation.

    Attributes:
        values: the positional operands; the first is the value that a method or filter works on.
        named: the keyword operands.
        characters: the characters of all operands together.
        elements: the elements of all operands together.
    """

    def __init__(self, values: Sequence[Any], named: dict[str, Any], limit: float) -> None:
        self.values = values
        self.named = named
        self.characters = self.elements = 0
        for value in (*values, *named.values()) if named else values:
            if type(value) is str:
                self.characters += len(value)
            elif value is not None:
                characters, elements = measure(value, limit)
                self.characters += characters
                self.elements += elements

    def get(self, position: int, name: str, default: Any = None) -> Any:
        """Return the operand at `position` or called `name`; `default` if neither is given."""
        if position < len(self.values):
            return self.values[position]
        return self.named.get(name, default)

    def number(self, position: int, name: str, default: int = 0) -> int:
        """Return the absolute value of a numeric operand; 0 if the operand is not a number."""
        value = self.get(position, name, default)
        return abs(int(value)) if isinstance(value, (int, float)) and value == value else 0

    @property
    def first(self) -> int:
        """The length of the first operand; 0 if there is no operand or it has no length."""
        return _length(self.values[0]) if self.values else 0

    @property
    def written(self) -> int:
        """An upper bound on the length of all operands written as text."""
        return _ESCAPED * self.characters + _WRITTEN * self.elements


Bound = Callable[[Operands], int]


@dataclass(frozen=True)
class Cost:
    """Bounds on the result size and the time of an operation, in characters.

    Attributes:
        made: the largest size of the result.
        times: the time to read the operands, as a multiple of the time to copy them. With 0 the
            operands are neither read nor measured.
        more: time on top of `times`; None: no more.
        whole: whether iterators among the operands become lists first, so that they can be
            measured.
    """

    made: Bound
    times: int = 1
    more: Bound | None = None
    whole: bool = False


def _length(value: Any) -> int:
    try:
        return len(value)
    except Exception:
        return 0


def _nothing(_: Operands) -> int:
    return 0


def _copy(times: int) -> Bound:
    return lambda o: _HEAD + times * o.characters + _WRITTEN * o.elements


def _list(item_size: int) -> Bound:
    return lambda o: _HEAD + item_size * (o.elements + len(o.values)) + o.characters


def _pieces(o: Operands) -> int:
    """Bound the list of `split`: a piece per separator, or per two characters without one."""
    text = o.values[0]
    mark = o.get(1, "sep")
    pieces: int = text.count(mark) + 1 if _length(mark) else len(text) // 2 + 1
    max_splits = o.get(2, "maxsplit", -1)
    if isinstance(max_splits, int) and max_splits >= 0:
        pieces = min(pieces, max_splits + 1)
    length: int = len(text)
    return _NEW * pieces + length


def _lines(o: Operands) -> int:
    return _line_count(o.values[0]) + o.first


def _line_count(text: Any) -> int:
    marks = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029" if isinstance(text, str) else b"\n\r"
    lines: int = 1 + sum(text.count(mark) for mark in marks)
    return _NEW * lines


def _wide(name: str, default: int = 0) -> Bound:
    """Bound a text that is padded to the width in the operand `name`."""
    return lambda o: _HEAD + o.written + o.number(1, name, default)


def _bytes_of_number(o: Operands) -> int:
    return _HEAD + o.number(1, "length", 1)


def _tabs(o: Operands) -> int:
    text = o.values[0]
    tabs: int = text.count("\t" if isinstance(text, str) else b"\t")
    return _HEAD + o.first + tabs * o.number(1, "tabsize", 8)


def _replaced(o: Operands) -> int:
    text, old, new = (_text(o.get(at, name, "")) for at, name in enumerate(("s", "old", "new")))
    max_count = o.get(3, "count")
    count: int = text.count(old)
    if isinstance(max_count, int) and max_count >= 0:
        count = min(count, max_count)
    # `Markup.replace` escapes its arguments: one character becomes up to five.
    times = 5 if any(isinstance(value, Markup) for value in o.values) else 1
    length: int = len(text) + count * len(new)
    return _HEAD + times * length


def _text(value: Any) -> Any:
    return value if isinstance(value, (str, bytes)) else str(value)


def _translated(o: Operands) -> int:
    table = o.get(1, "table")
    if isinstance(table, Mapping):
        widest = max(
            (len(replacement) for replacement in table.values() if isinstance(replacement, str)),
            default=1,
        )
        return _HEAD + o.first * max(1, widest)
    return _HEAD + o.first * 5


def _joined(o: Operands) -> int:
    """Bound `mark.join(values)`."""
    return _HEAD + 5 * o.characters + _length(o.get(1, "iterable")) * 5 * o.first


def _joined_filter(o: Operands) -> int:
    mark = o.get(1, "d", "")
    return o.written + _length(o.values[0]) * 5 * len(str(mark))


def _indented(o: Operands) -> int:
    width = o.get(1, "width", 4)
    indent_size = len(width) if isinstance(width, str) else abs(int(width))
    text = o.values[0]
    lines = 2 + (_line_count(text) // _NEW if isinstance(text, str) else 0)
    return _HEAD + 5 * o.characters + lines * (indent_size + 1)


def _wrapped(o: Operands) -> int:
    """Bound `wordwrap`, whose result has at most one line per character."""
    mark = o.get(4, "wrapstring") or "\n"
    width = max(1, o.number(1, "width", 79))
    lines = 2 * (o.first // width + 1) + _line_count(o.values[0]) // _NEW + _words(o.values[0])
    return _HEAD + o.first + min(lines, o.first + 1) * len(mark)


def _words(value: Any) -> int:
    return sum(map(value.count, " \t-")) + 1 if isinstance(value, str) else 1


def _squared(per: int) -> Bound:
    """Bound the time of an operation that reads on from every character: a square over `per`."""
    return lambda o: (o.characters + o.elements) ** 2 // per


def _product(o: Operands) -> int:
    """Bound the time of comparing the other operands with the first at every character."""
    return o.first * (o.characters - o.first) // 8


def _encoded(o: Operands) -> int:
    return _HEAD + o.first * (4 if _is_plain_code(o) else 100)


def _encoding_time(o: Operands) -> int:
    return 0 if _is_plain_code(o) else o.first**2


def _is_plain_code(o: Operands) -> bool:
    code, errors = o.get(1, "encoding", "utf-8"), o.get(2, "errors", "strict")
    return (
        isinstance(code, str)
        and re.sub(r"[^a-z0-9]", "", code.lower()) in _CODES
        and errors in ("strict", "ignore", "replace")
    )


_CODES = {"utf8", "ascii", "latin1", "iso88591", "utf16", "utf16le", "utf16be", "utf32", "cp1252"}


def _lorem(o: Operands) -> int:
    words = max(o.number(2, "min", 20), o.number(3, "max", 100))
    return _HEAD + o.number(0, "n", 5) * (16 * words + _HEAD)


def _filled(name: str) -> Bound:
    """Bound padded lists (`batch`, `slice`): at most the operand `name` plus the elements."""
    return lambda o: _HEAD + _NEW * (o.number(1, name) + o.elements + o.first)


def _precise(o: Operands) -> int:
    """Bound `round`, for which Python computes ten to the power of the precision."""
    return o.number(1, "precision") * 64


def _number(o: Operands) -> int:
    """Bound the time of reading a number from a text."""
    length = o.first
    base = o.get(2, "base", 10)
    longest = sys.get_int_max_str_digits()
    # The time is quadratic. Up to 4,300 digits are cheap, and by default Python refuses longer
    # decimal numbers itself.
    return length**2 if length > 4_300 and (base != 10 or not 0 < longest <= 4_300) else _HEAD


_DIGITS = re.compile(r"\d+")
#: A `%` conversion, from behind the name in parentheses on: flags, width, precision, type.
_PERCENT = re.compile(r"[-#0 +]*(\d+|\*)?(?:\.(\d+|\*)?)?[hlL]?.?", re.DOTALL)
#: Digits of a width that are read; a number of 12 digits exceeds every limit.
_LONGEST_WIDTH = 12


def _largest(digits: Sequence[str | None]) -> int:
    return sum(int(number[:_LONGEST_WIDTH]) for number in digits if number and number.isdigit())


def _percent(o: Operands) -> int:
    """Bound `format % values`, in which each conversion can set a width and a precision."""
    text = o.values[0]
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    if not isinstance(text, str):
        return _HEAD + o.written
    widths = [width for pair in _conversions(text) for width in pair]
    return len(text) + _largest(widths) + _fields(o, len(widths) // 2, widths.count("*"))


def _conversions(text: str) -> Iterator[tuple[str | None, ...]]:
    """Yield width and precision of each `%` conversion: digits, `*` or None."""
    at = text.find("%") + 1
    while at:
        if text.startswith("(", at):
            depth, at = 1, at + 1
            while depth and at < len(text):
                depth += {"(": 1, ")": -1}.get(text[at], 0)
                at += 1
        match = _PERCENT.match(text, at)
        assert match is not None  # the pattern also matches the empty string
        yield match.groups()
        at = text.find("%", match.end()) + 1


def _fields(o: Operands, fields: int, width_asked: int) -> int:
    """Bound the values in `fields` fields, of which `width_asked` take their width from a value."""
    arguments = (*o.values[1:], *o.named.values())
    characters, elements = measure(arguments, float("inf"))
    escaped_size = _ESCAPED * characters + _WRITTEN * (elements + 12)
    return fields * escaped_size + width_asked * _largest_in(arguments) if fields else _HEAD


def _largest_in(values: Any) -> int:
    """Return the largest number in `values`, including numbers that their strings spell."""
    largest, stack = 0, [values]
    while stack:
        value = stack.pop()
        if isinstance(value, int):
            largest = max(largest, abs(value))
        elif isinstance(value, str):
            largest = max([largest, *(int(d[:_LONGEST_WIDTH]) for d in _DIGITS.findall(value))])
        elif isinstance(value, Mapping):
            stack += value.values()
        elif isinstance(value, (list, tuple)):
            stack += value
    return largest


def _format(o: Operands) -> int:
    """Bound `format.format(values)`."""
    text = o.values[0]
    try:
        parts = [part for part in string.Formatter().parse(str(text)) if part[1] is not None]
    except ValueError:
        return len(text)  # formatting fails, too
    specs = [spec or "" for _, _, spec, _ in parts]
    widths = _largest([width for spec in specs for width in _DIGITS.findall(spec)])
    nested = sum(spec.count("{") for spec in specs)
    return len(text) + widths + _fields(o, len(parts) + nested, nested)


def _format_time(o: Operands) -> int:
    """Bound the time of `str.format`, which the sandbox runs in Python, field by field."""
    return 4_000 * (1 + str(o.values[0]).count("{"))


def _json(o: Operands) -> int:
    """Bound JSON text: each element can have its own line, indented by the nesting depth."""
    indent = o.get(2, "indent")
    indent_size = len(indent) if isinstance(indent, str) else o.number(2, "indent")
    marks = o.get(3, "separators")
    length = sum(map(_length, marks)) if isinstance(marks, (list, tuple)) else 0
    return o.written + (o.elements + 1) * (
        length + (indent_size * _depth(o.values[0]) if indent_size else 0)
    )


def _pretty(o: Operands) -> int:
    return o.written + o.elements * _depth(o.values[0]) * 8


def _depth(value: Any) -> int:
    """Return how deeply lists and dicts are nested in each other; 1 for a flat value."""
    deepest, stack = 1, [(value, 1)]
    while stack:
        value, depth = stack.pop()
        deepest = max(deepest, depth)
        inner = value.values() if isinstance(value, Mapping) else value
        if isinstance(value, (list, tuple, Mapping)):
            stack += ((item, depth + 1) for item in inner)
    return deepest


_FREE = Cost(_nothing, times=0)
_TOLD = Cost(_nothing)
_COPIED = Cost(_copy(1))
_CASED = Cost(_copy(3), times=4)
_REFERENCES = Cost(_list(_REFERENCE), whole=True)
_SORTED = Cost(_list(2 * _REFERENCE), times=8, whole=True)
_LAZY = Cost(_nothing)
_ESCAPES = Cost(_copy(6))
_CUT = Cost(_pieces)
_CUT_BACK = Cost(_pieces, more=_product)
_STRIPPED = Cost(_copy(1), more=_product)

#: Costs of the operator `%`, and of writing a value as text. The sandbox itself bounds `+`, `*` and
#: `**`.
PERCENT = Cost(_percent)
WRITTEN = Cost(lambda o: o.written)

FILTERS: dict[str, Cost] = {
    "abs": _TOLD,
    "attr": _FREE,
    "batch": Cost(_filled("linecount")),
    "capitalize": _CASED,
    "center": Cost(_wide("width", 80)),
    "count": _FREE,
    "d": _FREE,
    "default": _FREE,
    "dictsort": _SORTED,
    "e": _ESCAPES,
    "escape": _ESCAPES,
    "filesizeformat": _TOLD,
    "first": _FREE,
    "float": _TOLD,
    "forceescape": _ESCAPES,
    "format": Cost(_percent),
    "groupby": Cost(_list(_NEW), times=8, whole=True),
    "indent": Cost(_indented),
    "int": Cost(_nothing, more=_number),
    "items": _LAZY,
    "join": Cost(_joined_filter, whole=True),
    "last": _FREE,
    "length": _FREE,
    "list": Cost(lambda o: _HEAD + _REFERENCE * o.elements + _NEW * o.characters, whole=True),
    "lower": _CASED,
    "map": _LAZY,
    "max": Cost(_copy(3), times=4, whole=True),
    "min": Cost(_copy(3), times=4, whole=True),
    "pprint": Cost(_pretty, times=64, more=_squared(1)),
    "random": _FREE,
    "reject": _LAZY,
    "rejectattr": _LAZY,
    "replace": Cost(_replaced),
    "reverse": Cost(_copy(1), whole=True),
    "round": Cost(_precise, more=_precise),
    "safe": _COPIED,
    "select": _LAZY,
    "selectattr": _LAZY,
    "slice": Cost(_filled("slices")),
    "sort": _SORTED,
    "string": WRITTEN,
    "striptags": Cost(_copy(2), times=64),
    "sum": Cost(_list(_REFERENCE), times=8, more=_squared(2), whole=True),
    "title": Cost(_copy(12), times=64),
    "tojson": Cost(_json, times=16),
    "trim": _STRIPPED,
    "truncate": Cost(_copy(2)),
    "unique": _LAZY,
    "upper": _CASED,
    "urlencode": Cost(_copy(12), times=16),
    "urlize": Cost(_copy(24), times=64, more=_squared(2)),
    "wordcount": Cost(lambda o: _NEW * o.first, times=8),
    "wordwrap": Cost(_wrapped, times=64, more=_squared(64)),
    "xmlattr": Cost(_copy(12), times=16),
}

#: `divisibleby`, `even` and `odd` apply `%` to their operand, so they format a string.
TESTS: dict[str, Cost] = {
    **dict.fromkeys(("!=", "<", "<=", "==", ">", ">=", "eq", "equalto", "ne"), _TOLD),
    **dict.fromkeys(("ge", "greaterthan", "gt", "le", "lessthan", "lt", "in"), _TOLD),
    **dict.fromkeys(("boolean", "callable", "defined", "escaped", "false", "filter"), _FREE),
    **dict.fromkeys(("float", "integer", "iterable", "mapping", "none", "number"), _FREE),
    **dict.fromkeys(("sameas", "sequence", "string", "test", "true", "undefined"), _FREE),
    **dict.fromkeys(("lower", "upper"), _TOLD),
    **dict.fromkeys(("divisibleby", "even", "odd"), PERCENT),
}

#: Costs of the sandbox's globals, by name. Jinja2 itself limits `range`.
FUNCTIONS: dict[str, Cost] = {
    "cycler": _REFERENCES,
    "dict": Cost(_list(2 * _NEW), whole=True),
    "joiner": _FREE,
    "lipsum": Cost(_lorem, more=lambda o: 32 * _lorem(o)),
    "namespace": Cost(_list(2 * _NEW)),
    "raise_exception": WRITTEN,
    "range": _FREE,
    "strftime_now": Cost(
        lambda o: _HEAD + o.characters * 64 + _largest_in(o.values) * o.characters
    ),
}

#: Callable types that templates create; the steps in their bodies are counted there.
CALLED: tuple[type, ...] = (Macro, BlockReference, LoopContext, Joiner, Undefined)

_TEXT: dict[str, Cost] = {
    **dict.fromkeys(("capitalize", "lower", "swapcase", "title", "upper"), _CASED),
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), Cost(_wide("width"))),
    **dict.fromkeys(("count", "endswith", "find", "index", "startswith"), _TOLD),
    **dict.fromkeys(("isalnum", "isalpha", "isascii", "isdigit", "islower"), _TOLD),
    **dict.fromkeys(("isspace", "istitle", "isupper"), _TOLD),
    **dict.fromkeys(("lstrip", "rstrip", "strip"), _STRIPPED),
    **dict.fromkeys(("partition", "removeprefix", "removesuffix"), _COPIED),
    **dict.fromkeys(("rfind", "rindex"), Cost(_nothing, more=_product)),
    "expandtabs": Cost(_tabs),
    "join": Cost(_joined, whole=True),
    "maketrans": Cost(_list(2 * _NEW), times=8),
    "replace": Cost(_replaced),
    "rpartition": Cost(_copy(1), more=_product),
    "rsplit": _CUT_BACK,
    "split": _CUT,
    "splitlines": Cost(_lines),
    "translate": Cost(_translated, times=8),
}

#: Costs of methods by type. None: templates must not call the method.
METHODS: dict[type, dict[str, Cost | None]] = {
    str: {
        **_TEXT,
        **dict.fromkeys(("isdecimal", "isidentifier", "isnumeric", "isprintable"), _TOLD),
        "casefold": _CASED,
        "encode": Cost(_encoded, more=_encoding_time),
        "format": Cost(_format, more=_format_time),
        "format_map": Cost(_format, more=_format_time),
    },
    Markup: {
        "escape": _ESCAPES,
        "striptags": Cost(_copy(2), times=64),
        "unescape": Cost(_copy(2), times=64),
    },
    bytes: {
        **_TEXT,
        "decode": Cost(_encoded, more=_encoding_time),
        "fromhex": _COPIED,
        "hex": Cost(_copy(3)),
    },
    int: {
        **dict.fromkeys(("as_integer_ratio", "bit_count", "bit_length", "conjugate"), _TOLD),
        **dict.fromkeys(("from_bytes", "is_integer"), _TOLD),
        "to_bytes": Cost(_bytes_of_number),
    },
    float: dict.fromkeys(
        ("as_integer_ratio", "conjugate", "from_number", "fromhex", "hex", "is_integer"), _TOLD
    ),
    complex: dict.fromkeys(("conjugate", "from_number"), _TOLD),
    list: {
        **dict.fromkeys(("append", "clear", "extend", "insert", "pop", "remove", "reverse")),
        "copy": _REFERENCES,
        "count": _TOLD,
        "index": _TOLD,
        "sort": None,
    },
    tuple: dict.fromkeys(("count", "index"), _TOLD),
    range: dict.fromkeys(("count", "index"), _TOLD),
    dict: {
        **dict.fromkeys(("clear", "pop", "popitem", "setdefault", "update")),
        **dict.fromkeys(("get", "items", "keys", "values"), _FREE),
        "copy": Cost(_list(_NEW)),
        "fromkeys": Cost(_list(2 * _NEW), whole=True),
    },
    set: {
        **dict.fromkeys(("add", "clear", "difference_update", "discard", "intersection_update")),
        **dict.fromkeys(("pop", "remove", "symmetric_difference_update", "update")),
        **dict.fromkeys(("isdisjoint", "issubset", "issuperset"), _TOLD),
        **dict.fromkeys(("copy", "difference", "intersection"), Cost(_list(_NEW), whole=True)),
        **dict.fromkeys(("symmetric_difference", "union"), Cost(_list(_NEW), whole=True)),
    },
    type({}.keys()): {"isdisjoint": _TOLD},
    type({}.items()): {"isdisjoint": _TOLD},
    type({}.values()): {},
    type({}.keys().mapping): {
        **dict.fromkeys(("get", "items", "keys", "values"), _FREE),
        "copy": Cost(_list(_NEW)),
    },
    type(_ for _ in ()): dict.fromkeys(("close", "send", "throw")),
    Cycler: dict.fromkeys(("next", "reset"), _FREE),
    LoopContext: {"changed": _TOLD, "cycle": _FREE},
    Joiner: {},
    Macro: {},
    Namespace: {},
    BlockReference: {},
}


def method_cost(function: Any) -> tuple[Cost | None, Any]:
    """Return the cost of a method and its object; the cost is None if templates must not call it.

    The object is None for static and class methods.
    """
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if owner is None:  # a static method has only its qualified name
        kind: type = {"str.maketrans": str, "bytes.maketrans": bytes}.get(
            getattr(function, "__qualname__", ""), object
        )
    else:
        kind = owner if isinstance(owner, type) else type(owner)
    return _listed(kind, name), None if isinstance(owner, type) else owner


@cache
def _listed(kind: type, name: str) -> Cost | None:
    return next(
        (METHODS[base][name] for base in kind.__mro__ if name in METHODS.get(base, ())), None
    )


def shallow(value: Any) -> int:
    """Return the size of a new value in characters, without the values nested in it."""
    if type(value) is str or isinstance(value, (str, bytes)):
        return _HEAD + len(value)
    if isinstance(value, (list, tuple)):
        return _HEAD + _REFERENCE * len(value)
    return _HEAD


def is_lazy(value: Any) -> bool:
    """Return whether `value` is an iterator, which makes its elements while it is read."""
    return isinstance(value, Iterator)
