"""A comparison as LaTeX: sections with tables, to be put into a document of one's own."""

from __future__ import annotations

from collections.abc import Sequence

from tokctl.analysis.comparison.results import Comparison
from tokctl.render.compare.blocks import (
    Best,
    Block,
    Bullets,
    Cell,
    Heading,
    Paragraph,
    Table,
    Tokens,
    blocks,
)
from tokctl.render.compare.rows import safe
from tokctl.render.console import BAR, drawn

_PREAMBLE = """\
% Written by tokctl compare. Needs \\usepackage{booktabs,array}, and LuaLaTeX or XeLaTeX with a font
% that has the characters of the texts."""

#: What LaTeX would take for a command, and what stands for it; and signs of ours.
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
        "-": r"{-}",  # two of them would be a dash
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


def latex(comparison: Comparison) -> str:
    """Sections, without the preamble of a document."""
    return "\n\n".join([_PREAMBLE, *map(_block, blocks(comparison))]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return rf"\section*{{{_plain(text)}}}"
        case Paragraph(text):
            return _plain(text)
        case Bullets(lines):
            items = "\n".join(rf"\item {{}}{_plain(line)}" for line in lines)
            return f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}"
        case Table():
            return _table(block)


def _table(table: Table) -> str:
    columns = "l" + "r" * (len(table.head) - 1) if table.right else _folding(table)
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line(list(map(_plain, table.head))),
        r"\midrule",
        *(_line(list(map(_cell, line))) for line in table.lines),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


#: Characters of a cell from which on its column is folded, and the share of a line that such
#: columns take together.
_LONG, _SHARE = 24, 0.62


def _folding(table: Table) -> str:
    """The columns of a table of text: those with long cells are folded."""
    columns = list(zip(*table.lines, strict=True))
    long = [any(len(_text(cell)) > _LONG for cell in column) for column in columns]
    width = _SHARE / max(sum(long), 1)
    column = rf">{{\raggedright\arraybackslash}}p{{{width:.2f}\linewidth}}"
    return "".join(column if folded else "l" for folded in long)


def _text(cell: Cell) -> str:
    match cell:
        case Best(text):
            return text
        case Tokens(tokens):
            return BAR.join(tokens)
        case _:
            return cell


def _line(cells: Sequence[str]) -> str:
    # An opening bracket behind the end of a line would be taken for its argument.
    return "{}" + " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    match cell:
        case Best(text):
            return rf"\textbf{{{_plain(text)}}}"
        case Tokens(tokens):
            return rf"\texttt{{{_plain(BAR.join(drawn(token) for token in tokens))}}}"
        case _:
            return _plain(cell)


def _plain(text: str) -> str:
    """Text that LaTeX sets as it is."""
    shown = safe(text)
    return shown.translate(_ESCAPES)
