"""A part of texts that models are not trained on, so that they can be measured on it.

A model knows the text that it was trained on: measured there, it seems better than it is on others,
and an algorithm that learns a text by heart seems the best. `split` takes a part away beforehand.

The rule, the same for every text: it is cut into units, the first of these that suffice: its
documents, where it has several; its paragraphs, which end with an empty line; its lines. Documents
are units as they are; of paragraphs and lines `BLOCKS` blocks are made, of consecutive ones, so
that what is held out is not the other half of what is trained on. Of n units the share, rounded, is
held out: those numbers, from 0, whose `sha256("SEED:NUMBER")` are the least.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from tokctl.analysis.texts import Text
from tokctl.errors import TokctlError

#: Blocks of paragraphs or lines that a document is cut into, if it has as many.
BLOCKS = 100
#: The share that is held out where nothing else is said.
SHARE = 0.1

_PARAGRAPHS = re.compile(rb"\n(?:[ \t\r]*\n)+")
_LINES = re.compile(rb"\n")


@dataclass(frozen=True)
class Split:
    """One text in two parts.

    Attributes:
        training: what models are trained on.
        measured: the rest; the same text where nothing could be held out.
        unit: `documents`, `paragraphs` or `lines`; empty if nothing is held out.
        units: how many documents or blocks the text has; held_out: the numbers of those that are
            held out, from 0, ascending.
    """

    training: Text
    measured: Text
    unit: str = ""
    units: int = 0
    held_out: tuple[int, ...] = ()


def check_share(share: float) -> None:
    """TokctlError unless it is a share that can be held out."""
    if not 0 <= share < 1:
        raise TokctlError(
            f"a share of {share} can't be held out", "it is at least 0, and less than 1"
        )


def split(text: Text, share: float = SHARE, *, seed: int = 0, lines: bool = False) -> Split:
    """Holds a share of a text out; nothing where it has too few documents, paragraphs and lines.

    Args:
        share: at least 0, and less than 1; of documents, or of blocks.
        seed: another one holds out others.
        lines: takes lines, and no other units: so texts that say the same line by line lose the
            same lines.

    Raises:
        TokctlError: there is no such share.
    """
    check_share(share)
    for unit, ends in _units(text, lines=lines):
        held_out = _chosen(len(ends), share, seed)
        if held_out:
            chosen = set(held_out)
            rest = [number for number in range(len(ends)) if number not in chosen]
            documents = unit == "documents"
            return Split(
                _part(text, ends, rest, documents=documents),
                _part(text, ends, held_out, documents=documents),
                unit,
                len(ends),
                tuple(held_out),
            )
    return Split(text, text)


def _units(text: Text, *, lines: bool) -> Iterator[tuple[str, Sequence[int]]]:
    """What the text can be cut into, with where each unit ends."""
    if text.ends is not None:
        yield "documents", text.ends
        return
    if not lines:
        yield "paragraphs", _blocks(text.data, _PARAGRAPHS)
    yield "lines", _blocks(text.data, _LINES)


def _blocks(data: bytes, end: re.Pattern[bytes]) -> list[int]:
    """Where blocks of what ends so end."""
    ends = array("Q", (match.end() for match in end.finditer(data)))
    if data and not (ends and ends[-1] == len(data)):
        ends.append(len(data))
    count = min(len(ends), BLOCKS)
    return [ends[(number + 1) * len(ends) // count - 1] for number in range(count)]


def _chosen(count: int, share: float, seed: int) -> list[int]:
    """Numbers below `count`, ascending; none where that would be none of them, or all."""
    wanted = int(share * count + 0.5)
    if not 0 < wanted < count:
        return []

    def place(number: int) -> bytes:
        return sha256(f"{seed}:{number}".encode()).digest()

    return sorted(sorted(range(count), key=place)[:wanted])


def _part(text: Text, ends: Sequence[int], numbers: Sequence[int], *, documents: bool) -> Text:
    """The units of these numbers, ascending. Blocks that follow each other are one document."""
    data, parts = memoryview(text.data), []
    own_ends = array("Q")
    size, before = 0, -2
    for number in numbers:
        part = data[ends[number - 1] if number else 0 : ends[number]]
        size += len(part)
        parts.append(part)
        if number == before + 1 and not documents:
            own_ends[-1] = size
        else:
            own_ends.append(size)
        before = number
    counts = None if text.counts is None else array("Q", (text.counts[n] for n in numbers))
    return Text(text.name, b"".join(parts), own_ends, counts, text.is_utf8)
