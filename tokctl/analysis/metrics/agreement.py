"""Whether two models cut words in the same places.

A boundary is a byte offset at which a token starts or ends. It is internal where it lies
strictly inside a word (a maximal run of characters that are no white space, whatever the
other figures take for a word): at the edges of words all models cut, and what they do with
spaces is no matter here. The native `Measured` holds them as bits.
"""

from __future__ import annotations

from tokctl.analysis.metrics.figure import Absent, Figure


def boundary_f1(shared: int, first: int, second: int) -> Figure:
    """F1 of two sets of boundaries, which is symmetric: 2 |A and B| / (|A| + |B|).

    Args:
        shared, first, second: the sizes of the intersection and of the two sets.
    """
    if not first + second:
        return Absent("neither model cuts a word")
    return 2 * shared / (first + second)
