"""Documents as Markdown, with tables in GitHub's syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence

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

#: Most nodes and levels of a tree that are written.
_NODES, _LEVELS = 200, 12


def markdown(answer: Report) -> str:
    """Return the document as Markdown, with its title as a heading."""
    parts = [f"# {_plain(answer.title)}"]
    parts += [text for block in on_paper(answer) if (text := _block(block))]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"## {_plain(text)}"
        case Paragraph(content, style):
            return _inline([Span(content, style)] if isinstance(content, str) else content)
        case Legend():
            return _plain(block.text.format("bold is"))
        case Bullets(lines):
            return "\n".join(f"- {_plain(line)}" for line in lines)
        case Code(text):
            return f"    {text}"
        case Table():
            return _table(block)
        case Tree():
            depth = min(max(2, block.levels(_NODES)), _LEVELS)
            return "\n".join(
                f"{'  ' * level}- {_inline(block.label(node))}"
                for level, node in block.upper(depth)
            )
    return ""


def _table(table: Table) -> str:
    ruler = ["---:" if column.right else "---" for column in table.columns]
    lines: list[Sequence[str]] = [[_plain(column.name) for column in table.columns], ruler]
    lines += [list(map(_inline, row)) for row in table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _inline(content: Content) -> str:
    """Return a cell or a paragraph as Markdown on one line."""
    if isinstance(content, str):
        return _plain(content)
    return _beginning(_part(content).strip() if isinstance(content, list) else _part(content))


def _part(content: Content) -> str:
    match content:
        case str():
            return _escaped(content)
        case Tokens():
            return _code(content.shown) + _escaped(content.more)
        case Figure() | Name():
            return _part(content.span)
        case Flow(entries):
            return "; ".join(map(_part, entries))
        case Span(text, style) if "bold" in style.split() and "not" not in style and text.strip():
            # Markdown reads `**` as bold only next to text, not next to a space.
            before, after = text[: -len(text.lstrip())], text[len(text.rstrip()) :]
            return f"{before}**{_escaped(text.strip())}**{after}"
        case Span(text):
            return _escaped(text)
    return "".join(map(_part, content))


def _plain(text: str) -> str:
    """Return text on one line that Markdown shows literally."""
    return _beginning(_escaped(text))


def _escaped(text: str) -> str:
    """Return text with Markdown's special characters escaped, except at the start of a line."""
    shown = re.sub(r"([\\`*_\[\]<>|#~&])", r"\\\1", safe(text))
    # GitHub would turn URLs into links.
    return re.sub(r"(?<=:)(?=//)|(?<=\bwww)(?=\.)", r"\\", shown, flags=re.IGNORECASE)


def _beginning(line: str) -> str:
    """Return the line, escaped if it would start a list, a rule or a code block."""
    shown = re.sub(r"^(\d+(?=[.)]( |$))|(?=[-=])|(?=\+( |$)))", r"\1\\", line)
    return f"&#32;{shown[1:]}" if shown.startswith(" ") else shown


def _code(tokens: Sequence[str]) -> str:
    """Return tokens as inline code, separated by the box-drawing bar, which does not end a cell."""
    text = BAR.join(tokens).replace("|", "\\|")
    if not text:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
