"""Tokens that are found in a text before anything else is done with it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from tokctl.errors import TokctlError


class AddedToken(NamedTuple):
    """A token that is matched as a whole, whatever the model would make of its text.

    Models have hundreds of thousands of them, so they are checked together, by `check_added`,
    when a model is made.

    Attributes:
        text: its spelling in a text and in the vocabulary.
        id: its id.
        special: matched only where the caller allows special tokens; others always are.
        single_word: only where no word character stands beside it.
        strip_left, strip_right: it takes white space on that side along.
        normalized: matched in the normalized text, not in the text as given.
        literal: where it is matched in the normalized text, by its spelling as it is;
            otherwise its spelling is normalized, too, and decoded so, as Hugging Face does.
        ordinary: the model may make it of ordinary text, too; never true of a special one.
    """

    text: str
    id: int
    special: bool = True
    single_word: bool = False
    strip_left: bool = False
    strip_right: bool = False
    normalized: bool = False
    literal: bool = False
    ordinary: bool = False


def check_added(tokens: Sequence[AddedToken]) -> None:
    """TokctlError unless each has a text, an id and flags, and no two share a text or an id."""
    if not tokens:
        return
    texts, ids, *flags = zip(*tokens, strict=True)
    if set(map(type, texts)) != {str} or "" in texts:
        raise TokctlError("an added token can't be empty")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        wrong = next(text for text in texts if any("\ud800" <= c <= "\udfff" for c in text))
        raise TokctlError(f"the added token {wrong!r} is not UTF-8") from None
    if set(map(type, ids)) != {int} or min(ids) < 0 or max(ids) >= 2**32 - 1:
        wrong = next(t for t in tokens if type(t.id) is not int or not 0 <= t.id < 2**32 - 1)
        raise TokctlError(f"the added token {wrong.text!r} can't have the id {wrong.id!r}")
    if {*map(type, chain.from_iterable(flags))} != {bool}:
        raise TokctlError("a flag of an added token is neither true nor false")
    if len(set(texts)) != len(texts):
        raise TokctlError("two added tokens have the same text")
    if len(set(ids)) != len(ids):
        twice = next(one for one, two in pairwise(sorted(ids)) if one == two)
        raise TokctlError(f"the id {twice} has two added tokens")
