"""Cutting encodings apart and putting them together, column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import chain
from typing import Any

from tokctl.tokenizer.encoding import Encoding, Windows, windows_of

#: The lists of an encoding that have one entry per token.
COLUMNS = tuple(entry.name for entry in fields(Encoding) if entry.name != "overflowing")


def changed(encoding: Encoding, **columns: Any) -> Encoding:
    """The encoding with other columns or windows.

    As `dataclasses.replace`, but columns that nobody has read stay unmade.
    """
    made = vars(encoding)
    kept = {name: made[name] for name in COLUMNS if name in made}
    return Encoding(**{"overflowing": windows_of(encoding), **kept, **columns})


def each_window(encoding: Encoding, change: Callable[[Encoding], Encoding]) -> Windows:
    """Every window of the encoding as `change` makes it, when it is asked for."""
    if not windows_of(encoding):
        return []
    return lambda: [change(window) for window in encoding.overflowing]


def cut(encoding: Encoding, start: int, end: int, overflowing: Windows = ()) -> Encoding:
    """The tokens from `start` to `end`."""
    made = vars(encoding)
    columns = {name: made[name][start:end] for name in COLUMNS if name in made}
    return Encoding(**columns, overflowing=_own(overflowing))


def join(encodings: Sequence[Encoding], overflowing: Windows = ()) -> Encoding:
    """The tokens of several encodings, one behind the other."""
    columns: dict[str, list[Any]] = {
        name: list(chain.from_iterable(getattr(one, name) for one in encodings)) for name in COLUMNS
    }
    return Encoding(**columns, overflowing=_own(overflowing))


def _own(overflowing: Windows) -> Windows:
    return overflowing if callable(overflowing) else list(overflowing)


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
