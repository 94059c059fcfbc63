"""Tables of one column per model that fold where a terminal is narrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from tokctl.render.compare import rows
from tokctl.render.console import drawn, segmentation

GAP = 2  # columns between columns


def tables(models: Sequence[str], lines: Sequence[rows.Row], width: int) -> Iterator[Table]:
    """The rows as tables of as many models as fit the width."""
    label = min(max(cell_len(line[0]) for line in lines), max(width // 2, 12))
    columns = [
        max(cell_len(name), *(cell_len(line[1][place]) for line in lines))
        for place, name in enumerate(models)
    ]
    if sum(columns) + GAP * len(columns) > width - label:
        # Fold long names rather than have one model per table.
        cells = [max(cell_len(line[1][n]) for line in lines) for n in range(len(models))]
        columns = [min(column, max(cell, 12)) for column, cell in zip(columns, cells, strict=True)]
    for first, last in groups(columns, width - label):
        table = empty_table()
        table.add_column(max_width=label, overflow="fold")
        for name, column in zip(models[first:last], columns[first:last], strict=True):
            table.add_column(
                broken(name, column), justify="right", overflow="fold", max_width=column
            )
        for name, row in lines:
            table.add_row(broken(name, label), *(_cell(cell) for cell in row[first:last]))
        yield table


def broken(name: str, width: int) -> Text:
    """A name in lines of at most `width` columns, broken behind a sign where there is one."""
    name = rows.safe(name)
    lines = []
    width = max(width, 1)
    while cell_len(name) > width:
        cut = max(name.rfind(sign, 0, width) for sign in "-_./ ") + 1
        lines.append(name[: cut or width])
        name = name[cut or width :]
    return Text("\n".join([*lines, name]))


def empty_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")


#: How cells are coloured that say by their words what is better.
_STYLES = (("*", "bold green"), ("better ", "green"), ("worse  ", "red"), ("unclear", "dim"))


def _cell(cell: str) -> Text:
    return Text(cell, style=next((style for end, style in _STYLES if cell.endswith(end)), ""))


def groups(columns: Sequence[int], width: int) -> Iterator[tuple[int, int]]:
    """Ranges of columns that fit the width together, one at least."""
    first, used = 0, 0
    for place, column in enumerate(columns):
        if place > first and used + column + GAP > width:
            yield first, place
            first, used = place, 0
        used += column + GAP
    yield first, len(columns)


def folded(tokens: Sequence[str], width: int) -> Text:
    """A segmentation in lines of at most `width` columns, cut between tokens."""
    lines: list[list[str]] = [[]]
    used = 0
    for token in tokens:
        cells = cell_len(drawn(token)) + 1  # and the bar behind it
        if lines[-1] and used + cells > width:
            lines.append([])
            used = 0
        lines[-1].append(token)
        used += cells
    return Text("\n").join(segmentation(line) for line in lines)
