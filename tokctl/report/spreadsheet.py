"""Tables of documents as CSV, for spreadsheets and data frames."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from fractions import Fraction
from io import StringIO

from tokctl.analysis.metrics import Undefined
from tokctl.report.document import (
    Content,
    Figure,
    Flow,
    Heading,
    Name,
    Paragraph,
    Report,
    Span,
    Table,
    Tokens,
    on_paper,
)
from tokctl.report.visible import names, readable, visible


def spreadsheet(answer: Report) -> str:
    """Return the tables of a document as CSV: RFC 4180, but with Unix line ends.

    A document with one table becomes a line of column names and the rows. Several tables follow
    each other, each below a line with its title and a blank line above the title.
    """
    tables = list(_tables(answer))
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for number, (title, table) in enumerate(tables):
        if len(tables) > 1:
            stream.write("\n" if number else "")
            writer.writerow([readable(title)])
        writer.writerows(_lines(table))
    return stream.getvalue()


def _tables(answer: Report) -> Iterator[tuple[str, Table]]:
    """Yield the tables, each with the heading or the paragraph above it."""
    title = answer.title
    for block in on_paper(answer):
        match block:
            case Heading(text):
                title = text
            case Paragraph(content):
                title = _joined(content)
            case Table():
                yield title, block


def _lines(table: Table) -> Iterator[list[str | float | None]]:
    """Yield the names of the columns, then the rows; verdicts are in columns at the end."""
    rows = [row for number, row in enumerate(table.rows) if number not in table.remarks]
    names = [column.field or column.name for column in table.columns]
    judged = [index for index in range(len(names)) if any(_verdict(row[index]) for row in rows)]
    yield [*names, *(f"{names[index]} verdict" for index in judged)]
    for row in rows:
        yield [*map(_value, row), *(_verdict(row[index]) for index in judged)]


def _verdict(cell: Content) -> str:
    return cell.verdict if isinstance(cell, Figure) else ""


def _value(cell: Content) -> str | float | None:
    """Return a number with all of its digits, an absent one as None, and text made visible."""
    match cell:
        case Figure(value):
            if isinstance(value, Fraction):
                return str(value) if cell.kind == "exact" else float(value)
            return None if isinstance(value, Undefined) else value
        case Name(token):
            return visible(token)
        case Tokens(tokens):
            return names(tokens)
        case Flow(entries):
            return "; ".join(map(_joined, entries))
        case Span(text):
            return readable(text)
        case str():
            return readable(cell)
    # Text around a segmentation is a remark on it.
    segmentations = [part for part in cell if isinstance(part, Tokens)]
    return _joined(segmentations[0] if len(segmentations) == 1 else cell)


def _joined(content: Content) -> str:
    """Return the parts of a cell or a paragraph as one text, without absent figures."""
    parts = content if isinstance(content, list) else [content]
    return "".join("" if (value := _value(part)) is None else str(value) for part in parts)
