"""Sentences as each model cuts them, the same text of all in the same columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tokctl.analysis.comparison.results import Sample
from tokctl.analysis.comparison.samples import align
from tokctl.render.compare import rows
from tokctl.render.compare.tables import GAP, broken, folded
from tokctl.render.console import BAR, drawn, segmentation


def sample_block(sample: Sample, models: Sequence[str], width: int) -> Group:
    """The sentence, and under it a line for each model; as many such blocks as it takes."""
    name = min(max(map(cell_len, models)), width // 4)
    count = max(len(str(len(cut.tokens))) for cut in sample.segmentations)
    room = max(width - name - count - 2 * GAP, 1)
    blocks = _aligned(sample, room)
    if blocks is None:
        blocks = [[folded(cut.shown, room) for cut in sample.segmentations]]
    parts: list[RenderableType] = [Text(rows.safe(sample.text), style="italic")]
    for number, block in enumerate(blocks):
        table = Table.grid(padding=(0, GAP, 0, 0), pad_edge=False)
        table.add_column(width=name, overflow="fold")
        table.add_column(width=count, justify="right")
        table.add_column(no_wrap=True, overflow="crop")
        for cut, line in zip(sample.segmentations, block, strict=True):
            total = "" if number else str(len(cut.tokens))
            table.add_row(broken(cut.model, name), total, line)
        if number:
            parts.append(Text(""))
        parts.append(table)
    return Group(*parts)


def _aligned(sample: Sample, room: int) -> list[list[Text]] | None:
    """Blocks of one line for each model, up to `room` wide; None where a column, which no
    model cuts at the same place as all others, is wider than that."""
    columns = align(sample.segmentations)
    cells = [
        [cut.shown[first:last] for first, last in ranges]
        for cut, ranges in zip(sample.segmentations, columns, strict=True)
    ]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    if any(width > room for width in widths):
        return None
    blocks: list[list[Text]] = []
    if not any(widths):  # a line for each model all the same
        return [[Text() for _ in cells]]
    used = room
    placed = [0] * len(cells)
    for place, width in enumerate(widths):
        if not width:
            continue
        if used + 1 + width > room:
            blocks.append([Text() for _ in cells])
            used = -1
        for number, line in enumerate(blocks[-1]):
            tokens = cells[number][place]
            if used >= 0:
                # Where a model has nothing, two bars would look like a token between them.
                line.append(BAR if tokens else " ", style="dim")
            line.append_text(segmentation(tokens, first=placed[number]))
            line.append(" " * (width - _width(tokens)))
            placed[number] += len(tokens)
        used += 1 + width
    return blocks


def _width(tokens: Sequence[str]) -> int:
    return sum(cell_len(drawn(token)) for token in tokens) + max(len(tokens) - 1, 0)
