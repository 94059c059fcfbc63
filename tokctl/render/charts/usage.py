"""Charts of the tokens that a text uses: how long they are, how often each comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from tokctl.render.charts import marks
from tokctl.render.charts.drawing import Drawing, labels
from tokctl.render.charts.look import Look
from tokctl.render.charts.marks import Point
from tokctl.wording import percent, plural

#: The share of the tokens that are shown length by length; the longer ones stand together.
_SHOWN = 0.998
_FEWEST, _MOST = 10, 24


def lengths(models: Sequence[str], found: Sequence[Mapping[int, int]]) -> Drawing:
    """The tokens of a text by length: for each model, how many there are of each length in
    characters."""
    names = labels(models)
    last = min(_MOST, max((_long_enough(counts) for counts in found), default=_FEWEST))
    shares = [_shares(counts, last) for counts in found]

    def draw(width: int, look: Look) -> Any:
        points = [
            Point(
                name, length, 100 * part, f"{name}: {percent(part, 2)} have {_said(length, last)}"
            )
            for name, parts in zip(names, shares, strict=True)
            for length, part in enumerate(parts)
        ]
        x = alt.X(
            "x:Q",
            title=f"characters of the token ({last}: and more)",
            axis=alt.Axis(values=list(range(last + 1)), format="d", grid=False, labelOverlap=True),
            scale=alt.Scale(domain=[0, last], nice=False),
        )
        y = alt.Y("y:Q", title="% of all tokens")
        return marks.lines(points, names, x, y, width=width, look=look)

    rows = tuple(
        (
            f"{length}{' and more' if length == last else ''}",
            *(percent(parts[length], 2) for parts in shares),
        )
        for length in range(last + 1)
    )
    return Drawing(
        "lengths",
        "How long the tokens of the text are",
        "Share of the tokens by length in characters; markers and a leading space are not "
        "counted. 0 is white space alone, or the rest of a character. A curve further to the "
        "right means longer tokens, and fewer of them.",
        ("characters", *names),
        rows,
        draw,
    )


def _long_enough(counts: Mapping[int, int]) -> int:
    """The length that all but a few tokens do not exceed."""
    total, seen = sum(counts.values()), 0
    for length in sorted(counts):
        seen += counts[length]
        if seen >= _SHOWN * total:
            return max(_FEWEST, length + 1)
    return _FEWEST


def _shares(counts: Mapping[int, int], last: int) -> list[float]:
    total = sum(counts.values()) or 1
    exact = [counts.get(length, 0) / total for length in range(last)]
    return [*exact, sum(n for length, n in counts.items() if length >= last) / total]


def _said(length: int, last: int) -> str:
    return plural(length, "character") + (" or more" if length == last else "")


def frequencies(models: Sequence[str], found: Sequence[Sequence[tuple[int, int]]]) -> Drawing:
    """Rank and frequency: for each model some (rank, occurrences), the most frequent first."""
    names = labels(models)

    def draw(width: int, look: Look) -> Any:
        points = [
            Point(name, rank, count, f"{name}: the token of rank {rank:,} occurs {count:,} times")
            for name, curve in zip(names, found, strict=True)
            for rank, count in curve
        ]
        log = alt.Scale(type="log", nice=False)
        ranks = marks.decades((float(p.x) for p in points), format="~s")
        counts = marks.decades((float(p.y) for p in points), format="~s")
        x = alt.X("x:Q", title="rank of the token", scale=log, axis=ranks)
        y = alt.Y("y:Q", title="occurrences", scale=log, axis=counts)
        return marks.lines(points, names, x, y, width=width, look=look, dots=False)

    curves = [dict(curve) for curve in found]
    ranks = sorted({rank for curve in curves for rank in curve})
    rows = tuple(
        (f"{rank:,}", *(f"{curve[rank]:,}" if rank in curve else "" for curve in curves))
        for rank in ranks
    )
    return Drawing(
        "frequencies",
        "How often each token occurs",
        "Tokens by rank, the most frequent first, both axes logarithmic. Natural text gives "
        "nearly a straight line (Zipf's law); a steep end is vocabulary that the text hardly "
        "uses.",
        ("rank", *names),
        rows,
        draw,
    )
