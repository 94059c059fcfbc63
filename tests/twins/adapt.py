"""Slow twins of vocabulary surgery: what goes, what a row is, how a number is rounded."""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

Pair = tuple[int, int]


def kept(
    ids: int,
    size: int,
    uses: Mapping[int, int],
    parts: Mapping[int, Pair],
    stays: Collection[int],
) -> list[int] | None:
    """The ids that stay; None where so few can't be. `parts` are the two of each merged token."""
    left = {id_: uses.get(id_, 0) for id_ in range(ids)}
    there = set(range(ids))
    while len(there) > size:
        needed = {part for token in there if token in parts for part in parts[token]}
        leaves = there - needed - set(stays)
        if not leaves:
            return None
        gone = min(leaves, key=lambda id_: (left[id_], -id_))
        there.remove(gone)
        for part in parts.get(gone, ()):
            left[part] += left[gone]
    return sorted(there)


def mean(rows: Sequence[Sequence[float]]) -> list[float]:
    """The mean of rows, in numbers of 64 bits."""
    found = []
    for column in zip(*rows, strict=True):
        total = 0.0
        for number in column:
            total += number
        found.append(total / len(rows))
    return found


def bfloat16(number: float) -> int:
    """The bits of the nearest number of BF16; of two, the one with an even last bit."""
    if number < 0 or (number == 0 and str(number)[0] == "-"):
        return 0x8000 | bfloat16(-number)
    low, high = 0, 0x7F80  # infinity
    while high - low > 1:
        middle = (low + high) // 2
        if _exact(middle) <= Fraction(number):
            low = middle
        else:
            high = middle
    down, up = Fraction(number) - _exact(low), _exact(high) - Fraction(number)
    return low if down < up or (down == up and low % 2 == 0) else high


def _exact(bits: int) -> Fraction:
    if bits == 0x7F80:  # where the next number would be, as IEEE 754 rounds
        return Fraction(2**128)
    return Fraction(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
