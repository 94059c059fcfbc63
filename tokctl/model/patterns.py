"""Splitting text into pre-tokens: named patterns natively, other patterns with `regex`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from time import process_time
from typing import Any

from tokctl import _native
from tokctl.core.errors import BadInput, BadOption

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
)
_CASED = r"\p{Lm}\p{Lo}\p{M}]"

#: The pattern of each named pre-tokenizer, in the syntax of the `regex` package. The first four
#: drop the text between matches; the others keep every byte.
PATTERNS = {
    "whitespace": r"\S+",
    "whitespace-punctuation": r"\w+|[^\w\s]+",
    "bert": r"[^\s\p{P}$+<=>^`|~]+|[\p{P}$+<=>^`|~]",
    "gpt2-words": r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+",
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    # tiktoken's cl100k_base keeps white space at the end of a text together. Files converted to
    # Hugging Face's format do not; their pattern is llama3.
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"
        r" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "llama3": _LLAMA3,
    "qwen2": _LLAMA3.replace("{1,3}", ""),
    "o200k": (
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}{_CASED}*[\p{{Ll}}{_CASED}+{_CONTRACTIONS}?|"
        rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}{_CASED}+[\p{{Ll}}{_CASED}*{_CONTRACTIONS}?|"
        rf"\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
    ),
    "characters": r"(?s:.)",
    "graphemes": r"\X",
}

#: The patterns of DeepSeek-V3 (`deepseek-v3`), applied one after the other; each isolates its
#: matches. DeepSeek's own file has literal CR and LF characters in the third pattern.
DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
    r" ?[\p{P}\p{S}]+[\r\n]*|" + _SPACES,
)

#: Longest digit group: other libraries' engines refuse more repetitions or become slow.
LONGEST_GROUP = 1000


def digit_groups(length: int) -> str:
    """Return the pattern that matches the groups of the pre-tokenizer `digit-groups`."""
    return rf"\p{{N}}{{1,{length}}}(?=(?:\p{{N}}{{{length}}})*(?!\p{{N}}))"


def group_length(pattern: str) -> int | None:
    """Return the length for which `pattern` equals `digit_groups(length)`, else None."""
    match = re.match(r"\\p\{N\}\{1,([1-9]\d{0,3})\}", pattern)
    length = int(match[1]) if match else None
    return length if length and pattern == digit_groups(length) else None


#: Patterns found in known model files, with the native scanner that splits a text like a Hugging
#: Face `Split` at the pattern with isolated matches. Each pattern matches all text, so `Split`
#: with `invert` and the behaviour `removed` gives an equal result.
KNOWN_PATTERNS: dict[str, str] = {
    **{PATTERNS[name]: name for name in ("gpt2", "cl100k", "llama3", "qwen2", "o200k")},
    # tiktoken's later spellings: r50k_base, and cl100k_base before `\s++$`.
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "gpt2",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": "gpt2",
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "gpt2",
    (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}|"
        r" ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ): "llama3",
}

#: Like `KNOWN_PATTERNS`, for patterns that isolate their matches one after the other.
KNOWN_SEQUENCES: dict[tuple[str, ...], str] = {
    DEEPSEEK_V3: "deepseek-v3",
    tuple(part.replace(r"\r\n", "\r\n") for part in DEEPSEEK_V3): "deepseek-v3",
}


@lru_cache(maxsize=64)
def compile_pattern(name: str) -> Any:
    """Return the compiled PATTERN of `regex:PATTERN`.

    Raises:
        TokctlError: the pattern is empty, too large, or does not compile.
    """
    import regex

    pattern = name.removeprefix("regex:")
    if not pattern:
        raise BadOption(
            "the pattern is empty", "give one after the colon: regex:\\w+|\\W+", "bad-value"
        )
    check_size(pattern)
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise BadOption(
            f"the pattern {pattern!r} does not compile: {error}",
            "patterns are those of Python's regex package; quote them for the shell",
            "bad-value",
        ) from None


#: Most parts of a compiled pattern. `regex` copies a part once per repetition, and nested
#: quantifiers multiply. This many parts take about 0.1 s and 100 MB.
_MAX_PARTS = 100_000
#: Most characters of a pattern, before compilation.
_MAX_LENGTH = 100_000
#: One syntax element. An unclosed class extends to the end, so scanning takes linear time.
_PART = re.compile(
    r"\\[pPNgk]\{[^}]{0,99}\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*(?:\]|\\?\Z)|\{(\d*)(?:,(\d*))?\}|.",
    re.DOTALL,
)


def check_size(pattern: str) -> None:
    """Raise an error if compiling the pattern would take too much memory.

    Raises:
        TokctlError: the pattern has too many characters, or too many parts after repetition.
    """
    if len(pattern) > _MAX_LENGTH:
        raise BadOption(
            f"the pattern {pattern[:40]!r}… has {len(pattern):,} characters",
            f"use at most {_MAX_LENGTH:,}; to find many texts, use replacements or added tokens",
            "bad-value",
        )
    open_groups: list[int] = []
    total = last = 0
    for part in _PART.finditer(pattern):
        if part[0] == "(":
            open_groups.append(total + last)
            total = last = 0
        elif part[0] == ")":
            total, last = open_groups.pop() if open_groups else 0, total + last
        elif part[1] is None:
            total, last = total + last, 1
        else:
            last *= max(int(number[:9] or 1) for number in (part[1], part[2] or ""))
        if total + last > _MAX_PARTS:
            raise BadOption(
                f"the pattern {pattern!r:.80} is too large to compile",
                f"repeat less: its quantifiers make more than {_MAX_PARTS:,} parts of it",
                "bad-value",
            )


@lru_cache(maxsize=64)
def can_backtrack(pattern: str) -> bool:
    """Return whether a search for the pattern could take more than quadratic time.

    Three constructs can cause this: a repeated group that matches one text in several ways, as in
    `(a|aa)+`; three repetitions in a row; and a pattern that calls itself. Atomic groups and
    possessive quantifiers never backtrack.
    """
    if re.search(r"\(\?(?:R|&|P>|[+-]?\d)", pattern):
        return True
    open_groups: list[tuple[int, int, bool, bool]] = []
    loops = most_loops = 0  # repetitions in this alternative; most in an earlier alternative
    choices = False
    inner: tuple[int, bool] = (0, False)  # loops and choices of the group that just closed
    parts = list(_PART.finditer(pattern))
    index = 0
    while index < len(parts):
        part = parts[index][0]
        index += 1
        if part == "(":
            is_atomic = pattern.startswith("(?>", parts[index - 1].start())
            open_groups.append((loops, most_loops, choices, is_atomic))
            loops, most_loops, choices = 0, 0, False
            index += pattern.startswith("(?", parts[index - 1].start())
        elif part == ")" and open_groups:
            inner = (max(loops, most_loops), choices)
            loops, most_loops, choices, is_atomic = open_groups.pop()
            inner = (0, False) if is_atomic else inner
            loops, choices = loops + inner[0], choices or inner[1]
            continue
        elif part == "|":
            loops, most_loops, choices = 0, max(loops, most_loops), True
        elif part in ("*", "+", "?") or parts[index - 1][1] is not None:
            least, greatest = parts[index - 1][1], parts[index - 1][2]
            following = parts[index][0] if index < len(parts) else ""
            index += following in ("+", "?")
            is_fixed = least is not None and greatest is None
            if following == "+" or is_fixed:
                pass
            elif part == "?" or (greatest and int(greatest[:9]) < _MANY_REPEATS):
                choices = True
            elif inner[0] or inner[1]:
                return True
            else:
                loops, choices = loops + 1, True
        if loops >= _MAX_LOOPS:
            return True
        inner = (0, False)
    return False


#: Repetitions in a row from which a search may take more than quadratic time.
_MAX_LOOPS = 3
#: A bounded repetition with at least this maximum counts as unbounded.
_MANY_REPEATS = 10


def seconds(size: int) -> float:
    """Return the time limit, in seconds of processor time, for a search in `size` bytes.

    The limit is for patterns with `can_backtrack`. Processor time is summed over all threads of
    the process, which may be busy with other work, so the limit grows with the processors.
    """
    return (1 + size / 50_000) * (os.cpu_count() or 1)


def split(name: str, text: bytes) -> list[tuple[int, int]]:
    """Return the pre-tokens of `text` as byte ranges, in order.

    For `regex:PATTERN` the pre-tokens are the non-empty matches and the text between them, so
    nothing is dropped.
    """
    if not name.startswith("regex:"):
        return _native.pre_tokens(name, text)
    # Each byte that is not UTF-8 becomes one character, as in the native scanners.
    characters = text.decode("utf-8", "surrogateescape")
    ranges = list(matches_and_gaps(name, characters))
    if len(characters) == len(text):
        return ranges
    starts = byte_offsets(characters)
    return [(starts[start], starts[end]) for start, end in ranges]


def matches_and_gaps(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the pre-tokens of `regex:PATTERN` as character ranges, in order and without gaps."""
    pattern = name.removeprefix("regex:")
    limit = seconds(len(text)) if can_backtrack(pattern) else None
    try:
        spans = matches(compile_pattern(name), text, limit)
    except TimeoutError:
        raise BadInput(
            takes_too_long(pattern, len(text.encode("utf-8", "surrogateescape"))),
            "write it so that a text can be matched in one way only: a+ for (a|aa)+",
            "too-large",
        ) from None
    gap_start = 0
    for start, end in spans:
        if start == end:
            continue
        if start > gap_start:
            yield gap_start, start
        yield start, end
        gap_start = end
    if gap_start < len(text):
        yield gap_start, len(text)


def matches(compiled: Any, text: str, limit: float | None = None) -> list[tuple[int, int]]:
    """Return the matches of a compiled pattern as ascending, disjoint character ranges.

    Matching follows Oniguruma and Rust's `regex`, not Python: a match may not be empty at the end
    of the previous match, and the search continues one character after an empty match.

    Args:
        compiled: pattern of the `regex` package.
        text: the text to search.
        limit: most processor time, in seconds; None: no limit.

    Raises:
        TimeoutError: the search took longer than `limit`.
    """
    ranges: list[tuple[int, int]] = []
    last_end = 0
    for match in compiled.finditer(text, timeout=limit):
        start, end = match.span()
        if start == end:
            return ranges + _matches_with_empty(compiled, text, (last_end, bool(ranges)), limit)
        # A pattern with look-behind or \K can match inside text that is already covered.
        if last_end <= start < end:
            ranges.append((start, end))
            last_end = end
    return ranges


def _matches_with_empty(
    compiled: Any, text: str, start_state: tuple[int, bool], limit: float | None
) -> list[tuple[int, int]]:
    """Return the matches from an offset on, empty ones included.

    Args:
        compiled: pattern of the `regex` package.
        text: the text to search.
        start_state: the character offset to start from, and whether a match ends there.
        limit: most processor time, in seconds; None: no limit.
    """
    ranges: list[tuple[int, int]] = []
    last_end, has_previous = start_state
    offset = last_end
    started = process_time()
    while offset <= len(text):
        remaining = limit and max(limit - (process_time() - started), 1e-6)
        match = compiled.search(text, offset, timeout=remaining)
        if match is None:
            break
        start, end = match.span()
        if not last_end <= start <= end or (start == end == last_end and has_previous):
            offset += 1
            continue
        ranges.append((start, end))
        offset = last_end = end
        has_previous = True
    return ranges


def takes_too_long(pattern: str, size: int) -> str:
    """Return the error message for a search in `size` bytes that exceeded its time limit."""
    return (
        f"the pattern {pattern!r:.80} takes too long for a text of {size:,} bytes: it tries "
        "the same characters in too many ways"
    )


def byte_offsets(text: str) -> list[int]:
    """Return the offset in UTF-8 bytes of each character of `text`, and of its end.

    A surrogate from `surrogateescape` counts as one byte.
    """
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
