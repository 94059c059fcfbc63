"""Ids that a file gives to nothing: here they are numbered without holes.

A special token `<|unused_ID|>` fills each hole (`cl100k_base` has them at 100256 and from
100261 to 100275): no text makes it, unless the caller allows it by name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tokctl.model.parts import AddedToken

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
    """The ids that are missing below the highest; ValueError where there are too many."""
    total = max(ids, default=-1) + 1
    if total - len(ids) > max(len(ids), MOST_HOLES):
        raise ValueError(f"of the ids up to {total - 1}, only {len(ids)} have a token")
    return sorted(set(range(total)).difference(ids)) if total != len(ids) else []


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
    texts = {**special, **{id_: filler(id_) for id_ in holes(by_id.keys() | special.keys())}}
    added = tuple(AddedToken(text, id_) for id_, text in sorted(texts.items()))
    # The recipe refuses a lone surrogate, with its name.
    encoded = {id_: text.encode("utf-8", "surrogatepass") for id_, text in texts.items()}
    tokens = {**by_id, **encoded}
    return [tokens[id_] for id_ in range(len(tokens))], added
