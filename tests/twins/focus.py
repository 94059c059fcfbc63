"""Slow twin of FOCUS (arXiv 2305.14481): weights and rows from their definitions, in fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

#: What the numbers of a vector of length 1 are multiples of.
UNIT = 2**26


def unit(vector: Sequence[float]) -> list[int]:
    """The vector with length 1, its numbers counted in 2^-26. (Half-way cases have no chance: the
    length is a square root.)"""
    length = sum(Fraction(number) ** 2 for number in vector)
    with localcontext() as context:
        context.prec = 60
        root = (Decimal(length.numerator) / Decimal(length.denominator)).sqrt()
        return [round(Decimal(number) / root * UNIT) for number in vector]


def cosine(one: Sequence[float], two: Sequence[float]) -> Fraction:
    """The cosine of two vectors whose numbers are so rounded."""
    products = (a * b for a, b in zip(unit(one), unit(two), strict=True))
    return Fraction(sum(products), UNIT**2)


def sparsemax(scores: Sequence[Fraction]) -> list[Fraction]:
    """arXiv 1602.02068, Algorithm 1: the nearest point of the probability simplex."""
    falling = sorted(scores, reverse=True)
    support = max(
        k for k in range(1, len(falling) + 1) if 1 + k * falling[k - 1] > sum(falling[:k])
    )
    threshold = (sum(falling[:support]) - 1) / support
    return [max(score - threshold, Fraction(0)) for score in scores]


def weights(
    kept: Mapping[int, str], token: str, vectors: Mapping[str, Sequence[float]]
) -> dict[int, Fraction] | None:
    """The weight of each old row for a new token; None where it has no vector.

    kept: the tokens that both models have, by old id.
    """
    there = {name: vector for name, vector in vectors.items() if any(vector)}
    if token not in there:
        return None
    ids = [id_ for id_, name in kept.items() if name in there]
    found = sparsemax([cosine(there[token], there[kept[id_]]) for id_ in ids])
    return {id_: weight for id_, weight in zip(ids, found, strict=True) if weight}
