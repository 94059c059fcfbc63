"""Ids that a file leaves unused, filled so that every id has a token.

The special token `<|unused_ID|>` fills each hole (`cl100k_base` has holes at 100256 and from 100261
to 100275). Text never produces the token unless the caller allows special tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from tokctl.model.parts import AddedToken

if TYPE_CHECKING:
    from tokctl._native import RankFile

#: A file with more holes than this, and more holes than tokens, is damaged: without a limit, one
#: wrong id would fill the memory.
MOST_HOLES = 1 << 16


def filler_text(id_: int) -> str:
    """Return the text of the special token that fills the hole at `id_`."""
    return f"<|unused_{id_}|>"


def filler_token(id_: int) -> AddedToken:
    """Return the special token that fills the hole at `id_`."""
    return AddedToken(filler_text(id_), id_)


def find_holes(ids: Collection[int]) -> list[int]:
    """Return the missing ids below the highest of `ids`, in ascending order.

    Raises:
        ValueError: more ids are missing than used, and more than `MOST_HOLES`.
    """
    total = max(ids, default=-1) + 1
    _check_hole_count(total, len(ids))
    return sorted(set(range(total)).difference(ids)) if total != len(ids) else []


def _check_hole_count(total: int, taken: int) -> None:
    if total - taken > max(taken, MOST_HOLES):
        raise ValueError(f"of the ids up to {total - 1}, only {taken} have a token")


def special_tokens(ranks: RankFile, special: Mapping[int, str]) -> tuple[AddedToken, ...]:
    """Return the special tokens of a file of ranks, fillers of holes included, in id order.

    Args:
        ranks: the ordinary tokens.
        special: the text of each special token, by id.

    Raises:
        ValueError: an id has both a token and a special token, or there are too many holes.
    """
    for id_ in sorted(special):
        if id_ in ranks:
            raise ValueError(f"the id {id_} has a token and the special token {special[id_]!r}")
    total = max([ranks.end, *(id_ + 1 for id_ in special)])
    _check_hole_count(total, len(ranks) + len(special))
    fillers = {id_: filler_text(id_) for id_ in ranks.free(total)}
    return tuple(AddedToken(text, id_) for id_, text in sorted({**fillers, **special}.items()))
