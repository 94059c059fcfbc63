"""Segmentations of one text, cut into columns where all of them are cut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tokctl.analysis.comparison.results import Segmentation

#: For each segmentation, the tokens of each column: (first, behind the last).
Columns = list[list[tuple[int, int]]]


def align(segmentations: Sequence[Segmentation]) -> Columns:
    """The tokens of each segmentation by column, so that the same text stands in the same
    column of each.

    A column ends at an offset that lies inside no token of any segmentation, and at which
    a token of one of them begins. A token that covers no text belongs to the column in
    which it stands.

    Returns:
        A list for each segmentation; all are equally long. Their ranges, one after the
        other, are all tokens.
    """
    # Offsets that lie strictly inside a token, as steps up and down.
    inside: dict[int, int] = {}
    starts: set[int] = set()
    for cut in segmentations:
        for start, end in _rising(cut):
            starts.add(start)
            if end - start > 1:
                inside[start + 1] = inside.get(start + 1, 0) + 1
                inside[end] = inside.get(end, 0) - 1
    depth = 0
    borders = []
    changes = sorted(inside.items())
    place = 0
    for start in sorted(starts):
        while place < len(changes) and changes[place][0] <= start:
            depth += changes[place][1]
            place += 1
        if depth == 0:
            borders.append(start)
    return [_columns(_rising(cut), borders) for cut in segmentations]


def _rising(cut: Segmentation) -> list[tuple[int, int]]:
    """The spans with starts that never fall: a normalizer may turn characters round."""
    spans = []
    least = 0
    for start, end in cut.spans:
        least = max(least, start)
        spans.append((least, max(least, end)))
    return spans


def _columns(spans: Sequence[tuple[int, int]], borders: Sequence[int]) -> list[tuple[int, int]]:
    columns = []
    place = 0
    for _, border in pairwise([*borders, float("inf")]):
        first = place
        while place < len(spans) and spans[place][0] < border:
            place += 1
        columns.append((first, place))
    return columns
