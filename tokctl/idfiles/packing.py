"""Packing: several documents in one sequence of at most N ids, with the columns that separate them.

The method is best fit among a bounded number of open sequences. A document goes into the open
sequence with the least room that is still enough for it. Documents are not cut unless they are
longer than a sequence. No document is read twice, so memory holds the open sequences only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tokctl.core.errors import BadOption

#: Largest number of open sequences.
OPEN = 64

#: Columns of a document: its ids, and a mask of the ids that an assistant wrote.
IDS, MASK = "input_ids", "assistant_mask"

#: Columns that a packed row has in addition to the columns of its documents.
POSITIONS, LENGTHS = "position_ids", "seq_lengths"

#: Columns of a document or of a sequence. All are as long as the first one, the ids, except for
#: `seq_lengths` in a sequence.
Columns = Mapping[str, Sequence[int]]


@dataclass(eq=False)
class _OpenRow:
    room: int
    columns: dict[str, list[int]]
    lengths: list[int] = field(default_factory=list)


class Packer:
    """Packer of documents into rows.

    A row holds the columns of its documents end to end, and two more columns. `position_ids` begins
    with 0 in each document; `seq_lengths` is the number of ids of each document.

    A document of more than `size` ids is cut, and each part counts as a document.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise BadOption(
                f"invalid value {size} for the length of sequences", "take 1 or more", "bad-value"
            )
        self._size = size
        self._open_rows: list[_OpenRow] = []

    def add(self, document: Columns) -> Iterator[Columns]:
        """Add a document, and yield the rows that no document can be added to any more.

        A row is finished when it is full, or when it is the fullest of `OPEN` rows and the document
        needs a new one.
        """
        count = len(next(iter(document.values())))
        for start in range(0, count, self._size):
            end = start + self._size
            piece = {name: values[start:end] for name, values in document.items()}
            yield from self._add_piece(piece, min(count - start, self._size))

    def rest(self) -> Iterator[Columns]:
        """Yield the rows that are still open."""
        for row in self._open_rows:
            yield _finished_row(row)
        self._open_rows = []

    def _add_piece(self, piece: Columns, count: int) -> Iterator[Columns]:
        candidates = [row for row in self._open_rows if row.room >= count]
        # `min` returns the first of several equal sequences: the oldest.
        best = min(candidates, key=lambda row: row.room, default=None)
        if best is None:
            if len(self._open_rows) == OPEN:
                fullest = min(self._open_rows, key=lambda row: row.room)
                self._open_rows.remove(fullest)
                yield _finished_row(fullest)
            best = _OpenRow(self._size, {name: [] for name in piece})
            self._open_rows.append(best)
        for name, values in piece.items():
            best.columns[name] += values
        best.lengths.append(count)
        best.room -= count
        if best.room == 0:
            self._open_rows.remove(best)
            yield _finished_row(best)


def _finished_row(row: _OpenRow) -> Columns:
    positions = [position for length in row.lengths for position in range(length)]
    return {**row.columns, POSITIONS: positions, LENGTHS: row.lengths}
