"""Compression by vocabulary size: the results of a candidate, and the choice of the best size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tokctl.extras.recommend.candidates import CANDIDATES
from tokctl.extras.recommend.shape import ModelShape

#: At the knee, twice as many ids save less than this share of the tokens.
LEAST_GAIN = 0.05
#: A curve that ran out of text is flat if a doubling saves less than this share.
FLAT = 0.01


@dataclass(frozen=True)
class CurvePoint:
    """A candidate's result at one size on the held-out text.

    Attributes:
        size: Number of ids.
        tokens: Number of tokens for the held-out text.
        bytes_per_token: Bytes of the held-out text per token.
    """

    size: int
    tokens: int
    bytes_per_token: float


@dataclass(frozen=True)
class SizeCurve:
    """A candidate's results at all its sizes.

    Attributes:
        name: Name of the candidate.
        points: Results by size, ascending.
        reach: Number of ids at which training ran out of text; None: every size was reached.
        round_trip: Share of held-out lines that are decoded exactly.
    """

    name: str
    points: tuple[CurvePoint, ...]
    reach: int | None
    round_trip: float

    def at(self, size: int) -> CurvePoint | None:
        """Return the point with this size, or None."""
        return next((point for point in self.points if point.size == size), None)

    def gain(self, point: CurvePoint) -> float | None:
        """Return the share of tokens that a point saves over the one before, or None."""
        smaller = [other for other in self.points if other.size < point.size]
        return 1 - point.tokens / smaller[-1].tokens if smaller else None


def doubling_gain(points: Sequence[CurvePoint], index: int) -> float | None:
    """Return the share of tokens that doubling the size saves from the point at index `index`.

    Points ascend by size. The gain is measured up to the largest size within the doubling. If the
    size grows by a factor from 1.4 to 2, the gain is extrapolated to a doubling as a power; below
    1.4, the result is None.
    """
    lower = points[index]
    upper = max(
        (point for point in points[index:] if point.size <= 2 * lower.size),
        key=lambda point: point.size,
    )
    return _per_doubling(lower, upper)


def _per_doubling(lower: CurvePoint, upper: CurvePoint) -> float | None:
    """Return the share of tokens saved between two points, scaled to a doubling of the size."""
    if upper.size < 1.4 * lower.size:
        return None
    ratio: float = (upper.tokens / lower.tokens) ** (1 / math.log2(upper.size / lower.size))
    return 1 - ratio


def knee(points: Sequence[CurvePoint]) -> CurvePoint | None:
    """Return the point at the smallest size from which a doubling saves less than `LEAST_GAIN`.

    None if every measured doubling saves more.
    """
    for index, point in enumerate(points):
        gain = doubling_gain(points, index)
        if gain is not None and gain < LEAST_GAIN:
            return point
    return None


def envelope(curves: Iterable[SizeCurve]) -> list[tuple[CurvePoint, str]]:
    """Return, for each size, the fewest tokens of any candidate up to this size, and its name."""
    every = sorted(
        ((point, curve.name) for curve in curves for point in curve.points),
        key=lambda entry: (entry[0].size, entry[0].tokens),
    )
    lowest: list[tuple[CurvePoint, str]] = []
    for point, name in every:
        if lowest and point.tokens >= lowest[-1][0].tokens:
            best, name = lowest[-1]
            point = replace(best, size=point.size)
        if lowest and lowest[-1][0].size == point.size:
            continue
        lowest.append((point, name))
    return lowest


def choose(curves: Sequence[SizeCurve], shape: ModelShape | None) -> tuple[str, int]:
    """Return the candidate and size of the knee, or of the least compute if a shape is given.

    Without a knee, the largest measured size is chosen.
    """
    hull = envelope(sorted(curves, key=lambda curve: list(CANDIDATES).index(curve.name)))
    points = [point for point, _ in hull]
    best = (knee(points) or points[-1]) if shape is None else _cheapest(points, shape)
    name = next(name for point, name in hull if point is best)
    curve = next(curve for curve in curves if curve.name == name)
    # The envelope repeats a point at larger sizes; return the size of the candidate's own point.
    return name, next(point.size for point in curve.points if point.tokens == best.tokens)


def ends_early(curve: SizeCurve, size: int, shape: ModelShape | None) -> bool:
    """Return whether the end of the text limits the choice, because the curve is not flat yet."""
    index = next(index for index, point in enumerate(curve.points) if point.size == size)
    onwards = doubling_gain(curve.points, index) if shape is None else None
    if curve.reach is None or onwards is not None:
        return False
    if shape is not None and index < len(curve.points) - 1:
        return False
    gain = gain_up_to(curve, size)
    return gain is None or gain >= FLAT


def gain_up_to(curve: SizeCurve, size: int) -> float | None:
    """Return the gain of a doubling up to the size; None if no smaller size shows it."""
    point = curve.at(size)
    smaller = [other for other in curve.points if size >= 1.4 * other.size]
    return _per_doubling(smaller[-1], point) if smaller and point else None


def _cheapest(points: Sequence[CurvePoint], shape: ModelShape) -> CurvePoint:
    """Return the point with the least training compute per byte."""
    return min(points, key=lambda one: shape.flops_per_byte(one.size, one.bytes_per_token))


def refined(curve: SizeCurve, size: int, shape: ModelShape | None) -> int:
    """Return the best size among all points of the curve around the chosen size."""
    nearby = [point for point in curve.points if size < 2 * point.size]
    if shape is not None:
        return _cheapest(nearby, shape).size
    knee_point = knee([point for point in nearby if point.size <= 2 * size])
    return knee_point.size if knee_point and knee_point.size <= size else size


def merged_curve(curve: SizeCurve, other_curve: SizeCurve) -> SizeCurve:
    """Return a curve with the points of both; at equal sizes, the points of `other_curve`."""
    points = {point.size: point for point in (*curve.points, *other_curve.points)}
    return replace(curve, points=tuple(points[size] for size in sorted(points)))
