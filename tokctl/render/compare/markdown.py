"""A comparison as Markdown with tables as GitHub draws them."""

from __future__ import annotations

import re
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


def markdown(comparison: Comparison) -> str:
    """The whole document."""
    parts = ["# Comparison", *map(_block, blocks(comparison))]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {_plain(text)}"
        case Paragraph(text):
            return _plain(text)
        case Bullets(lines):
            return "\n".join(f"- {_plain(line)}" for line in lines)
        case Table():
            return _table(block)


def _table(table: Table) -> str:
    ruler = ["---", *(("---:" if table.right else "---") for _ in table.head[1:])]
    lines: list[Sequence[str]] = [list(map(_plain, table.head)), ruler]
    lines += [list(map(_cell, line)) for line in table.lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(cell: Cell) -> str:
    match cell:
        case Best(text):
            return f"**{text}**"
        case Tokens(tokens):
            return _code(tokens)
        case _:
            return _plain(cell)


def _plain(text: str) -> str:
    """Text that Markdown takes as it is, on one line."""
    shown = re.sub(r"([\\`*_\[\]<>|#~&])", r"\\\1", safe(text))
    # What GitHub would make a link of, and what begins a list, a ruler or a block of code.
    shown = re.sub(r"(?<=:)(?=//)|(?<=\bwww)(?=\.)", r"\\", shown, flags=re.IGNORECASE)
    shown = re.sub(r"^(\d+(?=[.)]( |$))|(?=[-=])|(?=\+( |$)))", r"\1\\", shown)
    return f"&#32;{shown[1:]}" if shown.startswith(" ") else shown


def _code(tokens: Sequence[str]) -> str:
    """Tokens as code, a bar between them: the box-drawing one, which ends no cell."""
    text = BAR.join(drawn(token) for token in tokens).replace("|", "\\|")
    if not text:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
