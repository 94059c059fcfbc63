"""Ids that a file gives to nothing: here they are numbered without holes.

A special token `<|unused_ID|>` fills each hole (`cl100k_base` has them at 100256 and from
100261 to 100275): no text makes it, unless the caller allows it by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from tokctl.pipeline import AddedToken

#: More holes than tokens, and than this, are a mistake of the file's.
MOST_HOLES = 1 << 16


def filler(id_: int) -> str:
    """The special token that fills the hole at an id."""
    return f"<|unused_{id_}|>"


def fill(
    by_id: Mapping[int, bytes], special: Mapping[int, str]
) -> tuple[list[bytes], tuple[AddedToken, ...]]:
    """Every token by id, and the special ones, fillers among them, in id order.

    Raises:
        ValueError: an id has a token and a special token, or there are too many holes.
    """
    if both := by_id.keys() & special.keys():
        id_ = min(both)
        raise ValueError(f"the id {id_} has a token and the special token {special[id_]!r}")
    known = len(by_id) + len(special)
    total = max([*by_id, *special], default=-1) + 1
    if total - known > max(known, MOST_HOLES):
        raise ValueError(f"of the ids up to {total - 1}, only {known} have a token")
    tokens, added = [], []
    for id_ in range(total):
        token = by_id.get(id_)
        if token is None:
            text = special.get(id_, filler(id_))
            added.append(AddedToken(text, id_))
            token = text.encode("utf-8", "surrogatepass")  # the recipe refuses these
        tokens.append(token)
    return tokens, tuple(added)
