"""Texts in blocks of whole lines, so that a text of any size can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tokctl.errors import TokctlError
from tokctl.sources import Document

#: Bytes of a block, unless a line is longer.
SIZE = 1 << 18


class Block(NamedTuple):
    """Some lines of a text. `line` is the number of the first, from 1."""

    name: str
    line: int
    text: str

    @property
    def lines(self) -> list[str]:
        """The lines without their ends. A line ends at a line feed and nowhere else."""
        lines = self.text.split("\n")
        return lines if lines[-1] else lines[:-1]


def blocks(document: Document, size: int = SIZE) -> Iterator[Block]:
    """The blocks of a text; TokctlError where it is not UTF-8: the libraries take nothing
    else."""
    line = 1
    for data in _cut(_whole_lines(document.blocks()), size):
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line += data.count(b"\n", 0, error.start)
            raise TokctlError(
                f"{document.name}: line {line} is not UTF-8", "verify with a text that is"
            ) from None
        yield Block(document.name, line, text)
        line += data.count(b"\n")


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
