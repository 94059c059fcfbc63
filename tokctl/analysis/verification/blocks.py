"""Texts in blocks of whole lines or documents, so that a text of any size can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tokctl.errors import TokctlError
from tokctl.sources import Document, Records, Source, flat

#: Bytes of a block, unless a line is longer.
SIZE = 1 << 18


class Block(NamedTuple):
    """Some lines of a text, or documents of a source of records.

    Attributes:
        line: the number of the first line, or of the first document in its source, from 1.
        text: the lines; empty where these are documents.
        documents: each is compared whole, and by itself.
        unit: what `line` counts: `line` or `row`.
    """

    name: str
    line: int
    text: str
    documents: tuple[str, ...] = ()
    unit: str = "line"

    @property
    def lines(self) -> list[str]:
        """What is encoded at a time: the lines without their ends, or the documents. A line ends
        at a line feed and nowhere else."""
        if self.documents:
            return list(self.documents)
        lines = self.text.split("\n")
        return lines if lines[-1] else lines[:-1]


def blocks(source: Source, size: int = SIZE) -> Iterator[Block]:
    """The blocks of a text; TokctlError where it is not UTF-8: the libraries take nothing
    else."""
    for one in flat([source]):
        if isinstance(one, Document):
            yield from _of_lines(one, size)
        else:
            yield from _of_documents(one)


def _of_lines(document: Document, size: int) -> Iterator[Block]:
    line = 1
    for data in _cut(_whole_lines(document.blocks()), size):
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line += data.count(b"\n", 0, error.start)
            raise _not_utf8(document.name, "line", line) from None
        yield Block(document.name, line, text)
        line += data.count(b"\n")


def _of_documents(records: Records) -> Iterator[Block]:
    for batch in records.batches():
        documents = []
        for number, data in enumerate(batch.texts, batch.first):
            try:
                documents.append(data.decode())
            except UnicodeDecodeError:
                raise _not_utf8(records.name, records.unit, number) from None
        # How often one counts is nothing to compare.
        if documents:
            yield Block(records.name, batch.first, "", tuple(documents), records.unit)


def _not_utf8(name: str, unit: str, number: int) -> TokctlError:
    return TokctlError(f"{name}: {unit} {number} is not UTF-8", "verify with a text that is")


def _whole_lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts, cut so that each but the last ends behind a line feed."""
    waiting: list[bytes] = []
    for part in parts:
        end = part.rfind(b"\n") + 1
        if end:
            yield b"".join((*waiting, part[:end]))
            waiting = []
        waiting.append(part[end:])
    if rest := b"".join(waiting):
        yield rest


def _cut(parts: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The parts in blocks of whole lines, of up to `size` bytes or one line."""
    for part in parts:
        start = 0
        while start < len(part):
            end = start + size
            if end < len(part):
                end = part.rfind(b"\n", start, end) + 1 or part.find(b"\n", end) + 1 or len(part)
            yield part[start:end]
            start = end
