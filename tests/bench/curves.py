"""How time grows: the points of each curve, and the odd shapes beside English, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.results import Measured
from tests.bench.rows import TOKCTL
from tests.bench.targets import figure
from tests.bench.work.growth import CURVES


@dataclass(frozen=True)
class Point:
    """at: bytes of text or ids of the vocabulary. Times in seconds for a million bytes; None
    where there is none. peer: the fastest of those with a result that is right."""

    at: int
    ours: float | None
    peer: str
    theirs: float | None


def points(measured: Sequence[Measured], key: str) -> list[Point]:
    """The points of a curve, from left to right."""
    found = []
    for part in _parts(measured, key):
        times = _times(part)
        ours = times.pop(TOKCTL, None)
        best = min(times, key=times.__getitem__, default="")
        found.append(Point(part.row.at, ours, best, times.get(best)))
    return found


def series(measured: Sequence[Measured], key: str) -> dict[str, list[tuple[int, float]]]:
    """Each contender's own curve: where, and seconds for a million bytes."""
    found: dict[str, list[tuple[int, float]]] = {}
    for part in _parts(measured, key):
        for name, seconds in _times(part).items():
            found.setdefault(name, []).append((part.row.at, seconds))
    return found


def _parts(measured: Sequence[Measured], key: str) -> list[Measured]:
    return sorted((part for part in measured if part.row.key == key), key=lambda part: part.row.at)


def amount(at: int, unit: str) -> str:
    if unit == "ids":
        return f"{at:,} ids"
    return f"{at / 1e6:g} MB"


def growth_table(measured: Sequence[Measured]) -> list[str]:
    """As Markdown: seconds per MB, ours and those of the fastest peer."""
    found = [
        "| work | size | tokctl, s/MB | fastest peer, s/MB | | time, ours = 1 |",
        "|---|--:|--:|--:|---|--:|",
    ]
    for key, (unit, title) in CURVES.items():
        for point in points(measured, key):
            ratio = "-"
            if point.ours and point.theirs:
                ratio = figure(point.theirs / point.ours)
            cells = (
                title,
                amount(point.at, unit),
                _time(point.ours),
                _time(point.theirs),
                point.peer or "-",
                ratio,
            )
            found.append(f"| {' | '.join(cells)} |")
    return found if len(found) > 2 else []


def odd_table(measured: Sequence[Measured]) -> list[str]:
    """As Markdown: seconds per MB of each shape, and how many times that of English."""
    parts = [part for part in measured if part.row.key == "odd"]
    english = next((_times(part) for part in parts if part.row.title == "english"), {})
    names = list(dict.fromkeys(line.contender for part in parts for line in part.lines))
    if not parts:
        return []
    found = [
        f"| text | size | {' | '.join(f'{name}, s/MB | x English' for name in names)} |",
        f"|---|--:|{'--:|--:|' * len(names)}",
    ]
    for part in parts:
        times, cells = _times(part), [part.row.title, f"{part.size / 1e6:.3g} MB"]
        for name in names:
            time, base = times.get(name), english.get(name)
            verdict = next((ln.verdict for ln in part.lines if ln.contender == name), "-")
            cells.append(_time(time) if time is not None else verdict.split(":")[0])
            cells.append(figure(time / base) if time is not None and base else "-")
        found.append(f"| {' | '.join(cells)} |")
    return found


def _times(part: Measured) -> dict[str, float]:
    return {
        line.contender: 1e6 * line.seconds / part.size
        for line in part.lines
        if line.seconds is not None and not line.wrong and part.size
    }


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.4f}"
