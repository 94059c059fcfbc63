"""The counts and figures of a model on a text, computed the obvious way from its tokens.

Words are those of the `regex` package's `\\S+`; offsets are bytes.
"""

from __future__ import annotations

from collections import Counter

import regex

from tests.twins import word_breaks
from tokctl._native import NO_ID
from tokctl.analysis.metrics import Counts
from tokctl.core.errors import TokctlError
from tokctl.tokenizer import Tokenizer


def words(text: bytes, rule: str = "spaces") -> list[tuple[int, int]]:
    """Where the words of a text start and end."""
    characters = text.decode("utf-8", "surrogateescape")

    def offset(place: int) -> int:
        return len(characters[:place].encode("utf-8", "surrogateescape"))

    if rule == "spaces":
        spans = [match.span() for match in regex.finditer(r"\S+", characters)]
    else:
        spans = word_breaks.words(characters)
    return [(offset(start), offset(end)) for start, end in spans]


def counts(tokenizer: Tokenizer, text: bytes, rule: str = "spaces") -> Counts:
    """What `Counts` says, token by token and word by word."""
    encoding = tokenizer.encode(text)
    unknown = {NO_ID, tokenizer.unk_id}
    spans = list(zip(encoding.offsets, encoding.raw_ids, strict=True))
    whole = split = 0
    for start, end in words(text, rule):
        touching = [
            (span, id_)
            for span, id_ in spans
            if (span[0] < end and span[1] > start)
            or (span[0] == span[1] and start <= span[0] <= end)
        ]
        if len(touching) > 1:
            split += 1
        elif touching and touching[0][0][0] <= start and touching[0][0][1] >= end:
            whole += touching[0][1] not in unknown
    characters = text.decode("utf-8", "surrogateescape")
    ended = regex.findall(rb"[^\n]*\n|[^\n]+", text)
    lines = [regex.sub(rb"\r?\n\z", b"", line) for line in ended]
    return Counts(
        bytes=len(text),
        characters=len(characters),
        spaces=len(regex.findall(r"\s", characters)),
        words=len(words(text, rule)),
        whole_words=whole,
        split_words=split,
        tokens=len(encoding),
        unknown=sum(id_ in unknown for id_ in encoding.raw_ids),
        lines=len(lines),
        exact_lines=sum(_comes_back(tokenizer, line) for line in lines),
        id_counts=Counter(id_ for id_ in encoding.raw_ids if id_ != NO_ID),
        word_rule=rule,
    )


def _comes_back(tokenizer: Tokenizer, line: bytes) -> bool:
    try:
        return tokenizer.decode_bytes(tokenizer.encode(line).ids) == line
    except TokctlError:
        return False


def boundaries(tokenizer: Tokenizer, text: bytes) -> set[int]:
    """Where tokens start or end strictly inside words."""
    offsets = {place for span in tokenizer.encode(text).offsets for place in span}
    return {place for place in offsets if any(start < place < end for start, end in words(text))}


def f1(first: set[int], second: set[int]) -> float | None:
    """By precision and recall, which the formula of the metric avoids."""
    shared = len(first & second)
    if not first and not second:
        return None
    if not shared:
        return 0.0
    precision, recall = shared / len(first), shared / len(second)
    return 2 * precision * recall / (precision + recall)
