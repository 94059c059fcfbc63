"""Slow twin of the Unigram encoder: `algorithms.md`, "Unigram" (encoding).

Segmentations are lists of (text, known); a character that no piece spells is unknown. They are
found by slicing and by trying everything, without trie or lattice.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping

Path = list[tuple[str, bool]]

UNKNOWN_PENALTY = 10.0


def single(number: float) -> float:
    """The number as 32 bits hold it."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def starting_at(text: str, at: int, pieces: Mapping[str, float]) -> Iterator[tuple[int, bool]]:
    """Where a piece from `at` can end, and whether it is known; shortest first."""
    last = min(len(text), at + max(map(len, pieces)))
    ends = [end for end in range(at + 1, last + 1) if text[at:end] in pieces]
    yield from ((end, True) for end in ends)
    if at + 1 not in ends:
        yield at + 1, False


def best(
    text: str, pieces: Mapping[str, float], unknown_score: float, precision: str = "double"
) -> tuple[Path, float]:
    """Viterbi as the libraries run it: of equal sums the one found first stays.

    SentencePiece keeps sums in 32 bits, and starts afresh from a place where one is over 100,000.
    """
    rounded = single if precision == "single" else float
    reached: dict[int, tuple[float, int, bool]] = {0: (0.0, 0, True)}
    taken = 0.0
    for at in range(len(text)):
        before = reached[at][0]
        if precision == "single" and abs(before) > 100_000:
            taken += before
            for end in [end for end in reached if end >= at]:
                score, *rest = reached[end]
                reached[end] = (rounded(score - before), *rest)
            before = 0.0
        for end, known in starting_at(text, at, pieces):
            score = rounded(before + (pieces[text[at:end]] if known else unknown_score))
            if end not in reached or score > reached[end][0]:
                reached[end] = (score, at, known)
    path: Path = []
    at = len(text)
    while at > 0:
        _, start, known = reached[at]
        path.append((text[start:at], known))
        at = start
    return path[::-1], taken + reached[len(text)][0]


def all_paths(
    text: str, pieces: Mapping[str, float], unknown_score: float
) -> list[tuple[Path, float]]:
    """Every segmentation with its score, best first."""

    def paths(at: int) -> Iterator[tuple[Path, float]]:
        if at == len(text):
            yield [], 0.0
        else:
            for end, known in starting_at(text, at, pieces):
                score = pieces[text[at:end]] if known else unknown_score
                for rest, sum_of_rest in paths(end):
                    yield [(text[at:end], known), *rest], score + sum_of_rest

    return sorted(paths(0), key=lambda path: -path[1])


def probabilities(scores: list[float], alpha: float) -> list[float]:
    """What subword regularization draws each segmentation with."""
    weights = [math.exp(alpha * (score - max(scores))) for score in scores]
    return [weight / sum(weights) for weight in weights]


def ids(
    path: Path,
    ids: Mapping[str, int],
    unknown_id: int,
    byte_ids: list[int] | None = None,
    fuse: bool = True,
    precision: str = "double",
) -> list[tuple[int, int]]:
    """(id, bytes) of each token; unknown characters in a row are one, or their bytes. In double
    precision, which is Hugging Face's, each of these has the place of all."""
    tokens: list[tuple[int, int]] = []
    stretches: list[tuple[str, bool]] = []
    for piece, known in path:
        if fuse and not known and stretches and not stretches[-1][1]:
            stretches[-1] = (stretches[-1][0] + piece, False)
        else:
            stretches.append((piece, known))
    for text, known in stretches:
        encoded = text.encode()
        if known:
            tokens.append((ids[text], len(encoded)))
        elif byte_ids is not None:
            length = len(encoded) if fuse and precision == "double" else 1
            tokens += [(byte_ids[byte], length) for byte in encoded]
        else:
            tokens.append((unknown_id, len(encoded)))
    return tokens
