"""A sweep over vocabulary sizes: figures, and bars that make a curve of them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from tokctl.analysis.comparison.results import Comparison
from tokctl.analysis.metrics import Absent
from tokctl.render.compare import rows
from tokctl.render.compare.tables import GAP, broken, empty_table, groups

#: Columns of a bar: fewer say nothing, more say no more.
LEAST, MOST = 6, 24
#: Eighths of a column.
_PARTS = " ▏▎▍▌▋▊▉█"


def sweep_tables(comparison: Comparison, name: str, width: int) -> Iterator[Table]:
    """The figure `name` by size and model, each with a bar; the longest bar of all models is
    the highest figure. Without bars where they don't fit."""
    models, lines = rows.sweep_rows(comparison, name)
    numbers = {
        (point.model, f"{point.asked:,}"): figure
        for point in comparison.sweep
        if not isinstance(figure := point.figures[name], Absent)
    }
    highest = max(numbers.values(), default=0)
    label = max(len("ids"), *(len(size) for size, _ in lines))
    cells = max(len(cell) for _, row in lines for cell in row)
    room = (width - label) // len(models) - cells - 2 * GAP - 1
    bar = min(room, MOST) if room >= LEAST else 0
    columns = [max(cells + (GAP + bar if bar else 0), min(cell_len(model), 12)) for model in models]
    for first, last in groups(columns, width - label):
        table = empty_table()
        table.add_column("ids", justify="right", no_wrap=True)
        for model, column in zip(models[first:last], columns[first:last], strict=True):
            table.add_column(broken(model, column), width=column, no_wrap=True)
        for size, row in lines:
            drawn = []
            for model, cell in zip(models[first:last], row[first:last], strict=True):
                text = Text(f"{cell:>{cells}}")
                if bar:
                    share = numbers.get((model, size), 0) / highest if highest else 0
                    text.append("  ").append(_bar(share, bar), style="cyan")
                drawn.append(text)
            table.add_row(size, *drawn)
        yield table


def _bar(share: float, width: int) -> str:
    eighths = round(share * width * 8)
    return ("█" * (eighths // 8) + _PARTS[eighths % 8]).rstrip()
