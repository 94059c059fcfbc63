"""A comparison on a terminal, or in a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tokctl.comparison.results import Comparison, Disagreement, Sample, Segmentation
from tokctl.render import compare_rows as rows
from tokctl.render.console import segmentation, visible

_GAP = 2  # columns between columns


def show(comparison: Comparison, console: Console) -> None:
    """Prints all of it; several tables stand below one another where one is too wide."""
    models = [model.name for model in comparison.models]
    console.print(Text(rows.headline(comparison)))
    _section(console, "Metrics", _tables(models, rows.metric_rows(comparison), console.width))
    for line in [rows.LEGEND, *rows.notes(comparison)]:
        console.print(Text(line, style="dim"))
    if by_text := rows.text_rows(comparison):
        _section(console, "Bytes per token, by text", _tables(models, by_text, console.width))
    if comparison.samples:
        samples = (_sample(sample, models, console.width) for sample in comparison.samples)
        _section(console, "Sentences, with the number of tokens", samples)
    if len(models) < 2:
        return
    title = "Words that are cut most differently"
    _section(console, title, _disagreements(comparison.disagreements, models, console.width))
    overlap = rows.matrix_rows(comparison, comparison.overlap)
    title = "Vocabulary overlap (Jaccard index)"
    _section(console, title, _tables(models, overlap, console.width))
    agreement = rows.matrix_rows(comparison, comparison.agreement)
    title = "Agreement on boundaries inside words (F1)"
    _section(console, title, _tables(models, agreement, console.width))


def _section(console: Console, title: str, parts: Iterator[RenderableType]) -> None:
    console.print()
    console.print(Text(title, style="bold underline"))
    for place, part in enumerate(parts):
        if place:
            console.print()
        console.print(part)


def _tables(models: Sequence[str], lines: Sequence[rows.Row], width: int) -> Iterator[Table]:
    """The rows as tables of as many models as fit the width."""
    label = min(max(cell_len(line[0]) for line in lines), max(width // 2, 12))
    columns = [
        max(cell_len(name), *(cell_len(line[1][place]) for line in lines))
        for place, name in enumerate(models)
    ]
    if sum(columns) + _GAP * len(columns) > width - label:
        # Fold long names rather than have one model per table.
        cells = [max(cell_len(line[1][n]) for line in lines) for n in range(len(models))]
        columns = [min(column, max(cell, 12)) for column, cell in zip(columns, cells, strict=True)]
    for first, last in _groups(columns, width - label):
        table = _empty_table()
        table.add_column(max_width=label, overflow="fold")
        for name, column in zip(models[first:last], columns[first:last], strict=True):
            table.add_column(
                _broken(name, column), justify="right", overflow="fold", max_width=column
            )
        for name, row in lines:
            table.add_row(_broken(name, label), *(_cell(cell) for cell in row[first:last]))
        yield table


def _broken(name: str, width: int) -> Text:
    """A name in lines of at most `width` columns, broken behind a sign where there is one."""
    lines = []
    width = max(width, 1)
    while cell_len(name) > width:
        cut = max(name.rfind(sign, 0, width) for sign in "-_./ ") + 1
        lines.append(name[: cut or width])
        name = name[cut or width :]
    return Text("\n".join([*lines, name]))


def _empty_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")


def _cell(cell: str) -> Text:
    return Text(cell, style="bold green" if cell.endswith("*") else "")


def _groups(columns: Sequence[int], width: int) -> Iterator[tuple[int, int]]:
    """Ranges of columns that fit the width together, one at least."""
    first, used = 0, 0
    for place, column in enumerate(columns):
        if place > first and used + column + _GAP > width:
            yield first, place
            first, used = place, 0
        used += column + _GAP
    yield first, len(columns)


def _sample(sample: Sample, models: Sequence[str], width: int) -> Group:
    name = min(max(map(cell_len, models)), width // 4)
    count = max(len(str(len(cut.tokens))) for cut in sample.segmentations)
    table = Table.grid(padding=(0, _GAP, 0, 0), pad_edge=False)
    table.add_column(width=name, overflow="fold")
    table.add_column(width=count, justify="right")
    table.add_column(overflow="fold")
    for cut in sample.segmentations:
        tokens = _folded(cut.shown, width - name - count - 2 * _GAP)
        table.add_row(_broken(cut.model, name), str(len(cut.tokens)), tokens)
    return Group(Text(rows.safe(sample.text), style="italic"), table)


def _folded(tokens: Sequence[str], width: int) -> Text:
    """A segmentation in lines of at most `width` columns, cut between tokens."""
    lines: list[list[str]] = [[]]
    used = 0
    for token in tokens:
        cells = cell_len(visible(token)) + 1  # and the bar behind it
        if lines[-1] and used + cells > width:
            lines.append([])
            used = 0
        lines[-1].append(token)
        used += cells
    return Text("\n").join(segmentation(line) for line in lines)


def _disagreements(
    words: Sequence[Disagreement], models: Sequence[str], width: int
) -> Iterator[RenderableType]:
    if not words:
        yield Text("none (words of more than 100 bytes are left out)")
        return

    def cut(found: Segmentation) -> Text:
        return _folded(found.shown, max(width // 3, 12))

    fixed = max(cell_len(visible(word.word)) for word in words)
    fixed = min(max(fixed, 4), width // 3) + max(len(f"{words[0].count:,}"), 5) + 2 * _GAP
    columns = [
        max(
            cell_len(name),
            *(
                max(map(cell_len, cut(word.segmentations[place]).plain.split("\n")))
                for word in words
            ),
        )
        for place, name in enumerate(models)
    ]
    for first, last in _groups(columns, width - fixed):
        table = _empty_table()
        table.add_column("word", max_width=width // 3, overflow="fold")
        table.add_column("count", justify="right")
        for name in models[first:last]:
            table.add_column(name, overflow="fold")
        for word in words:
            cells = [cut(found) for found in word.segmentations[first:last]]
            table.add_row(visible(word.word), f"{word.count:,}", *cells)
        yield table
