"""How time grows: the points of each curve, and the odd shapes beside English, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from tests.tools.bench.results import Measured
from tests.tools.bench.rows import TOKCTL, amount
from tests.tools.bench.targets import GROWTH, figure
from tests.tools.bench.work.growth import CURVES, Curve

#: Of one contender on one kind of text: seconds for a million bytes, by where.
Points = dict[int, float]


def points(measured: Sequence[Measured], curve: Curve) -> dict[tuple[str, str], Points]:
    """By kind of text and contender, from left to right; what is wrong has no time."""
    found: dict[tuple[str, str], Points] = {}
    parts = [part for part in measured if part.row.key == curve.key]
    for part in sorted(parts, key=lambda part: part.row.at):
        for name, seconds in _times(part, curve.pass_).items():
            found.setdefault((part.row.text.split("-")[0], name), {})[part.row.at] = seconds
    return found


def kinds(found: dict[tuple[str, str], Points]) -> list[str]:
    return list(dict.fromkeys(kind for kind, _ in found))


def growth_tables(measured: Sequence[Measured]) -> list[str]:
    """As Markdown: tokctl's seconds per MB, and how the fastest peer's compare at the end of
    each curve; a table for texts that grow, and one for vocabularies."""
    lines = []
    for unit in dict.fromkeys(curve.unit for curve in CURVES):
        known = [(curve, points(measured, curve)) for curve in CURVES if curve.unit == unit]
        places = sorted({at for _, found in known for each in found.values() for at in each})
        if not places:
            continue
        grown = GROWTH.keys() <= set(places) and unit == "bytes"
        columns = ["work", "text", *(place_name(at, unit) for at in places)]
        columns += [" : ".join(reversed(GROWTH.values()))] if grown else []
        columns += [f"fastest peer, {place_name(places[-1], unit)}", "time, ours = 1"]
        lines += [f"| {' | '.join(columns)} |", f"|---|---|{'--:|' * (len(columns) - 4)}---|--:|"]
        for curve, found in known:
            lines += [_row(curve, kind, found, places, grown) for kind in kinds(found)]
        lines.append("")
    return lines


def _row(
    curve: Curve, kind: str, found: dict[tuple[str, str], Points], places: list[int], grown: bool
) -> str:
    ours, last = found.get((kind, TOKCTL), {}), places[-1]
    cells = [curve.title, kind, *(_time(ours.get(at)) for at in places)]
    if grown:
        one, other = ours.get(max(GROWTH)), ours.get(min(GROWTH))
        cells.append(figure(one / other) if one and other else "-")
    peers = [
        (by[last], name)
        for (of, name), by in found.items()
        if of == kind and name != TOKCTL and last in by
    ]
    best = min(peers, default=None)
    cells.append(best[1] if best else "-")
    cells.append(figure(best[0] / ours[last]) if best and last in ours else "-")
    return f"| {' | '.join(cells)} |"


def place_name(at: int, unit: str) -> str:
    """1 GB, 64,000 ids."""
    if unit == "ids":
        return f"{at:,} ids"
    return f"{amount(at)[:-2]} {amount(at)[-2:]}"


def odd_table(measured: Sequence[Measured]) -> list[str]:
    """As Markdown: seconds per MB of each shape, and how many times that of English."""
    parts = [part for part in measured if part.row.key == "odd"]
    english = next((_times(part, "first") for part in parts if part.row.title == "english"), {})
    names = list(dict.fromkeys(line.contender for part in parts for line in part.lines))
    if not parts:
        return []
    found = [
        f"| text | size | {' | '.join(f'{name}, s/MB | x English' for name in names)} |",
        f"|---|--:|{'--:|--:|' * len(names)}",
    ]
    for part in parts:
        times, cells = _times(part, "first"), [part.row.title, f"{part.size / 1e6:.3g} MB"]
        for name in names:
            time, base = times.get(name), english.get(name)
            verdict = next((ln.verdict for ln in part.lines if ln.contender == name), "-")
            cells.append(_time(time) if time is not None else verdict.split(":")[0])
            cells.append(figure(time / base) if time is not None and base else "-")
        found.append(f"| {' | '.join(cells)} |")
    return found


def _times(part: Measured, pass_: str) -> dict[str, float]:
    contenders = {each.name for each in part.row.contenders if each.name == TOKCTL or not each.ours}
    return {
        line.contender: 1e6 * line.cpu / part.size
        for line in part.lines
        if line.cpu is not None and not line.wrong and part.size
        if line.pass_ == pass_ and line.contender in contenders
    }


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.4f}"
