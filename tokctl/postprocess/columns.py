"""Cutting encodings apart and putting them together, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import chain
from typing import Any

from tokctl.encoding import Encoding

#: The lists of an encoding that have one entry per token.
COLUMNS = tuple(entry.name for entry in fields(Encoding) if entry.name != "overflowing")


def changed(encoding: Encoding, **columns: Any) -> Encoding:
    """The encoding with other columns or windows.

    As `dataclasses.replace`, but columns that nobody has read stay unmade.
    """
    made = vars(encoding)
    kept = {name: made[name] for name in (*COLUMNS, "overflowing") if name in made}
    return Encoding(**{**kept, **columns})


def cut(encoding: Encoding, start: int, end: int, overflowing: Sequence[Encoding] = ()) -> Encoding:
    """The tokens from `start` to `end`."""
    made = vars(encoding)
    columns = {name: made[name][start:end] for name in COLUMNS if name in made}
    return Encoding(**columns, overflowing=list(overflowing))


def join(encodings: Sequence[Encoding], overflowing: Sequence[Encoding] = ()) -> Encoding:
    """The tokens of several encodings, one behind the other."""
    columns: dict[str, list[Any]] = {
        name: list(chain.from_iterable(getattr(one, name) for one in encodings)) for name in COLUMNS
    }
    return Encoding(**columns, overflowing=list(overflowing))


def added(tokens: Sequence[str], ids: Sequence[int], type_ids: Sequence[int]) -> Encoding:
    """Tokens that stand for no text."""
    size = len(tokens)
    return Encoding(
        list(ids),
        list(tokens),
        [""] * size,
        [(0, 0)] * size,
        [None] * size,
        type_ids=list(type_ids),
        special_mask=[1] * size,
        sequence_ids=[None] * size,
    )
