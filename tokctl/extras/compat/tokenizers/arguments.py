"""Checks of arguments that raise the errors of Hugging Face's `tokenizers`.

The types are those of PyO3's conversions (`usize`, `u32`, `bool`, `str`). A whole number may be
NumPy's or a boolean, and `bytes` are not text.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, TypeVar

T = TypeVar("T")

#: A text, or the words of a text.
TextOrWords = str | Sequence[str]


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


def _words(value: Any) -> Any:
    """Return the words of a list, tuple or NumPy array of str; None for other values."""
    if hasattr(value, "tolist") and not isinstance(value, str):
        value = value.tolist()
    is_words = isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
    return value if is_words else None


def text_or_words(value: Any, is_pretokenized: bool) -> TextOrWords:
    """Return a text, or the words of a text, after checking the type.

    Raises:
        TypeError: `value` is neither a text nor, with `is_pretokenized`, a list of words.
    """
    if not is_pretokenized:
        if isinstance(value, str):
            return value
        raise TypeError("TextInputSequence must be str")
    words: list[str] | None = _words(value)
    if words is None:
        raise TypeError("PreTokenizedInputSequence must be Union[List[str], Tuple[str]]")
    return words


def text_or_pair(value: Any, is_pretokenized: bool) -> tuple[TextOrWords, TextOrWords | None]:
    """Return an entry of a batch as a text or word list, and an optional second one.

    Raises:
        TypeError: `value` is none of these.
    """
    if not is_pretokenized:
        if isinstance(value, str):
            return value, None
        if isinstance(value, (list, tuple)) and len(value) == 2:
            return text_or_words(value[0], False), text_or_words(value[1], False)
        raise TypeError(
            "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"
        )
    words = _words(value)
    if words is not None:
        return words, None
    if isinstance(value, (list, tuple)) and len(value) == 2:
        both = [_words(one) for one in value]
        if None not in both:
            return both[0], both[1]
    raise TypeError(
        "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, "
        "Tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]]"
    )
