"""Held-out data: a part of each text that models are not trained on, to be measured on.

On its own training text, a model seems better than on others, and an algorithm that memorizes seems
the best. `split` takes a part away beforehand.

One rule applies to every text. The text is cut into units, the first kind of which there are
enough: documents, if it has several; paragraphs, which end with an empty line; lines. Documents
stay as they are. Consecutive paragraphs or lines are grouped into `BLOCKS` blocks, so that the
held-out part is not interleaved sentence by sentence with the training part. Of n units, the share
times n, rounded, is held out: the numbers, from 0, with the smallest `sha256("SEED:NUMBER")`.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from tokctl.analysis.texts import Text
from tokctl.core.errors import BadOption

#: Most blocks of paragraphs or lines into which a document is cut.
BLOCKS = 100
#: Default share to hold out.
SHARE = 0.1

_PARAGRAPHS = re.compile(rb"\n(?:[ \t\r]*\n)+")
_LINES = re.compile(rb"\n")


@dataclass(frozen=True)
class Split:
    """A text in two parts.

    Attributes:
        training: The part to train models on.
        measured: The held-out part; the whole text if nothing could be held out.
        unit: `documents`, `paragraphs` or `lines`; empty if nothing is held out.
        units: Number of documents or blocks in the text.
        held_out: Numbers of the held-out units, from 0, ascending.
    """

    training: Text
    measured: Text
    unit: str = ""
    units: int = 0
    held_out: tuple[int, ...] = ()


def check_share(share: float) -> None:
    """Raise TokctlError unless 0 <= share < 1."""
    if not 0 <= share < 1:
        raise BadOption(
            f"invalid value {share} for the held-out share",
            "give a share of at least 0 and less than 1",
            "bad-value",
        )


def split(text: Text, share: float = SHARE, *, seed: int = 0, lines: bool = False) -> Split:
    """Hold a share of a text out; nothing if it has too few documents, paragraphs and lines.

    Args:
        text: The text to split.
        share: Share of the documents or blocks to hold out, at least 0 and less than 1.
        seed: Determines which units are held out.
        lines: Whether to cut into lines and no other units, so that texts that are parallel line by
            line lose the same lines.

    Raises:
        TokctlError: The share is out of range.

    Example:
        parts = split(text, 0.2, seed=1)
        parts.training, parts.measured
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
    """Yield each kind of unit that the text can be cut into, with the end offset of each unit."""
    if text.ends is not None:
        yield "documents", text.ends
        return
    if not lines:
        yield "paragraphs", _blocks(text.data, _PARAGRAPHS)
    yield "lines", _blocks(text.data, _LINES)


def _blocks(data: bytes, end: re.Pattern[bytes]) -> list[int]:
    """Return the end offsets of up to `BLOCKS` blocks of units; `end` matches the end of a unit."""
    ends = array("Q", (match.end() for match in end.finditer(data)))
    if data and not (ends and ends[-1] == len(data)):
        ends.append(len(data))
    count = min(len(ends), BLOCKS)
    return [ends[(number + 1) * len(ends) // count - 1] for number in range(count)]


def _chosen(count: int, share: float, seed: int) -> list[int]:
    """Return the held-out numbers below `count`, ascending; empty if they would be none or all."""
    wanted = int(share * count + 0.5)
    if not 0 < wanted < count:
        return []

    def place(number: int) -> bytes:
        return sha256(f"{seed}:{number}".encode()).digest()

    return sorted(sorted(range(count), key=place)[:wanted])


def _part(text: Text, ends: Sequence[int], numbers: Sequence[int], *, documents: bool) -> Text:
    """Return the units with these ascending numbers; consecutive blocks become one document."""
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
