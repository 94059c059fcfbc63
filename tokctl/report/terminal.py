"""Documents on a terminal, through Rich: colours, trees, and tables that fit the width."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text
from rich.tree import Tree as RichTree

from tokctl.core.values import screen_size
from tokctl.report.document import (
    MARKS,
    Block,
    Bullets,
    Cell,
    Code,
    Column,
    Content,
    Curve,
    CutWords,
    ExplainedWord,
    Figure,
    Figures,
    Flow,
    Gap,
    Heading,
    Legend,
    Name,
    Paragraph,
    Report,
    Segmentations,
    Span,
    Table,
    Tokens,
    Tree,
    amount,
)
from tokctl.report.visible import BACKGROUNDS, BAR, brief, drawn, safe

#: Width of output that is not for a terminal; wide enough that tables do not wrap.
UNFOLDED = 160
#: Spaces between the columns of a table of models.
GAP = 2
#: Styles of verdicts on figures.
_STYLES = {"best": "bold green", "better": "green", "worse": "red", "unclear": "dim"}


def console(stream: TextIO, *, color: bool, is_terminal: bool) -> Console:
    """Return a console that writes to `stream`, in colour only if `color`.

    The width is `COLUMNS` if set, else the terminal's; output that is not for a terminal has
    `UNFOLDED` columns.

    Args:
        stream: text stream to write to.
        color: whether to write colours.
        is_terminal: whether `stream` is a terminal.
    """
    said = screen_size(os.environ.get("COLUMNS", ""))
    width = said or (None if is_terminal else UNFOLDED)
    return Console(
        file=stream,
        force_terminal=color,
        color_system="auto" if color and is_terminal else "truecolor" if color else None,
        no_color=not color,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def show(answer: Report, on: Console, *, framed: bool = True) -> None:
    """Print the blocks of an answer; wide text wraps, wide tables are split.

    Args:
        answer: answer to print.
        on: console to print on.
        framed: whether to draw the frames of tables with a title; otherwise the title is a line.
    """
    for block in answer.blocks():
        if isinstance(block, Table) and block.title is not None and not framed:
            on.print(Text(block.title, style="bold"))
            block = replace(block, title=None)
        for part in _parts(block, on):
            on.print(part, soft_wrap=isinstance(block, Code))


def _parts(block: Block, on: Console) -> Iterator[RenderableType]:
    match block:
        case Heading(text, style):
            yield Text()
            yield Text(text, style=style)
        case Gap():
            yield Text()
        case Paragraph(content, style):
            yield _text(content, on.width, style)
        case Legend():
            yield Text(block.text.format("*"), style="dim")
        case Bullets(lines, style):
            yield from (Text(line, style) if style else _bullet(line, on) for line in lines)
        case Code(text):
            yield Text(text)
        case Table():
            table = _table(block, on.width)
            yield table if block.title is None else _framed(table, block.title)
        case Figures():
            yield from _apart(_figures(block, on.width))
        case Segmentations():
            yield _segmentations(block, on.width)
        case ExplainedWord():
            yield _explained(block, on.width)
        case CutWords():
            yield from _apart(_cut_words(block, on.width))
        case Tree():
            yield _tree(block, on.width)
        case Curve():
            yield _curve(block, on.width)


def _apart(parts: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """Yield the parts with an empty line between them."""
    for place, part in enumerate(parts):
        if place:
            yield Text()
        yield part


def _framed(table: RichTable, title: str) -> Panel:
    return Panel(table, title=Text(title), title_align="left")


def _bullet(line: str, on: Console) -> Text:
    wrapped = Text(line).wrap(on, max(on.width - 2, 1))
    return Text.assemble(("• ", "dim"), Text("\n  ").join(wrapped))


def _text(content: Content, width: int, style: str = "") -> Text:
    match content:
        case Span(said, own):
            return Text(said, own)
        case Name():
            return Text(*content.span)
        case Figure():
            return Text(content.said, _STYLES.get(content.verdict, content.style))
    text = Text(style=style)
    for part in content if isinstance(content, list) else [content]:
        match part:
            case str():
                text.append(part)
            case Span(said, own):
                text.append(said, own)
            case Figure() | Name():
                text.append_text(_text(part, width))
            case Tokens(tokens, marked, most):
                shown = tokens[:most] if most is None else list(map(brief, tokens[:most]))
                text.append_text(segmentation(shown, marked))
                text.append(part.more, "dim")
            case Flow(entries):
                text.append_text(_flow([_text(entry, width) for entry in entries], width))
    return text


def segmentation(tokens: Sequence[str], marked: Container[int] = (), first: int = 0) -> Text:
    """Return tokens side by side on coloured backgrounds.

    A bar between tokens separates them without colour, too.

    Args:
        tokens: tokens to show.
        marked: indices of tokens that stand out: bold, underlined and in brackets.
        first: index of the first token in its text, so that neighbours differ in colour across
            lines and columns.
    """
    text = Text()
    for place, token in enumerate(tokens):
        if place:
            text.append(BAR, style="dim")
        style = f"white on {BACKGROUNDS[(first + place) % len(BACKGROUNDS)]}"
        if place in marked:
            text.append(f"[{drawn(token)}]", style=f"bold underline {style}")
        else:
            text.append(drawn(token), style=style)
    return text


def _flow(entries: Iterable[Text], width: int) -> Text:
    text, filled = Text(), 0
    for entry in entries:
        size = entry.cell_len
        gap = "" if not filled else "\n" if filled + 2 + size > width else "  "
        filled = size if gap != "  " else filled + 2 + size
        text.append(gap)
        text.append(entry)
    return text


def _table(block: Table, width: int) -> RichTable:
    bars = _bars_beside(block, width)
    shown = [
        index
        for index, column in enumerate(block.columns)
        if column.least <= width
        and (column.most is None or width <= column.most)
        and (bars or not column.is_drawing)
    ]
    columns = [block.columns[index] for index in shown]
    if block.has_head:
        table = RichTable(box=box.SIMPLE, pad_edge=False)
    else:
        table = RichTable.grid(padding=(0, block.gap))
    for column in columns:
        _add_column(table, column)
    room = width - sum(column.width + block.gap for column in columns if column.width)
    for number, row in enumerate(block.rows):
        cells = [
            bars[number] if block.columns[index].is_drawing else _text(row[index], room)
            for index in shown
        ]
        table.add_row(*cells, style="bold" if number in block.strong else None)
    return table


def _bars_beside(block: Table, width: int) -> list[str]:
    """Return the bars of a table, shortened in proportion to fit beside its other columns.

    The list is empty if the room is narrower than `_LEAST_BAR` and too narrow for the longest bar.
    """
    if not block.rows or not any(column.is_drawing for column in block.columns):
        return []
    bars, room = [], width
    for column, cells in zip(block.columns, zip(*block.rows, strict=True), strict=True):
        if column.is_drawing:
            bars = list(map(str, cells))
        else:
            room -= max(_text(cell, width).cell_len for cell in cells) + block.gap
    longest = max(map(len, bars), default=0)
    if longest <= room:
        return bars
    return [bar[: max(1, len(bar) * room // longest)] for bar in bars] if room >= _LEAST_BAR else []


def _add_column(table: RichTable, column: Column) -> None:
    table.add_column(
        column.name,
        justify="right" if column.right else "left",
        overflow="fold" if column.fold else "ellipsis",
        no_wrap=not (column.fold or column.cut),
        style=column.style,
        width=column.width,
    )


def _empty_table() -> RichTable:
    return RichTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")


#: Narrowest and widest bar in columns: a shorter one shows nothing, a longer one no more.
_LEAST_BAR, _MOST_BAR = 6, 24


def _figures(block: Figures, width: int) -> Iterator[RichTable]:
    """Yield tables with as many models each as fit the width."""
    if block.has_bars:
        yield from _bars(block, width)
        return
    lines = block.lines
    label = min(max(cell_len(name) for name, _ in lines), max(width // 2, 12))
    texts = [[_cell(cell, marks=_has_marks(block)) for cell in row] for _, row in lines]
    cells = [max(cell_len(row[n].plain) for row in texts) for n in range(len(block.models))]
    columns = [max(cell_len(name), cell) for name, cell in zip(block.models, cells, strict=True)]
    if sum(columns) + GAP * len(columns) > width - label:
        # Wrap long names; otherwise most tables would hold one model.
        columns = [min(column, max(cell, 12)) for column, cell in zip(columns, cells, strict=True)]
    for first, last in _groups(columns, width - label):
        table = _empty_table()
        table.add_column(max_width=label, overflow="fold")
        for name, column in zip(block.models[first:last], columns[first:last], strict=True):
            table.add_column(
                _broken(name, column), justify="right", overflow="fold", max_width=column
            )
        for (name, _), row in zip(lines, texts, strict=True):
            table.add_row(_broken(name, label), *row[first:last])
        yield table


def _has_marks(block: Figures) -> bool:
    return any(
        isinstance(cell, Figure) and cell.verdict in MARKS for _, row in block.lines for cell in row
    )


def _cell(cell: Cell, *, marks: bool) -> Text:
    """Return a figure, padded where `marks` or verdicts follow figures, so that digits align."""
    if isinstance(cell, str):
        return Text(cell)
    text = _text(cell, 0)
    if cell.verdict in ("better", "worse", "equal", "unclear"):
        text.append(" " * (len("unclear") - len(cell.verdict)))
    elif marks and cell.verdict not in MARKS:
        text.append(" ")
    return text


def _bars(block: Figures, width: int) -> Iterator[RichTable]:
    """Yield tables of figures with a bar after each, or without bars if they don't fit."""
    models, lines, highest = block.models, block.lines, block.highest
    label = max(cell_len(name) for name in (block.label, *(name for name, _ in lines)))
    cells = max(cell_len(_cell(cell, marks=False).plain) for _, row in lines for cell in row)
    room = (width - label) // len(models) - cells - 2 * GAP - 1
    longest = min(room, _MOST_BAR) if room >= _LEAST_BAR else 0
    figure = cells + (GAP + longest if longest else 0)
    columns = [max(figure, min(cell_len(model), 12)) for model in models]
    for first, last in _groups(columns, width - label):
        table = _empty_table()
        table.add_column(block.label, justify="right", no_wrap=True)
        for model, column in zip(models[first:last], columns[first:last], strict=True):
            table.add_column(_broken(model, column), width=column, no_wrap=True)
        for name, row in lines:
            texts = []
            for cell in row[first:last]:
                text = Text(f"{_cell(cell, marks=False).plain:>{cells}}")
                if longest:
                    text.append("  ").append(_bar(amount(cell) / highest, longest), style="cyan")
                texts.append(text)
            table.add_row(name, *texts)
        yield table


def _bar(share: float, width: int) -> str:
    """Return a bar of `share` times `width` columns, to an eighth of a column."""
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + ("▏▎▍▌▋▊▉"[eighths % 8 - 1] if eighths % 8 else "")


def _groups(columns: Sequence[int], width: int) -> Iterator[tuple[int, int]]:
    """Yield (first, end) ranges of columns that fit `width` together, at least one column each."""
    first, used = 0, 0
    for place, column in enumerate(columns):
        if place > first and used + column + GAP > width:
            yield first, place
            first, used = place, 0
        used += column + GAP
    yield first, len(columns)


def _broken(name: str, width: int) -> Text:
    """Return a name in lines of at most `width` columns, broken after punctuation if possible."""
    lines = []
    width = max(width, 1)
    while cell_len(name) > width:
        cut = max(name.rfind(sign, 0, width) for sign in "-_./ ") + 1
        lines.append(name[: cut or width])
        name = name[cut or width :]
    return Text("\n".join([*lines, name]))


def _folded(tokens: Sequence[str], width: int) -> Text:
    """Return a segmentation in lines of at most `width` columns, broken between tokens."""
    lines: list[list[str]] = [[]]
    used = 0
    for token in tokens:
        cells = cell_len(drawn(token)) + 1  # one more for the bar
        if lines[-1] and used + cells > width:
            lines.append([])
            used = 0
        lines[-1].append(token)
        used += cells
    return Text("\n").join(segmentation(line) for line in lines)


def _segmentations(block: Segmentations, width: int) -> Group:
    """Return the text, then one line of tokens per model for each stretch that fits the width."""
    name = min(max(map(cell_len, block.models)), width // 4)
    count = max(len(str(len(tokens))) for tokens in block.tokens)
    room = max(width - name - count - 2 * GAP, 1)
    parts: list[RenderableType] = [Text(safe(block.text), style="italic")]
    lines = _aligned(block, room) or [[_folded(tokens, room) for tokens in block.tokens]]
    for number, part in enumerate(lines):
        table = RichTable.grid(padding=(0, GAP, 0, 0), pad_edge=False)
        table.add_column(width=name, overflow="fold")
        table.add_column(width=count, justify="right")
        table.add_column(no_wrap=True, overflow="crop")
        for model, tokens, line in zip(block.models, block.tokens, part, strict=True):
            total = "" if number else str(len(tokens))
            table.add_row(_broken(model, name), total, line)
        if number:
            parts.append(Text(""))
        parts.append(table)
    return Group(*parts)


def _aligned(block: Segmentations, room: int) -> list[list[Text]] | None:
    """Return one list of lines per stretch of the text, with a line per model in each.

    Tokens that spell the same text are aligned in a column. The result is None if a column, which
    has no boundary that all models share, is wider than `room`.
    """
    cells = [
        [tokens[first:last] for first, last in ranges]
        for tokens, ranges in zip(block.tokens, block.columns, strict=True)
    ]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    if any(width > room for width in widths):
        return None
    blocks: list[list[Text]] = []
    if not any(widths):  # no tokens: still one line per model
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
                # No bar where a model has no token: two bars would look like a token between them.
                line.append(BAR if tokens else " ", style="dim")
            line.append_text(segmentation(tokens, first=placed[number]))
            line.append(" " * (width - _width(tokens)))
            placed[number] += len(tokens)
        used += 1 + width
    return blocks


def _width(tokens: Sequence[str]) -> int:
    return sum(cell_len(drawn(token)) for token in tokens) + max(len(tokens) - 1, 0)


def _explained(block: ExplainedWord, width: int) -> Group:
    """Return a word, and for each model its tokens with the reason below."""
    name = min(max(cell_len(cut.model) for cut in block.cuts), width // 4)
    room = max(width - name - GAP, 1)
    title = Text(drawn(block.word), style="bold")
    title.append(f"  {block.said}", style="not bold dim")
    table = RichTable.grid(padding=(0, GAP, 0, 0), pad_edge=False)
    table.add_column(width=name, overflow="fold")
    table.add_column(overflow="fold")
    for cut in block.cuts:
        said = _folded(cut.tokens, room)
        said.append(f"\n{cut.reason}", style="dim")
        for label, tokens in cut.others:
            said.append(f"\n{label}: ", style="dim")
            said.append_text(_folded(tokens, room))
        table.add_row(_broken(cut.model, name), said)
    return Group(title, table)


def _cut_words(block: CutWords, width: int) -> Iterator[RenderableType]:
    """Yield tables of words with their counts, with as many models each as fit the width."""
    if not block.rows:
        yield Text(block.none[0])
        return
    room = max(width // 3, 12)
    fixed = max(cell_len(drawn(word)) for word, _, _ in block.rows)
    fixed = min(max(fixed, 4), width // 3) + max(len(f"{block.rows[0][1]:,}"), 5) + 2 * GAP
    rows = [
        (drawn(word), f"{count:,}", [_folded(tokens, room) for tokens in cuts])
        for word, count, cuts in block.rows
    ]
    columns = [
        max(
            cell_len(name),
            *(max(map(cell_len, cuts[place].plain.split("\n"))) for _, _, cuts in rows),
        )
        for place, name in enumerate(block.models)
    ]
    for first, last in _groups(columns, width - fixed):
        table = _empty_table()
        table.add_column("word", max_width=width // 3, overflow="fold")
        table.add_column("count", justify="right")
        for name in block.models[first:last]:
            table.add_column(name, overflow="fold")
        for word, count, cuts in rows:
            table.add_row(word, count, *cuts[first:last])
        yield table


#: Most nodes of a tree that are shown; levels are shown whole.
_NODES = 200


def _tree(block: Tree, width: int) -> RichTree:
    """Return the levels that fit the terminal's width and have at most `_NODES` nodes.

    At least two levels below the root are shown.
    """
    # Each level is indented by four columns.
    deepest = max(2, min((width - 24) // 4, block.levels(_NODES)))
    root = RichTree(_text(block.label(block.root), width), guide_style="dim")
    branches = [root]
    for depth, node in block.upper(deepest):
        if depth == 0:
            continue
        branch = branches[depth - 1].add(_text(block.label(node), width))
        branches[depth:] = [branch]
        if depth == deepest and node.parts:
            branch.add(Text("…", style="dim"))
    return root


#: Columns of a curve besides its two drawings: three numbers and the space between.
_BESIDE = 38
#: Width of a curve's longest bar, in columns.
_LONGEST_BAR = 40


def _curve(block: Curve, width: int) -> RichTable:
    room = max(6, min(_LONGEST_BAR, (width - _BESIDE) // 2))
    label, bar, dot = block.names
    table = RichTable(box=box.SIMPLE, pad_edge=False)
    table.add_column(label, justify="right", no_wrap=True)
    table.add_column(bar, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, style="cyan")
    table.add_column(dot, justify="right", no_wrap=True)
    # The header shows the ends of the axis if they fit.
    between = room - sum(map(len, block.ends))
    scale = (" " * between).join(block.ends) if between > 0 else ""
    table.add_column(scale, no_wrap=True, header_style="dim")
    for name, length, share, number, place in block.points:
        line = Text("─" * round(place * (room - 1)), style="dim").append("●", style="bold")
        drawing = _bar(share, room) or ("▏" if share else "")
        table.add_row(name, length, drawing, number, line)
    return table
