"""Checks of arguments that raise the errors of Hugging Face's `tokenizers`.

The types are those of PyO3's conversions (`usize`, `u32`, `bool`, `str`). A whole number may be
NumPy's or a boolean, and `bytes` are not text.
"""

from __future__ import annotations

from operator import index
from typing import Any, TypeVar

T = TypeVar("T")


def unsigned(number: Any, bits: int = 64) -> int:
    """Return a whole number as an int.

    Raises:
        TypeError: `number` is not a whole number.
        OverflowError: `number` is negative or needs more than `bits` bits.
    """
    found = index(number)
    if found < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if found >> bits:
        raise OverflowError(f"{found} does not fit {bits} bits")
    return found


def flag(value: Any) -> bool:
    """Return a boolean, Python's or NumPy's, as Python's.

    Raises:
        TypeError: `value` is not a boolean.
    """
    return bool(value) if type(value).__name__ == "bool_" else instance(value, bool)


def instance(value: Any, kind: type[T]) -> T:
    """Return `value` if it is an instance of `kind`.

    Raises:
        TypeError: `value` has another type.
    """
    if isinstance(value, kind):
        return value
    raise TypeError(f"'{type(value).__name__}' object is not an instance of '{kind.__name__}'")


def direction(value: Any) -> str:
    """Return `value` if it is `left` or `right`.

    Raises:
        TypeError: `value` is not a str.
        ValueError: `value` is another word.
    """
    if instance(value, str) not in ("left", "right"):
        raise ValueError(f"Unknown `direction`: `{value}`. Use one of `left` or `right`")
    return str(value)
