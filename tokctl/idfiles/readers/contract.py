"""What every reader gives: the ids of a file in parts, and where documents end among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """Ids that follow those of the part before.

    Attributes:
        ids: whole numbers, as something with the buffer protocol; none of them is checked.
        place: where in the file an id stands, by its number in `ids` from 0; for errors.
        ends: a document ends behind them. Where nothing says where documents end, no part has
            it, and all ids are one row.
    """

    ids: Sequence[int]
    place: Callable[[int], str]
    ends: bool = False
