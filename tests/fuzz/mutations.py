"""Changes to a case that keep it interesting: of bytes, and of the structure of JSON."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.fuzz.seeds import CUT

#: Values that a field may be made.
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 255, 2**31, 2**32, 2**53 + 1, 2**64, -(2**63), 1e308, 0.5, "", "a",
    "\0", "▁", "##", "\ud7ff", " ", "</w>", "<unk>", "a" * 300, [], [[]], {}, {"type": "Sequence"},
    [1, 2], ["a", "b"], "BPE", "WordPiece", "Unigram", "WordLevel", "(", "[", "\\p{L}+", "(a*)*",
]  # fmt: skip
#: 64-bit and 32-bit lengths that no file keeps.
LENGTHS = [b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f", b"\x80" * 5, b"\0\0\0\0\0\0\0\x10"]


def mutated(case: bytes, draw: random.Random) -> bytes:
    """The case, changed in one to four ways."""
    for _ in range(draw.randint(1, 4)):
        parts = case.split(CUT)
        at = draw.randrange(len(parts))
        parts[at] = _part(parts[at], draw)
        case = CUT.join(parts)
    return case


def _part(data: bytes, draw: random.Random) -> bytes:
    if data[:1] in b"{[" and data and draw.random() < 0.8:
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            pass
        else:
            _change(document, draw)
            return json.dumps(document).encode("utf-8", "replace")
    return draw.choice(_BYTES)(bytearray(data), draw)


def _change(document: Any, draw: random.Random) -> None:
    """Something is another value, or gone, or there twice."""
    inner = document
    while isinstance(inner, (dict, list)) and inner:
        keys = list(inner) if isinstance(inner, dict) else range(len(inner))
        key = draw.choice(keys)
        if not isinstance(inner[key], (dict, list)) or not inner[key] or draw.random() < 0.25:
            break
        inner = inner[key]
    else:
        return
    what = draw.randrange(5)
    if what == 0:
        del inner[key]
    elif what == 1:
        other = draw.choice(keys)
        inner[key], inner[other] = inner[other], inner[key]
    elif what == 2 and isinstance(inner, list):
        inner.append(inner[key])
    elif what == 2:
        inner[draw.choice(("x", "type", "id", "", str(key) * 2))] = inner.pop(key)
    else:
        inner[key] = draw.choice(ODD)


def _flip(data: bytearray, draw: random.Random) -> bytes:
    for _ in range(draw.randint(1, 5)):
        if data:
            data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data)


def _cut(data: bytearray, draw: random.Random) -> bytes:
    return bytes(data[: draw.randint(0, len(data))])


def _lose(data: bytearray, draw: random.Random) -> bytes:
    start = draw.randint(0, len(data))
    del data[start : start + draw.choice((1, 2, 8, 100))]
    return bytes(data)


def _double(data: bytearray, draw: random.Random) -> bytes:
    start = draw.randint(0, len(data))
    piece = data[start : start + draw.choice((1, 4, 40, 1 << 20))]
    at = draw.randint(0, len(data))
    data[at:at] = piece
    return bytes(data)


def _length(data: bytearray, draw: random.Random) -> bytes:
    length = draw.choice(LENGTHS)
    at = draw.randint(0, len(data))
    data[at : at + len(length)] = length
    return bytes(data)


_BYTES = (_flip, _flip, _cut, _lose, _double, _length)
