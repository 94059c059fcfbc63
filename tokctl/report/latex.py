"""Documents as LaTeX: sections with tables, to be included in another document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokctl.report.document import (
    Block,
    Bullets,
    Code,
    Content,
    Figure,
    Flow,
    Heading,
    Legend,
    Name,
    Paragraph,
    Report,
    Span,
    Table,
    Tokens,
    Tree,
    on_paper,
)
from tokctl.report.visible import BAR, safe

_PREAMBLE = """\
% Written by tokctl COMMAND. Needs \\usepackage{booktabs,array}, and LuaLaTeX or XeLaTeX with a font
% that has the characters of the texts."""

#: LaTeX for characters that are commands there, and for the symbols that tokctl writes.
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "'": r"\textquotesingle{}",
        "`": r"\textasciigrave{}",
        "-": r"{-}",  # two hyphens would become a dash
        "\u2191": r"$\uparrow$",
        "\u2193": r"$\downarrow$",
        "\u2212": r"$-$",
        "\u2013": r"\textendash{}",
        "\u2022": r"\textbullet{}",
        "\u00d7": r"$\times$",
        BAR: r"\,\textbar{}\,\allowbreak{}",
        "\u2423": r"\textvisiblespace{}",
    }
)


#: Most nodes and levels of a tree that are written; LaTeX nests at most four lists.
_NODES, _LEVELS = 200, 3


def latex(answer: Report) -> str:
    """Return the document as LaTeX sections, without a preamble."""
    parts = [text for block in on_paper(answer) if (text := _block(block))]
    return "\n\n".join([_PREAMBLE.replace("COMMAND", answer.command), *parts]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return rf"\section*{{{_plain(text)}}}"
        case Paragraph(content, style):
            return _inline([Span(content, style)] if isinstance(content, str) else content)
        case Legend():
            return _plain(block.text.format("bold is"))
        case Bullets(lines):
            return _items(f"{{}}{_plain(line)}" for line in lines)
        case Code(text):
            return rf"\texttt{{{_plain(text)}}}"
        case Table():
            return _table(block)
        case Tree():
            return _tree(block)
    return ""


def _items(lines: Iterable[str]) -> str:
    items = "\n".join(rf"\item {line}" for line in lines)
    return f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}"


def _tree(tree: Tree) -> str:
    """Return the tree as nested lists."""
    lines: list[str] = []
    last = -1
    for depth, node in tree.upper(min(max(2, tree.levels(_NODES)), _LEVELS)):
        lines += [r"\begin{itemize}"] * (depth - last) + [r"\end{itemize}"] * (last - depth)
        lines.append(rf"\item {{}}{_inline(tree.label(node))}")
        last = depth
    return "\n".join([*lines, *[r"\end{itemize}"] * (last + 1)])


def _table(table: Table) -> str:
    lines = [
        rf"\begin{{tabular}}{{{_columns(table)}}}",
        r"\toprule",
        *([_line([_plain(column.name) for column in table.columns]), r"\midrule"] * table.has_head),
        *(_line(list(map(_inline, row))) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


#: Cells longer than this many characters make their column wrap; share of a line that all such
#: columns take together.
_LONG, _SHARE = 24, 0.62


def _columns(table: Table) -> str:
    """Return the column specification of a table.

    Columns of numbers are right-aligned, and columns of text with long cells wrap. In a table where
    all columns but the first are numbers, the first does not wrap.
    """
    right = [column.right for column in table.columns]
    if all(right[1:]):
        return "".join("r" if is_right else "l" for is_right in right)
    cells = zip(*table.rows, strict=True) if table.rows else [()] * len(right)
    long = [
        not is_right and any(_length(cell) > _LONG for cell in column)
        for is_right, column in zip(right, cells, strict=True)
    ]
    width = _SHARE / max(sum(long), 1)
    folded = rf">{{\raggedright\arraybackslash}}p{{{width:.2f}\linewidth}}"
    return "".join(
        "r" if is_right else folded if is_long else "l"
        for is_right, is_long in zip(right, long, strict=True)
    )


def _length(content: Content) -> int:
    match content:
        case str():
            return len(content)
        case Span(text):
            return len(text)
        case Tokens():
            return len(BAR.join(content.shown))
        case Figure() | Name():
            return len(content.span.text)
        case Flow(entries):
            return sum(_length(entry) + 2 for entry in entries)
    return sum(map(_length, content))


def _line(cells: Sequence[str]) -> str:
    # After `\\`, LaTeX would take an opening bracket in the next row for an optional argument.
    return "{}" + " & ".join(cells) + r" \\"


def _inline(content: Content) -> str:
    match content:
        case str():
            return _plain(content)
        case Tokens():
            return rf"\texttt{{{_plain(BAR.join(content.shown))}}}{_plain(content.more)}"
        case Figure() | Name():
            return _inline(content.span)
        case Flow(entries):
            return "; ".join(map(_inline, entries))
        case Span(text, style) if "bold" in style.split() and "not" not in style:
            return rf"\textbf{{{_plain(text)}}}"
        case Span(text):
            return _plain(text)
    return "".join(map(_inline, content)).strip()


def _plain(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    return safe(text).translate(_ESCAPES)
