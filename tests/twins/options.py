"""Slow twins of what the training options define: `docs/algorithms.md`, "What the options do"."""

import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

Words = Mapping[str, int]


def character_counts(words: Words) -> Counter[str]:
    """Occurrences of each character, in the order of the first."""
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for character in word:
            counts[character] += times
    return counts


def alphabet_of(
    words: Words,
    coverage: Fraction | None = None,
    limit: int | None = None,
    initial: str = "",
) -> str:
    """The characters that get an id, by code point."""
    counts = character_counts(words)
    taken = set(initial)
    for character in sorted(counts, key=lambda c: (-counts[c], c)):
        covered = sum(counts[c] for c in taken)
        if coverage is not None and covered >= coverage * sum(counts.values()):
            break
        if limit is not None and len(taken) >= limit:
            break
        taken.add(character)
    return "".join(sorted(taken))


def most_frequent(counts: Mapping[str, int], room: int) -> list[str]:
    """The first `room` by descending count; `sorted` keeps ties in first-seen order."""
    return sorted(counts, key=lambda text: -counts[text])[:room]


def splitmix64(seed: int, number: int) -> int:
    """Number `number` (from 0) of SplitMix64 started with `seed`."""
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def sample_lines(texts: list[bytes], share: Fraction, seed: int) -> list[bytes]:
    """Of each text, the lines that are kept, one after the other."""
    number = 0
    sampled = []
    for text in texts:
        kept = b""
        for line in re.findall(rb"[^\n]*\n|[^\n]+", text):
            if splitmix64(seed, number) < share * 2**64:
                kept += line
            number += 1
        sampled.append(kept)
    return sampled
