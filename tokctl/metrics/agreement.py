"""Whether two models cut words in the same places.

A boundary is a byte offset at which a token starts or ends. It is internal where it lies
strictly inside a word (a maximal run of characters that are no white space): at the edges
of words all models cut, and what they do with spaces is no matter here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokctl.metrics.figure import Absent, Figure

#: A set of byte offsets of one text as one number: offset n is bit 8n. Sets of millions
#: are built, cut and counted at the speed of memory.
Offsets = int


def inner_offsets(size: int, words: Iterable[tuple[int, int]]) -> Offsets:
    """The offsets of a text of `size` bytes that lie strictly inside one of its words."""
    marks = bytearray(size + 1)
    for start, end in words:
        marks[start + 1 : end] = b"\x01" * (end - start - 1)
    return int.from_bytes(marks, "little")


def internal_boundaries(
    size: int, inner: Offsets, starts: Sequence[int], ends: Sequence[int]
) -> Offsets:
    """Where tokens start or end inside words; `inner` is that of `inner_offsets`."""
    marks = bytearray(size + 1)
    for start in starts:
        marks[start] = 1
    for end in ends:
        marks[end] = 1
    return int.from_bytes(marks, "little") & inner


def boundary_f1(shared: int, first: int, second: int) -> Figure:
    """F1 of two sets of boundaries, which is symmetric: 2 |A and B| / (|A| + |B|).

    Args:
        shared, first, second: the sizes of the intersection and of the two sets.
    """
    if not first + second:
        return Absent("neither model cuts a word")
    return 2 * shared / (first + second)
