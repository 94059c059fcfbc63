"""Counts as aligned columns, like those of `wc`."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from tokctl.cli.world import visible
from tokctl.tokenizer.token_counts import FileCount, TokenCounts

#: Cells that a name, or a column's heading, keeps on the narrowest terminal.
_LEAST = 10


def table(counts: TokenCounts, *, named: bool, width: int | None) -> str:
    """Lines of tokens, bytes and, if `named`, name; below all but a single row their sums, and
    above them, of several models, what they are called.

    `width` is that of the terminal, in cells: names that do not fit are shortened in the middle.
    None: nothing is shortened.
    """
    rows = counts.files if len(counts.files) == 1 else [*counts.files, counts.total]
    figures = [_figures(row) for row in rows]
    least = [max(map(len, column)) for column in zip(*figures, strict=True)]
    lines = [(shown, visible(row.name)) for shown, row in zip(figures, rows, strict=True)]
    if len(counts.models) > 1:
        headings = [*map(visible, counts.models), "bytes"]
        if width is not None and _together(headings, least) > width - _LEAST * named:
            headings = [
                shortened(heading, max(_LEAST, size))
                for heading, size in zip(headings, least, strict=True)
            ]
        lines = [(headings, "name"), *lines]
    widths = [max(map(cells, column)) for column in zip(*(line[0] for line in lines), strict=True)]
    room = None if width is None else max(_LEAST, width - sum(widths) - len(widths))
    return "".join(
        " ".join(_right(figure, size) for figure, size in zip(shown, widths, strict=True))
        + (f" {shortened(name, room)}" if named else "")
        + "\n"
        for shown, name in lines
    )


def _figures(row: FileCount) -> list[str]:
    return [*map(str, row.tokens), str(row.bytes)]


def _together(headings: Sequence[str], least: Sequence[int]) -> int:
    """Cells that the columns and the spaces behind them take."""
    sizes = [max(cells(head), size) for head, size in zip(headings, least, strict=True)]
    return sum(sizes) + len(sizes)


def _right(text: str, width: int) -> str:
    return " " * (width - cells(text)) + text


def shortened(text: str, room: int | None) -> str:
    """The text in `room` cells: … stands for its middle. The end of a name tells the most."""
    if room is None or cells(text) <= room:
        return text
    before, after = (room - 1) // 3, room - 1 - (room - 1) // 3
    return f"{_start(text, before)}…{_start(text[::-1], after)[::-1]}"


def _start(text: str, room: int) -> str:
    """As much of the text as fits."""
    for place, char in enumerate(text):
        room -= cells(char)
        if room < 0:
            return text[:place]
    return text


def cells(text: str) -> int:
    """Cells of a terminal that the text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
