"""Command results as documents, in one form that all writers take.

A result becomes one `Report`. `tokctl.report.terminal`, `markdown` and `latex` write its blocks for
people, and `spreadsheet` their tables as CSV. `--json` writes its data. The cells of a table are
values (`Figure`, `Name`, `Tokens`) or text; each writer formats the values.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from tokctl.analysis.metrics import MetricValue, Undefined, written
from tokctl.core.humanize import percent
from tokctl.report.visible import brief, drawn, safe


class Span(NamedTuple):
    """Text with a style of Rich's words, such as `bold`, `dim` and `bold green`."""

    text: str
    style: str = ""


#: Minus sign, as wide as a plus.
MINUS = "\u2212"
#: Marks of verdicts on a figure, for readers who see no colour.
MARKS = {"best": "*", "close": "~", "unread": "?"}


class Figure(NamedTuple):
    """Number in a cell; CSV has all of its digits.

    Attributes:
        value: the number; None if the result does not say it.
        kind: form of the number: a kind of `metrics.written`; `exact` (a fraction); `factor` (a
            multiple); `percent` or `percent2` (a share, in percent with one or two digits);
            `change` or `points` (a difference, in percent or in percentage points).
        verdict: of a figure `best` of its row, `close` to the best or `unread` (of a text that the
            model can't read); of a difference `better`, `worse`, `equal` or `unclear`.
        style: Rich's style words.
    """

    value: MetricValue | Fraction | None
    kind: str = "count"
    verdict: str = ""
    style: str = ""

    @property
    def text(self) -> str:
        """Return the number as people read it: rounded, with separators and unit."""
        match self.value, self.kind:
            case None, _:
                return "-"
            case Undefined(), _:
                return "n/a"
            case value, "exact":
                return str(value)
            case value, "factor":
                return f"{float(value):,.2f}x"
            case value, "percent" | "percent2":
                return percent(float(value), 2 if self.kind == "percent2" else 1)
            case value, "change" | "points":
                shown = f"{100 * float(value):+,.1f}"
                if self.kind == "change" and shown == "-100.0" and value > -1:
                    shown = "-99.9"  # the model still has something, which rounding hides
                return shown.replace("-", MINUS) + ("%" if self.kind == "change" else " pp")
            case value, kind:
                return written(float(value) if isinstance(value, Fraction) else value, kind)

    @property
    def said(self) -> str:
        """Return the number and the verdict; a difference of nothing is `equal`."""
        if self.verdict in ("better", "worse", "unclear"):
            return f"{self.text} {self.verdict}"
        return "equal" if self.verdict == "equal" else self.text + MARKS.get(self.verdict, "")

    @property
    def span(self) -> Span:
        """Return the figure as text for paper, where the best is bold."""
        return Span(self.text, "bold") if self.verdict == "best" else Span(self.said, self.style)


def amount(cell: Cell) -> float:
    """Return the number of a cell; 0 if it has none."""
    value = cell.value if isinstance(cell, Figure) else None
    return 0.0 if value is None or isinstance(value, Undefined) else float(value)


class Name(NamedTuple):
    """Token in a cell: people see its beginning if it is very long, CSV has all of it."""

    token: str
    style: str = ""

    @property
    def span(self) -> Span:
        """Return the token as people read it."""
        return Span(brief(self.token), self.style)


class Tokens(NamedTuple):
    """Segmentation as tokens side by side; tokens whose index is in `marked` stand out.

    With `most`, people see the first `most` tokens, long ones cut, and the number of the others.
    """

    tokens: Sequence[str]
    marked: Container[int] = ()
    most: int | None = None

    @property
    def shown(self) -> list[str]:
        """Return the tokens that people see, with brackets around those that stand out."""
        name = drawn if self.most is None else brief
        return [
            f"[{name(token)}]" if place in self.marked else name(token)
            for place, token in enumerate(self.tokens[: self.most])
        ]

    @property
    def more(self) -> str:
        """Return a note with the number of tokens left out, or an empty text."""
        more = 0 if self.most is None else len(self.tokens) - self.most
        return f" … {more:,} more" if more > 0 else ""


class Flow(NamedTuple):
    """Entries side by side; an entry moves to the next line whole if it fits there."""

    entries: Sequence[Content]


Inline = str | Span | Figure | Name | Tokens | Flow
#: Cell or paragraph.
Content = Inline | list[Inline]
#: Cell of a table of figures.
Cell = str | Figure


@dataclass(frozen=True)
class Heading:
    """Title of a section; a terminal shows an empty line above it."""

    text: str
    style: str = "bold"


@dataclass(frozen=True)
class Gap:
    """Empty line on a terminal; Markdown and LaTeX set their own space."""


@dataclass(frozen=True)
class Paragraph:
    """Text in which each part may have its own style.

    The style of a part is added to `style`; `not dim` and `not bold` in a part undo it.
    """

    content: Content
    style: str = ""


@dataclass(frozen=True)
class Legend:
    """Explanation of the arrows behind metrics and of the mark of the best figure in a row."""

    text = "↑ more is better, ↓ less is better, {} best of its row"


@dataclass(frozen=True)
class Bullets:
    """List of lines; with style `dim` they are notes, which a terminal shows without bullets."""

    lines: tuple[str, ...]
    style: str = ""


@dataclass(frozen=True)
class Code:
    """Line to copy: a paragraph of its own that is never wrapped."""

    text: str


@dataclass(frozen=True)
class Column:
    """Column of a table.

    Attributes:
        right: whether cells are aligned to the right, as numbers are.
        fold: whether long cells wrap; without it they stay on one line.
        cut: whether long cells that don't wrap may be shortened with an ellipsis.
        style: style of every cell.
        width: fixed width in characters; None fits the width to the cells.
        least: width of the terminal, in characters, below which the column is left out.
        most: width of the terminal above which the column is left out; such a column is never
            printed on paper.
        is_drawing: whether cells are pictures made of characters, which paper leaves out.
        field: name in CSV, if it differs from `name`.
    """

    name: str = ""
    right: bool = False
    fold: bool = False
    cut: bool = False
    style: str = ""
    width: int | None = None
    least: int = 0
    most: int | None = None
    is_drawing: bool = False
    field: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells, with a line of column names if `has_head`.

    Attributes:
        gap: spaces between columns of a table without a head.
        strong: indices of the rows that stand out.
        remarks: indices of rows that say how many others are left out; CSV has no such rows.
        title: title of the frame that a terminal draws around the table; None draws no frame.
    """

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Content]]
    has_head: bool = False
    gap: int = 2
    strong: Container[int] = ()
    remarks: Container[int] = ()
    title: str | None = None


@dataclass(frozen=True)
class Figures:
    """Figures of several models, one column per model; narrow terminals get several tables.

    Attributes:
        label: name of the first column.
        lines: label of each line, and one cell per model.
        has_bars: whether a bar follows each figure; the longest bar belongs to the highest figure.
    """

    label: str
    models: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell, ...]], ...]
    has_bars: bool = False

    @property
    def highest(self) -> float:
        """Return the highest figure; 1 if none is above 0."""
        return max((amount(cell) for _, cells in self.lines for cell in cells), default=0.0) or 1.0


@dataclass(frozen=True)
class Segmentations:
    """Text with its segmentations by several models.

    Attributes:
        models: names of the models.
        tokens: tokens of each model, in the order of `models`.
        columns: for each model its token ranges (first, end). All models have equally many ranges,
            and ranges with the same index spell the same text.
    """

    text: str
    models: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[tuple[int, int], ...], ...]


class CutReason(NamedTuple):
    """Segmentation of a word by one model, with the reason for it.

    `others` holds labelled segmentations of the word by the model at other vocabulary sizes.
    """

    model: str
    tokens: Sequence[str]
    reason: str
    others: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class ExplainedWord:
    """Word with a remark on it (`said`) and the segmentations of the models (`cuts`)."""

    word: str
    said: str
    cuts: tuple[CutReason, ...]


@dataclass(frozen=True)
class CutWords:
    """Words with their counts and their segmentations by several models.

    `none` replaces an empty list of words: a longer text for a terminal, a shorter one for paper.
    """

    models: tuple[str, ...]
    rows: tuple[tuple[str, int, tuple[tuple[str, ...], ...]], ...]
    none: tuple[str, str]


@dataclass(frozen=True)
class Tree:
    """Tree of any depth, of which the upper levels are shown.

    Attributes:
        root: root node; the children of a node are its `parts`.
        label: function from a node to the content that stands for it.
    """

    root: Any
    label: Callable[[Any], Content]

    def upper(self, deepest: int) -> Iterator[tuple[int, Any]]:
        """Yield (depth, node) down to depth `deepest`, each node before its parts."""
        waiting = [(0, self.root)]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node
            if depth < deepest:
                waiting += [(depth + 1, part) for part in reversed(node.parts)]

    def levels(self, most: int) -> int:
        """Return how many levels below the root can be shown whole with at most `most` nodes."""
        level = [self.root]
        nodes = 0
        depth = 0
        while level and nodes + len(level) <= most:
            nodes += len(level)
            level = [part for node in level for part in node.parts]
            depth += 1
        return depth - 1


@dataclass(frozen=True)
class Curve:
    """Chart that runs down a terminal, with a bar and a dot on each line.

    Markdown and LaTeX leave it out: a table holds the same numbers.

    Attributes:
        names: column names of the label, the bar's number and the dot's number.
        points: label, the bar's number, the bar's length from 0 to 1, the dot's number, and the
            dot's position from 0 (`ends[0]`) to 1 (`ends[1]`).
        ends: lowest and highest number of the dots.
    """

    names: tuple[str, str, str]
    points: tuple[tuple[str, str, float, str, float], ...]
    ends: tuple[str, str]


Block = (
    Heading
    | Gap
    | Paragraph
    | Legend
    | Bullets
    | Code
    | Table
    | Figures
    | Segmentations
    | ExplainedWord
    | CutWords
    | Tree
    | Curve
)


@dataclass(frozen=True)
class Report:
    """Result of a command; each form is built only when it is written.

    Attributes:
        command: name of the command, such as `compare` or `inspect`.
        title: title of the document on paper.
        blocks: returns the blocks for people, in reading order.
        data: returns the value for JSON; dataclasses in it become objects of their fields.
    """

    command: str
    title: str
    blocks: Callable[[], Iterable[Block]]
    data: Callable[[], Any] = dict

    def json(self) -> bytes:
        """Return the data as one JSON document that ends with a line feed."""
        from tokctl.core import orjson

        return orjson.dumps(self.data(), option=orjson.OPT_APPEND_NEWLINE)


def facts(pairs: Iterable[tuple[str, str]], title: str | None = None) -> Table:
    """Return a table of labels and texts, one pair per row."""
    rows = [[label, text] for label, text in pairs]
    columns = (Column(style="dim", field="fact"), Column(fold=True, field="value"))
    return Table(columns, rows, title=title)


def on_paper(
    answer: Report,
) -> Iterator[Heading | Paragraph | Legend | Bullets | Code | Table | Tree]:
    """Yield the blocks for Markdown and LaTeX.

    Blocks whose layout depends on a terminal's width become tables and paragraphs. Pictures made of
    characters are left out.
    """
    for block in answer.blocks():
        match block:
            case Gap() | Curve():
                pass
            case Paragraph(content, style):
                yield Paragraph(_in_one_line(content), style)
            case Table():
                yield _paper_table(block)
            case Figures():
                columns = [
                    Column(block.label),
                    *(Column(name, right=True) for name in block.models),
                ]
                rows: list[list[Content]] = [[label, *cells] for label, cells in block.lines]
                yield Table(tuple(columns), rows, has_head=True)
            case Segmentations():
                yield Paragraph(safe(block.text))
                yield _named(
                    ("model", "tokens", ""),
                    (
                        [model, str(len(tokens)), Tokens(tokens)]
                        for model, tokens in zip(block.models, block.tokens, strict=True)
                    ),
                )
            case ExplainedWord():
                yield Paragraph(f"{safe(block.word)}: {block.said}")
                yield _named(("model", "tokens", "why"), _reasons(block))
            case CutWords() if not block.rows:
                yield Paragraph(block.none[1])
            case CutWords():
                yield _named(
                    ("word", "count", *block.models),
                    (
                        [Tokens([word]), f"{count:,}", *map(Tokens, cuts)]
                        for word, count, cuts in block.rows
                    ),
                )
            case _:
                yield block


def _paper_table(table: Table) -> Table:
    shown = [
        index
        for index, column in enumerate(table.columns)
        if column.most is None and not column.is_drawing
    ]
    columns = tuple(table.columns[index] for index in shown)
    # Rows of empty cells are only spacing on a terminal.
    kept = [number for number, row in enumerate(table.rows) if any(row)]
    rows = [[_in_one_line(table.rows[number][index]) for index in shown] for number in kept]
    strong, remarks = (
        {new for new, number in enumerate(kept) if number in numbers}
        for numbers in (table.strong, table.remarks)
    )
    return replace(table, columns=columns, rows=rows, strong=strong, remarks=remarks)


def _named(names: Sequence[str], rows: Iterable[list[Content]]) -> Table:
    return Table(tuple(map(Column, names)), list(rows), has_head=True)


def _reasons(block: ExplainedWord) -> Iterator[list[Content]]:
    for cut in block.cuts:
        yield [cut.model, Tokens(cut.tokens), cut.reason]
        for label, tokens in cut.others:
            yield [cut.model, Tokens(tokens), label]


def _in_one_line(content: Content) -> Content:
    match content:
        case str():
            return content.replace("\n", "; ")
        case Span(text, style):
            return Span(text.replace("\n", "; "), style)
        case list():
            return [part for one in content if not isinstance(part := _in_one_line(one), list)]
    return content


def text_or_bytes(data: bytes) -> dict[str, str]:
    """Return `{"text": …}` for UTF-8 data, else `{"bytes": …}` in base64."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(data).decode()}
