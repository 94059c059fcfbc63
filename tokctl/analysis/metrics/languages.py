"""How evenly a model treats languages, over texts that say the same line by line."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tokctl.analysis.metrics.figure import Absent, Figure, ratio


def parity(tokens: int, reference_tokens: int) -> Figure:
    """T of a language / T of the reference language, of parallel texts.

    Petrov, La Malfa, Torr and Bibi (2023), arXiv 2305.15425. Taken over totals, where they
    take the mean over sentences.
    """
    return ratio(tokens, reference_tokens, "the text of the reference language has no tokens")


def tokens_per_line(tokens: int, lines: int) -> Figure:
    """T / lines: what a line costs in a language."""
    return ratio(tokens, lines, "the text has no lines")


def gini(costs: Sequence[Figure]) -> Figure:
    """The Gini coefficient of what a line costs in each language: sum |c_i - c_j| / (2 n^2 mean).

    0 where all cost the same; (n - 1) / n where one alone costs anything. Gini (1912); of
    tokens per line in Foroutan et al. (2025), arXiv 2508.04796. In sorted order the sum over
    pairs is 2 * sum (2 i - n - 1) c_i with i from 1, which takes n log n steps.

    Args:
        costs: tokens per line of each language, not negative.
    """
    known = []
    for cost in costs:
        if isinstance(cost, Absent):
            return cost
        known.append(cost)
    count = len(known)
    if count < 2:
        return Absent("there are no two languages to compare")
    known.sort()
    apart = math.fsum((2 * place - count - 1) * cost for place, cost in enumerate(known, 1))
    # An equal cost for all can leave a rest of rounding, on either side of 0.
    return ratio(max(0.0, apart), count * math.fsum(known), "the texts have no tokens")
