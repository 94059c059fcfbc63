"""What a command answers, as a document: the one thing that all writers take.

An `Answer` is built once from a result. `tokctl.render.terminal`, `markdown` and `latex` write its
blocks, for people; pipes get its records, a tab between fields; and JSON its data.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tokctl.render.visible import brief, safe


class Span(NamedTuple):
    """Text with a style: words of Rich's, such as `bold`, `dim` and `bold green`, or the name of a
    verdict on a figure: `best`, `better`, `worse`, `unclear`. The text of the best figure of a row
    ends with a star, for those who see no colour; writers that have bold leave it out."""

    text: str
    style: str = ""


class Tokens(NamedTuple):
    """A segmentation: tokens side by side. Those at the places `marked` stand out."""

    tokens: Sequence[str]
    marked: Container[int] = ()


class Flow(NamedTuple):
    """Entries side by side, none cut at the end of a line that fits on the next."""

    entries: Sequence[Content]


Inline = str | Span | Tokens | Flow
#: A cell, or a paragraph.
Content = Inline | list[Inline]


@dataclass(frozen=True)
class Heading:
    """The title of a part; on a terminal an empty line stands before it."""

    text: str
    style: str = "bold"


@dataclass(frozen=True)
class Gap:
    """An empty line on a terminal; paper has its own."""


@dataclass(frozen=True)
class Paragraph:
    """Parts of the content that have a style of their own add it to `style`; `not dim` and
    `not bold` take it back."""

    content: Content
    style: str = ""


@dataclass(frozen=True)
class Legend:
    """What the arrows behind metrics mean, and how the best figure of a row is marked."""

    text = "↑ more is better, ↓ less is better, {} best of its row"


@dataclass(frozen=True)
class Bullets:
    """A list; `style` is `dim` for notes, which have no bullets on a terminal."""

    lines: tuple[str, ...]
    style: str = ""


@dataclass(frozen=True)
class Code:
    """A line to be copied: alone, and never folded."""

    text: str


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        right: numbers, which end at the same place.
        fold: cells may go on in a next line; else they stay whole, but where `cut`.
        style: of every cell.
        width: characters, where that is fixed.
        least, most: on a narrower or a wider terminal the column is left out; paper is wide.
        is_drawing: made of characters as a picture: nothing for paper.
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


@dataclass(frozen=True)
class Table:
    """Rows under a line of names, or without names (`has_head`).

    Attributes:
        gap: spaces between columns without a head.
        strong: places of rows that stand out.
        title: of a frame around it on a terminal.
    """

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Content]]
    has_head: bool = False
    gap: int = 2
    strong: Container[int] = ()
    title: str | None = None


@dataclass(frozen=True)
class Figures:
    """Figures of models: a column for each, which a narrow terminal shows in several tables.

    Attributes:
        label: names the first column.
        lines: a label, and a cell for each model.
        shares: for each line the length of a bar after each figure, from 0 to 1; empty
            without bars.
    """

    label: str
    models: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Span, ...]], ...]
    shares: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Segmentations:
    """A text as several models cut it.

    Attributes:
        models, tokens: names, and the tokens of each, in the same order.
        columns: for each model ranges of its tokens, as many as the others have: tokens of
            ranges at the same place spell the same text.
    """

    text: str
    models: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[tuple[int, int], ...], ...]


class CutReason(NamedTuple):
    """How a model cuts a word, and why; `others`: what it makes of it with other sizes."""

    model: str
    tokens: Sequence[str]
    reason: str
    others: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class ExplainedWord:
    """A word, what is said of it, and how the models cut it."""

    word: str
    said: str
    cuts: tuple[CutReason, ...]


@dataclass(frozen=True)
class CutWords:
    """Words with their counts, as several models cut them. `none` is said where there are none,
    at greater length on a terminal."""

    models: tuple[str, ...]
    rows: tuple[tuple[str, int, tuple[tuple[str, ...], ...]], ...]
    none: tuple[str, str]


@dataclass(frozen=True)
class Tree:
    """A tree of any depth, of which the upper levels are shown.

    Attributes:
        root: a node; its parts are `node.parts`.
        label: what a node is shown as.
    """

    root: Any
    label: Callable[[Any], Content]

    def upper(self, deepest: int) -> Iterator[tuple[int, Any]]:
        """The nodes of the first levels with their depths, each before its parts."""
        waiting = [(0, self.root)]
        while waiting:
            depth, node = waiting.pop()
            yield depth, node
            if depth < deepest:
                waiting += [(depth + 1, part) for part in reversed(node.parts)]

    def levels(self, most: int) -> int:
        """How many levels below the root can be shown whole with `most` nodes."""
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
    """A chart from top to bottom on a terminal: a bar and a dot in each line. Its numbers stand
    in a table, too.

    Attributes:
        names: of the label, the bar's number and the dot's number.
        points: label, number of the bar, its share of the longest; number of the dot, its
            place between both ends, from 0 to 1.
        ends: the least and the greatest number of the dots.
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
#: Fields of a line.
Record = Iterable[str]


@dataclass(frozen=True)
class Answer:
    """A result, to be written in one of its forms; what the others need is not made.

    Attributes:
        command: that gives it: `compare` or `inspect`.
        title: of the document on paper.
        blocks: what people are shown, in its order.
        records: lines for pipes. The fields hold no tab and no line feed; an empty record is
            an empty line.
        data: for JSON; dataclasses in it are objects of their fields.
    """

    command: str
    title: str
    blocks: Callable[[], Iterable[Block]]
    records: Callable[[], Iterable[Record]] = tuple
    data: Callable[[], Any] = dict

    def plain(self) -> str:
        """The records, one to a line, with a tab between fields."""
        return "".join("\t".join(record) + "\n" for record in self.records())

    def json(self) -> bytes:
        """The data as one JSON document, and a line feed."""
        from tokctl import orjson

        return orjson.dumps(self.data(), option=orjson.OPT_APPEND_NEWLINE)


def segments(tokens: Sequence[str], most: int, marked: Container[int] = ()) -> list[Inline]:
    """Up to `most` tokens side by side, those at `marked` places in brackets, and how many
    more there are."""
    shown: list[Inline] = [Tokens([brief(token) for token in tokens[:most]], marked)]
    if len(tokens) > most:
        shown.append(Span(f" … {len(tokens) - most:,} more", "dim"))
    return shown


def bracketed(tokens: Sequence[str], marked: Container[int]) -> list[str]:
    """The tokens, those at the places `marked` in brackets."""
    return [f"[{token}]" if place in marked else token for place, token in enumerate(tokens)]


def facts(pairs: Iterable[tuple[str, str]], title: str | None = None) -> Table:
    """Labels and what is said of each, below one another."""
    rows = [[label, text] for label, text in pairs]
    return Table((Column(style="dim"), Column(fold=True)), rows, title=title)


def on_paper(
    answer: Answer,
) -> Iterator[Heading | Paragraph | Legend | Bullets | Code | Table | Tree]:
    """The blocks for Markdown and LaTeX: what depends on the width of a terminal becomes tables
    and paragraphs, and pictures made of characters are left out."""
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
                rows: list[list[Content]] = [
                    [label, *(Span(cell.text.strip(), cell.style) for cell in cells)]
                    for label, cells in block.lines
                ]
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
    there = [
        place
        for place, column in enumerate(table.columns)
        if column.most is None and not column.is_drawing
    ]
    columns = tuple(table.columns[place] for place in there)
    # Rows of nothing are space on a terminal.
    rows = [[_in_one_line(row[place]) for place in there] for row in table.rows if any(row)]
    return replace(table, columns=columns, rows=rows)


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
    """`{"text": …}`, or `{"bytes": base64}` for what is not UTF-8."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(data).decode()}
