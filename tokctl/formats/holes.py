"""Ids that a file gives to nothing: here they are numbered without holes.

A special token `<|unused_ID|>` fills each hole (`cl100k_base` has them at 100256 and from
100261 to 100275): no text makes it, unless the caller allows it by name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from tokctl.model.parts import AddedToken

if TYPE_CHECKING:
    from tokctl._native import RankFile

#: More holes than tokens, and than this, are a mistake of the file's: one wrong number would
#: else fill the memory.
MOST_HOLES = 1 << 16


def filler(id_: int) -> str:
    """The special token that fills the hole at an id."""
    return f"<|unused_{id_}|>"


def unused(id_: int) -> AddedToken:
    """What stands for an id that no token has."""
    return AddedToken(filler(id_), id_)


def holes(ids: Collection[int]) -> list[int]:
    """The ids that are missing below the highest; ValueError if there are too many."""
    total = max(ids, default=-1) + 1
    _check(total, len(ids))
    return sorted(set(range(total)).difference(ids)) if total != len(ids) else []


def _check(total: int, taken: int) -> None:
    if total - taken > max(taken, MOST_HOLES):
        raise ValueError(f"of the ids up to {total - 1}, only {taken} have a token")


def special_tokens(ranks: RankFile, special: Mapping[int, str]) -> tuple[AddedToken, ...]:
    """The special tokens beside a file of ranks, fillers among them, in id order.

    Raises:
        ValueError: an id has a token and a special token, or there are too many holes.
    """
    for id_ in sorted(special):
        if id_ in ranks:
            raise ValueError(f"the id {id_} has a token and the special token {special[id_]!r}")
    total = max([ranks.end, *(id_ + 1 for id_ in special)])
    _check(total, len(ranks) + len(special))
    fillers = {id_: filler(id_) for id_ in ranks.free(total)}
    return tuple(AddedToken(text, id_) for id_, text in sorted({**fillers, **special}.items()))
