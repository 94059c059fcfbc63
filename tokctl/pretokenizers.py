"""Splitting a text into pre-tokens: native scanners by name, any other pattern by `regex`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Any

from tokctl import _native
from tokctl.errors import TokctlError

#: What each name stands for, as a pattern of the `regex` package. The first three drop
#: what the pattern does not match; the others keep every byte.
PATTERNS = {
    "whitespace": r"\S+",
    "bert": r"[^\s\p{P}$+<=>^`|~]+|[\p{P}$+<=>^`|~]",
    "gpt2-words": r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+",
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
}


@lru_cache(maxsize=64)
def compile_pattern(name: str) -> Any:
    """The compiled PATTERN of `regex:PATTERN`; TokctlError where it does not compile."""
    import regex

    pattern = name.removeprefix("regex:")
    if not pattern:
        raise TokctlError("the pattern is empty", "give one behind the colon: regex:\\w+|\\W+")
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise TokctlError(
            f"the pattern {pattern!r} does not compile: {error}",
            "patterns are those of Python's regex package; quote them for the shell",
        ) from None


def split(name: str, text: bytes) -> list[tuple[int, int]]:
    """The pre-tokens of `text` as byte ranges, in order.

    For `regex:PATTERN` these are the matches that are not empty and the stretches
    between them: nothing is dropped.
    """
    if not name.startswith("regex:"):
        return _native.pre_tokens(name, text)
    # A byte that is not UTF-8 is a character of its own, as for the native scanners.
    characters = text.decode("utf-8", "surrogateescape")
    ranges = list(matches_and_gaps(name, characters))
    if len(characters) == len(text):
        return ranges
    starts = byte_offsets(characters)
    return [(starts[start], starts[end]) for start, end in ranges]


def matches_and_gaps(name: str, text: str) -> Iterator[tuple[int, int]]:
    """The pre-tokens of `regex:PATTERN` as character ranges, one after the other."""
    done = 0
    for match in compile_pattern(name).finditer(text):
        start, end = match.span()
        # A pattern with look-behind or \K can match behind what is done already.
        if end <= start or start < done:
            continue
        if start > done:
            yield done, start
        yield start, end
        done = end
    if done < len(text):
        yield done, len(text)


def byte_offsets(text: str) -> list[int]:
    """For every character of `text`, and its end, the offset in its UTF-8 bytes."""
    widths = (
        1
        if char < "\x80" or "\udc80" <= char <= "\udcff"
        else 2
        if char < "\u0800"
        else 3
        if char < "\U00010000"
        else 4
        for char in text
    )
    return list(accumulate(widths, initial=0))
