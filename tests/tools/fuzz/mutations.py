"""Changes to a case that keep it interesting: those of its structure, and of bytes."""

from __future__ import annotations

import random

from tests.tools.fuzz.seeds import CUT
from tests.tools.fuzz.structures import changed

#: 64-bit and 32-bit lengths that no file keeps.
LENGTHS = [b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f", b"\x80" * 5, b"\0\0\0\0\0\0\0\x10"]


def mutated(case: bytes, draw: random.Random) -> bytes:
    """The case, changed in one to four ways."""
    for _ in range(draw.randint(1, 4)):
        parts = case.split(CUT)
        at = draw.randrange(len(parts))
        parts[at] = part_changed(parts[at], draw)
        case = CUT.join(parts)
    return case


def part_changed(data: bytes, draw: random.Random) -> bytes:
    """A file, or what is inside of one, changed in one way."""
    if draw.random() < 0.8:
        made = changed(data, draw, part_changed)
        if made is not None:
            return made
    return draw.choice(_BYTES)(bytearray(data), draw)


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
