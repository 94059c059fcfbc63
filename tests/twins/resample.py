"""The bootstrap over lines, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_MASK = (1 << 64) - 1


def split_mix(seed: int) -> Iterator[int]:
    """SplitMix64: Steele, Lea and Flood (2014), figure 17."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & _MASK
        number = seed
        number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
        yield number ^ (number >> 31)


def drawn(lines: int, resamples: int, seed: int) -> list[list[int]]:
    """The lines of each resample."""
    found = []
    for own, _ in zip(split_mix(seed), range(resamples), strict=False):
        numbers = zip(split_mix(own), range(lines), strict=False)
        found.append([number * lines >> 64 for number, _ in numbers])
    return found


def sums(rows: Sequence[Sequence[int]], resamples: int, seed: int) -> list[list[int]]:
    """Of each resample the sums of the rows that were drawn."""
    return [
        [sum(column) for column in zip(*(rows[line] for line in lines), strict=True)]
        for lines in drawn(len(rows), resamples, seed)
    ]
