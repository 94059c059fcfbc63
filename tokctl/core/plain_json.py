"""A replacement for orjson based on the standard library, used by `tokctl.core.orjson`.

The module writes the same bytes as orjson, and reads and refuses the same texts, except texts with
values nested hundreds of levels deep. It is slower, and its messages about damaged JSON differ.
"""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from enum import Enum
from json import JSONDecodeError
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, NamedTuple, NoReturn

OPT_INDENT_2 = 1
OPT_SORT_KEYS = 1 << 5
OPT_APPEND_NEWLINE = 1 << 10

#: An escape that may be half of a surrogate pair.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Fragment(NamedTuple):
    """JSON text that is written unchanged."""

    contents: str | bytes


def loads(given: bytes | bytearray | memoryview | str) -> Any:
    """Return the value of a JSON text.

    Unlike `json.loads`, this function refuses NaN, infinities, numbers beyond a double and half
    surrogate pairs, and reads whole numbers beyond 64 bits as floats.

    Raises:
        JSONDecodeError: `given` is not valid JSON.
    """
    data = given.encode(errors="surrogatepass") if isinstance(given, str) else bytes(given)
    try:
        text = data.decode()
        found = _DECODER.decode(text)
        if _SURROGATE.search(data):
            _written(found, 0).encode()
    except UnicodeError:
        raise JSONDecodeError("str is not valid UTF-8: surrogates not allowed", "", 0) from None
    except RecursionError:
        raise JSONDecodeError("Recursion limit reached", "", 0) from None
    return found


def dumps(value: Any, *, option: int = 0) -> bytes:
    """Return `value` as JSON text.

    Args:
        value: None, a bool, number, string, list, tuple, dict with string keys, dataclass, enum or
            `Fragment`.
        option: the sum of `OPT_…` flags.

    Raises:
        TypeError: a value can't be written as JSON.
    """
    text = _written(value, option)
    try:
        return (text + "\n" if option & OPT_APPEND_NEWLINE else text).encode()
    except UnicodeError:
        raise TypeError("str is not valid UTF-8: surrogates not allowed") from None


def _integer(digits: str) -> int | float:
    value = int(digits) if len(digits) < 21 else 1 << 64
    return value if -(1 << 63) <= value < 1 << 64 else _double(digits)


def _double(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise JSONDecodeError("number is infinity when parsed as double", "", 0)
    return value


def _no_number(name: str) -> NoReturn:
    raise JSONDecodeError(f"unexpected {name}", "", 0)


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_double, parse_constant=_no_number)


def _written(value: Any, option: int) -> str:
    """Return `value` as JSON text, recursively: tokctl's data is never nested deeply."""
    parts: list[str] = []
    indents = option & OPT_INDENT_2

    def sequence(brackets: str, items: list[tuple[str, Any]], depth: int) -> None:
        inner = "\n" + "  " * (depth + 1) if indents else ""
        between = brackets[0] + inner
        for key, item in items:
            parts.append(between + key)
            write(item, depth + 1)
            between = "," + inner
        outer = "\n" + "  " * depth if indents and items else ""
        parts.append(outer + brackets[1] if items else brackets)

    def write(value: Any, depth: int) -> None:
        if isinstance(value, str):
            parts.append(encode_basestring(value))
        elif value is None or value is True or value is False:
            parts.append({None: "null", True: "true", False: "false"}[value])
        elif isinstance(value, int):
            if not -(1 << 63) <= value < 1 << 64:
                raise TypeError("Integer exceeds 64-bit range")
            parts.append(int.__repr__(value))
        elif isinstance(value, float):
            parts.append(_float(value))
        elif isinstance(value, Fragment):
            contents = value.contents
            parts.append(contents if isinstance(contents, str) else contents.decode())
        elif isinstance(value, (list, tuple)):
            sequence("[]", [("", item) for item in value], depth)
        elif isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise TypeError("Dict key must be str")
            keys = sorted(value) if option & OPT_SORT_KEYS else value
            colon = ": " if indents else ":"
            items = [(encode_basestring(key) + colon, value[key]) for key in keys]
            sequence("{}", items, depth)
        elif is_dataclass(value):
            names = [field.name for field in fields(value) if not field.name.startswith("_")]
            write({name: getattr(value, name) for name in names}, depth)
        elif isinstance(value, Enum):
            write(value.value, depth)
        else:
            raise TypeError(f"Type is not JSON serializable: {type(value).__name__}")

    write(value, 0)
    return "".join(parts)


def _float(value: float) -> str:
    """Return the shortest digits of a float, like Python, but with exponents like orjson."""
    if not isfinite(value):
        return "null"
    digits, _, exponent = float.__repr__(value).partition("e")
    if not exponent:
        return digits
    if exponent == "-05":
        sign = "-" if value < 0 else ""
        return f"{sign}0.0000{digits.lstrip('-').replace('.', '')}"
    return f"{digits}e{int(exponent):+}"
