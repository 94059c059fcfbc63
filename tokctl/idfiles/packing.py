"""Packing: documents side by side in sequences of at most N ids, with what attention needs to keep
them apart.

Best fit among a bounded number of open sequences: a document goes into the open sequence with the
least room that has room enough. Documents are never cut, but for those that are longer than a
sequence. Nothing is looked at twice, so that memory holds the open sequences and no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tokctl.errors import TokctlError

#: Sequences that wait for documents at a time.
OPEN = 64

#: The columns of a document: its ids, and which of them an assistant wrote.
IDS, MASK = "input_ids", "assistant_mask"

#: The columns of a packed row, beside those that the documents have.
POSITIONS, LENGTHS = "position_ids", "seq_lengths"

#: The columns of a document, or of a sequence: all as long as the first, the ids; in a sequence but
#: for `seq_lengths`.
Columns = Mapping[str, Sequence[int]]


@dataclass(eq=False)
class _Open:
    room: int
    columns: dict[str, list[int]]
    lengths: list[int] = field(default_factory=list)


class Packer:
    """Makes rows of documents: their columns, end to end; `position_ids`, which begin with 0 in
    each document; and `seq_lengths`, of each document its number of ids.

    A document of more than `size` ids is cut, and each piece counts as a document.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise TokctlError(f"a sequence can't have {size} ids", "take 1 or more")
        self._size = size
        self._open: list[_Open] = []

    def add(self, document: Columns) -> Iterator[Columns]:
        """The sequences that no document fits into any more, now that this one has its place."""
        count = len(next(iter(document.values())))
        for start in range(0, count, self._size):
            end = start + self._size
            piece = {name: values[start:end] for name, values in document.items()}
            yield from self._placed(piece, min(count - start, self._size))

    def rest(self) -> Iterator[Columns]:
        """The sequences that are left."""
        for each in self._open:
            yield _row(each)
        self._open = []

    def _placed(self, piece: Columns, count: int) -> Iterator[Columns]:
        fitting = [each for each in self._open if each.room >= count]
        # Of equal ones the oldest: `min` takes the first.
        place = min(fitting, key=lambda each: each.room, default=None)
        if place is None:
            if len(self._open) == OPEN:
                fullest = min(self._open, key=lambda each: each.room)
                self._open.remove(fullest)
                yield _row(fullest)
            place = _Open(self._size, {name: [] for name in piece})
            self._open.append(place)
        for name, values in piece.items():
            place.columns[name] += values
        place.lengths.append(count)
        place.room -= count
        if place.room == 0:
            self._open.remove(place)
            yield _row(place)


def _row(packed: _Open) -> Columns:
    positions = [place for length in packed.lengths for place in range(length)]
    return {**packed.columns, POSITIONS: positions, LENGTHS: packed.lengths}
