"""Bytes: those that an alphabet lacks, and tokens that are no whole characters.

In UTF-8 (RFC 3629) the bytes C0, C1 and F5 to FF never occur; the other 243 do. A token of a
byte-level model is **partial** if its bytes are no whole characters and can be part of some: they
end inside one, or begin inside one. Land and Bartolo (2024, arXiv 2405.05417) call these partial
UTF-8 sequences. It is **never** UTF-8 if no bytes before and behind it make it so.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterator

from tokctl.analysis.health.report import Example
from tokctl.analysis.health.subject import Answer, Subject, not_made

#: The bytes that are in no UTF-8.
BINARY = frozenset([0xC0, 0xC1, *range(0xF5, 0x100)])
TEXT = frozenset(range(256)) - BINARY

_MISSING = ("missing-bytes", "missing-binary-bytes")
_PARTS = ("partial-utf8", "never-utf8")


def check(subject: Subject) -> Iterator[Answer]:
    tokens = subject.model.tokens
    if subject.recipe.units == "bytes":
        there = {tokens[id_][0] for id_ in subject.reserve}
        yield _missing(subject, _MISSING[0], TEXT, there)
        yield _missing(subject, _MISSING[1], BINARY, there)
        never = [id_ for id_ in sorted(subject.partial) if not may_be_utf8(tokens[id_])]
        partial = sorted(subject.partial.difference(never))
        for name, ids in zip(_PARTS, (partial, never), strict=True):
            alone = sum(len(tokens[id_]) == 1 for id_ in ids)
            detail = f"{alone:,} of them are single bytes." if alone else ""
            # The alphabet is the same in all byte-level models: longer ones say more.
            ids = sorted(ids, key=lambda id_: len(tokens[id_]) == 1)
            yield subject.found(name, ids, len(subject.ordinary), detail=detail)
    else:
        yield from not_made([*_MISSING, *_PARTS], "the model reads characters, not bytes")
    if subject.recipe.byte_fallback:
        there = {int(tokens[id_][3:5], 16) for id_ in subject.byte_tokens}
        yield _missing(subject, "missing-byte-tokens", TEXT, there)
    else:
        yield from not_made(["missing-byte-tokens"], "the model does not fall back to bytes")


def may_be_utf8(data: bytes) -> bool:
    """Are there bytes before and behind these that make them valid UTF-8?"""
    whole = data.lstrip(_CONTINUATION)
    if len(data) - len(whole) > 3:
        return False
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(whole)
    except UnicodeDecodeError:
        return False
    # The beginning of a surrogate, which Python finds wrong at its third byte only.
    rest = bytes(decoder.getstate()[0])
    return not (rest[:1] == b"\xed" and rest[1:2] >= b"\xa0")


_CONTINUATION = bytes(range(0x80, 0xC0))


def _missing(
    subject: Subject, name: str, needed: Collection[int], there: Collection[int]
) -> Answer:
    bytes_ = sorted(set(needed).difference(there))
    examples = (Example(None, f"0x{byte:02X}", bytes([byte])) for byte in bytes_[: subject.limit])
    return subject.finding(name, len(bytes_), len(needed), examples=examples)
