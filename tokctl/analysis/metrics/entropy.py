"""How evenly a text uses the vocabulary: the entropy of the ids over its greatest value."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tokctl.analysis.metrics.figure import Absent, Figure

#: The order that agreed best with the quality of translation: Zouhar et al. (2023).
RENYI_ORDER = 2.5


def entropy(counts: Iterable[int], order: float) -> Figure:
    """The Rényi entropy of the distribution p of ids, in bits; of order 1, Shannon's.

    log2(sum p^a) / (1 - a) for an order a other than 1, and -sum p log2 p for order 1: Rényi
    (1961). The sums are rounded once, so that the order of the counts does not matter.

    Args:
        counts: how often each id came out.
        order: above 0.
    """
    seen = [count for count in counts if count]
    total = sum(seen)
    if not total:
        return Absent("the text has no tokens with an id")
    if len(seen) == 1:
        return 0.0
    if order == 1:
        return -math.fsum(count / total * math.log2(count / total) for count in seen)
    return math.log2(math.fsum((count / total) ** order for count in seen)) / (1 - order)


def efficiency(counts: Iterable[int], vocabulary: int, order: float) -> Figure:
    """The Rényi entropy of an order over log2 |V|, its value where all ids are as frequent.

    Zouhar et al. (2023), "Tokenization and the Noiseless Channel", arXiv 2306.16842, with the
    ids that the model can emit for V.

    Args:
        counts: how often each id came out.
        vocabulary: |V|, no less than the distinct ids that came out.
    """
    bits = entropy(counts, order)
    if isinstance(bits, Absent):
        return bits
    if vocabulary < 2:
        return Absent("the model can emit one id alone: there is nothing to choose")
    # Rounding could lift an even distribution above 1.
    return min(1.0, bits / math.log2(vocabulary))


def renyi_efficiency(counts: Iterable[int], vocabulary: int) -> Figure:
    """`efficiency` of order 2.5, which counts frequent ids more than rare ones."""
    return efficiency(counts, vocabulary, RENYI_ORDER)


def shannon_efficiency(counts: Iterable[int], vocabulary: int) -> Figure:
    """`efficiency` of order 1."""
    return efficiency(counts, vocabulary, 1)
