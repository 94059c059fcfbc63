"""Splitting a text into pre-tokens: native scanners by name, any other pattern by `regex`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from time import process_time
from typing import Any

from tokctl import _native
from tokctl.errors import TokctlError

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
)
_CASED = r"\p{Lm}\p{Lo}\p{M}]"

#: What each name stands for, as a pattern of the `regex` package. The first four drop
#: what the pattern does not match; the others keep every byte.
PATTERNS = {
    "whitespace": r"\S+",
    "whitespace-punctuation": r"\w+|[^\w\s]+",
    "bert": r"[^\s\p{P}$+<=>^`|~]+|[\p{P}$+<=>^`|~]",
    "gpt2-words": r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+",
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    # tiktoken's cl100k_base keeps white space at the end of a text together; the files
    # that were converted to Hugging Face's format do not: those are llama3.
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

#: The patterns of DeepSeek-V3 (`deepseek-v3`), which isolate their matches one after the
#: other. In that model's file CR and LF stand in the third one as themselves.
DEEPSEEK_V3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
    r" ?[\p{P}\p{S}]+[\r\n]*|" + _SPACES,
)

#: Other libraries' engines repeat a part no more often than this, or become slow.
LONGEST_GROUP = 1000


def digit_groups(length: int) -> str:
    """The pattern whose matches are the groups of `digit-groups`."""
    return rf"\p{{N}}{{1,{length}}}(?=(?:\p{{N}}{{{length}}})*(?!\p{{N}}))"


def group_length(pattern: str) -> int | None:
    """The length whose `digit_groups` a pattern is; None for every other pattern."""
    found = re.match(r"\\p\{N\}\{1,([1-9]\d{0,3})\}", pattern)
    length = int(found[1]) if found else None
    return length if length and pattern == digit_groups(length) else None


#: Patterns that model files are known to hold, and the native scanner that splits a text
#: as a `Split` at the pattern does whose matches are isolated. Each pattern matches
#: everything, so one that is inverted and removed does the same.
KNOWN_PATTERNS: dict[str, str] = {
    **{PATTERNS[name]: name for name in ("gpt2", "cl100k", "llama3", "qwen2", "o200k")},
    # tiktoken's later spellings of the same: r50k_base, and cl100k_base before `\s++$`.
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "gpt2",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": "gpt2",
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "gpt2",
    (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}|"
        r" ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ): "llama3",
}

#: Sequences of patterns whose matches are isolated one after the other.
KNOWN_SEQUENCES: dict[tuple[str, ...], str] = {
    DEEPSEEK_V3: "deepseek-v3",
    tuple(part.replace(r"\r\n", "\r\n") for part in DEEPSEEK_V3): "deepseek-v3",
}


@lru_cache(maxsize=64)
def compile_pattern(name: str) -> Any:
    """The compiled PATTERN of `regex:PATTERN`; TokctlError if it does not compile."""
    import regex

    pattern = name.removeprefix("regex:")
    if not pattern:
        raise TokctlError("the pattern is empty", "give one after the colon: regex:\\w+|\\W+")
    check_size(pattern)
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise TokctlError(
            f"the pattern {pattern!r} does not compile: {error}",
            "patterns are those of Python's regex package; quote them for the shell",
        ) from None


#: A pattern is compiled to as many copies of a part as a quantifier counts, and quantifiers
#: multiply: no more parts than these, which are a tenth of a second and of a hundred megabytes.
_MOST_PARTS = 100_000
#: In characters, as it is written.
_LONGEST = 100_000
#: What is open at the end goes on to the end, so that every pattern is read in linear time.
_PART = re.compile(
    r"\\[pPNgk]\{[^}]{0,99}\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*(?:\]|\\?\Z)|\{(\d*)(?:,(\d*))?\}|.",
    re.DOTALL,
)


def check_size(pattern: str) -> None:
    """TokctlError, before it is compiled, for a pattern that would fill the memory."""
    if len(pattern) > _LONGEST:
        raise TokctlError(
            f"the pattern {pattern[:40]!r}… has {len(pattern):,} characters",
            f"it can have {_LONGEST:,}; replacements and added tokens find many texts at once",
        )
    outer: list[int] = []
    total = last = 0
    for part in _PART.finditer(pattern):
        if part[0] == "(":
            outer.append(total + last)
            total = last = 0
        elif part[0] == ")":
            total, last = outer.pop() if outer else 0, total + last
        elif part[1] is None:
            total, last = total + last, 1
        else:
            last *= max(int(number[:9] or 1) for number in (part[1], part[2] or ""))
        if total + last > _MOST_PARTS:
            raise TokctlError(
                f"the pattern {pattern!r:.80} is too large to compile",
                f"its quantifiers make more than {_MOST_PARTS:,} parts of it: count less",
            )


@lru_cache(maxsize=64)
def can_backtrack(pattern: str) -> bool:
    """Could a search for the pattern take more than quadratic time?

    It could where a repeated group can match the same text in several ways, as in `(a|aa)+`, where
    three repetitions stand one after the other, and where a pattern calls itself. Atomic groups
    and possessive quantifiers never look back.
    """
    if re.search(r"\(\?(?:R|&|P>|[+-]?\d)", pattern):
        return True
    outer: list[tuple[int, int, bool, bool]] = []
    loops = most = 0  # of this alternative, and of those before it
    choices = False
    inner: tuple[int, bool] = (0, False)  # loops and choices of the group that was just closed
    parts = list(_PART.finditer(pattern))
    at = 0
    while at < len(parts):
        part = parts[at][0]
        at += 1
        if part == "(":
            is_atomic = pattern.startswith("(?>", parts[at - 1].start())
            outer.append((loops, most, choices, is_atomic))
            loops, most, choices = 0, 0, False
            at += pattern.startswith("(?", parts[at - 1].start())
        elif part == ")" and outer:
            inner = (max(loops, most), choices)
            loops, most, choices, is_atomic = outer.pop()
            inner = (0, False) if is_atomic else inner
            loops, choices = loops + inner[0], choices or inner[1]
            continue
        elif part == "|":
            loops, most, choices = 0, max(loops, most), True
        elif part in ("*", "+", "?") or parts[at - 1][1] is not None:
            least, greatest = parts[at - 1][1], parts[at - 1][2]
            behind = parts[at][0] if at < len(parts) else ""
            at += behind in ("+", "?")
            is_fixed = least is not None and greatest is None
            if behind == "+" or is_fixed:
                pass
            elif part == "?" or (greatest and int(greatest[:9]) < _MANY):
                choices = True
            elif inner[0] or inner[1]:
                return True
            else:
                loops, choices = loops + 1, True
        if loops >= _LOOPS:
            return True
        inner = (0, False)
    return False


#: Repetitions one behind the other.
_LOOPS = 3
#: As often a part is repeated without a limit, as good as.
_MANY = 10


def seconds(size: int) -> float:
    """Processor time that a search in so many bytes may take where `can_backtrack` says that it
    could go on for ages. All threads of the process are counted, and may be at work elsewhere."""
    return (1 + size / 50_000) * (os.cpu_count() or 1)


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
    pattern = name.removeprefix("regex:")
    limit = seconds(len(text)) if can_backtrack(pattern) else None
    try:
        spans = matches(compile_pattern(name), text, limit)
    except TimeoutError:
        raise TokctlError(
            takes_too_long(pattern, len(text.encode("utf-8", "surrogateescape"))),
            "write it so that a text can be matched in one way only: a+ for (a|aa)+",
        ) from None
    done = 0
    for start, end in spans:
        if start == end:
            continue
        if start > done:
            yield done, start
        yield start, end
        done = end
    if done < len(text):
        yield done, len(text)


def matches(compiled: Any, text: str, limit: float | None = None) -> list[tuple[int, int]]:
    """The matches of a compiled pattern as character ranges, ascending, none in another.

    As Oniguruma and Rust's `regex` search, and unlike Python: no match is empty where the last one
    ended, and behind an empty one the search goes on a character further.

    limit: processor time in seconds.

    Raises:
        TimeoutError: the search took longer.
    """
    found: list[tuple[int, int]] = []
    done = 0
    for match in compiled.finditer(text, timeout=limit):
        start, end = match.span()
        if start == end:
            return found + _with_empty_ones(compiled, text, (done, bool(found)), limit)
        # A pattern with look-behind or \K can match behind what is done already.
        if done <= start < end:
            found.append((start, end))
            done = end
    return found


def _with_empty_ones(
    compiled: Any, text: str, behind: tuple[int, bool], limit: float | None
) -> list[tuple[int, int]]:
    """The matches from a place on, where any may be empty.

    behind: that place, and whether a match ends there.
    """
    found: list[tuple[int, int]] = []
    done, is_behind = behind
    at = done
    begun = process_time()
    while at <= len(text):
        left = limit and max(limit - (process_time() - begun), 1e-6)
        match = compiled.search(text, at, timeout=left)
        if match is None:
            break
        start, end = match.span()
        if not done <= start <= end or (start == end == done and is_behind):
            at += 1
            continue
        found.append((start, end))
        at = done = end
        is_behind = True
    return found


def takes_too_long(pattern: str, size: int) -> str:
    """The message for a search that was given up."""
    return (
        f"the pattern {pattern!r:.80} takes too long for a text of {size:,} bytes: it tries "
        "the same characters in too many ways"
    )


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
