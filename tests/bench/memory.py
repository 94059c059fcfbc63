"""Peak memory by size of the text, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.results import Measured
from tests.bench.targets import figure
from tests.bench.work.memory import TITLES


def memory_table(measured: Sequence[Measured]) -> list[str]:
    """As Markdown: each command's peak with the shorter and with the longer text."""
    found = ["| command | text | peak | text | peak | times |", "|---|--:|--:|--:|--:|--:|"]
    for task, title in TITLES.items():
        parts = [part for part in measured if part.row.key == f"memory-{task}"]
        parts = sorted(parts, key=lambda part: part.row.at)
        peaks = [part.lines[0].memory if part.lines else None for part in parts]
        if not parts:
            continue
        cells = [title]
        for part, peak in zip(parts, peaks, strict=True):
            cells += [f"{part.size / 1e6:.3g} MB", "-" if peak is None else f"{peak / 1e6:.0f} MB"]
        first, last = peaks[0], peaks[-1]
        cells.append(figure(last / first) if first and last else "-")
        found.append(f"| {' | '.join(cells)} |")
    return found if len(found) > 2 else []
