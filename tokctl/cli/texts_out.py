"""`encode`, text by text: what comes in, what goes out, what is counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokctl.cli import streams
from tokctl.cli.world import visible

if TYPE_CHECKING:
    from tokctl.cli.forms import Forms
    from tokctl.sources import Document

#: Bytes of text after which output is written, where Python makes it line by line.
_PORTION = 1 << 16


def write_all(forms: Forms, texts: list[Document], write: streams.Writer, *, whole: bool) -> None:
    """Encodes the texts and writes them, each as one text or line by line."""
    for text in texts:
        if whole:
            _whole(forms, text, write)
        else:
            _lines(forms, text, write)


def measured(forms: Forms, texts: list[Document], *, whole: bool) -> list[Document]:
    """The texts, kept in memory, when the longest row that they give is known as the length
    that all are padded to. The text is kept and encoded twice, being smaller than its rows."""
    import os
    from dataclasses import replace
    from pathlib import Path

    from tokctl.sources import Document

    read: list[Document] = []
    for text in texts:
        blocks = list(text.blocks())
        read.append(Document(text.name, text.size, lambda blocks=blocks: iter(blocks)))  # type: ignore[misc]
    with Path(os.devnull).open("wb") as nowhere:
        write_all(forms, read, streams.Writer(nowhere), whole=whole)
    around = forms.around
    around.padding = replace(around.padding, length=around.longest)  # type: ignore[type-var]
    forms.texts_done = 0
    return read


def _whole(forms: Forms, text: Document, write: streams.Writer) -> None:
    line = 1
    some = False
    for piece in forms.texts(text):
        written, tokens = forms.text(piece, text.name, line)
        if some and tokens and forms.form == "ids":
            write(b" ")
        write(written)
        some |= tokens > 0
        line += piece.count(b"\n")
    if forms.form != "bin":
        write(b"\n")


def _lines(forms: Forms, text: Document, write: streams.Writer) -> None:
    line = 1
    for block in _portions(forms, text):
        if line == 1 and write.line_is_open:
            write(b"\n")
        write(forms.lines(block, text.name, line)[0])
        write.line_is_open = not block.endswith(b"\n")
        line += block.count(b"\n")


def _portions(forms: Forms, text: Document) -> Iterator[bytes]:
    """Whole lines, so many that what is written for them does not keep people waiting."""
    for block in streams.whole_lines(forms.blocks(text)):
        if forms.is_native:
            yield block
        else:
            yield from streams.shares(block, len(block) // _PORTION + 1)


def count_report(
    forms: Forms, texts: list[Document], *, whole: bool, json: bool, named: bool
) -> bytes:
    """The report of `--count`: like that of `wc`, or JSON."""
    rows = []
    for text in texts:
        before = forms.bytes_read
        tokens = 0
        line = 1
        if whole:
            for piece in forms.texts(text):
                tokens += forms.text(piece, text.name, line)[1]
                line += piece.count(b"\n")
        else:
            for block in _portions(forms, text):
                tokens += forms.lines(block, text.name, line)[1]
                line += block.count(b"\n")
        rows.append((tokens, forms.bytes_read - before, text.name))
    total = (sum(row[0] for row in rows), forms.bytes_read, "total")
    if json:
        import os

        import orjson

        from tokctl.cli.written import text_or_bytes

        files = [
            {"name": text_or_bytes(os.fsencode(name)), "tokens": tokens, "bytes": size}
            for tokens, size, name in rows
        ]
        return orjson.dumps({"files": files, "tokens": total[0], "bytes": total[1]}) + b"\n"
    if len(rows) > 1:
        rows.append(total)
    widths = [len(str(figure)) for figure in total[:2]]
    lines = []
    for tokens, size, name in rows:
        shown = f" {visible(name)}" if named else ""
        lines.append(f"{tokens:>{widths[0]}} {size:>{widths[1]}}{shown}\n")
    return "".join(lines).encode()
