"""Models that look text up: word models whole pre-tokens, character models characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokctl._native import NO_ID
from tokctl.model.parts import AddedToken

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


@dataclass(frozen=True)
class Lookup:
    """What was looked up.

    Attributes:
        token: None where the vocabulary lacks it.
        count: how often it was counted in training; None where the model does not say.
    """

    text: str
    token: str | None
    count: int | None


@dataclass(frozen=True)
class LookedUpWord:
    """A pre-token that was looked up, whole or by its characters.

    Attributes:
        data: the pre-token's bytes, normalized and rewritten.
        unit: `word` or `character`: what was looked up.
        size: how many of these the vocabulary holds.
    """

    data: bytes
    unit: str
    size: int
    lookups: tuple[Lookup, ...]
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


@dataclass(frozen=True)
class FoundWord:
    """An added token, found in the text before the model segments anything."""

    data: bytes
    added: AddedToken
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


def look_up(
    tokenizer: Tokenizer, data: bytes, names: tuple[str, ...], ids: tuple[int | None, ...]
) -> LookedUpWord:
    """How a word or character model reads one pre-token."""
    whole = tokenizer.recipe.segmentation == "lookup"
    text = data.decode()
    model = tokenizer.model
    known = {token: id_ for id_, token in enumerate(model.tokens) if id_ not in model.apart}
    found = []
    for part in [text] if whole else text:
        id_ = known.get(part.encode(), NO_ID)
        token = None if id_ == NO_ID else tokenizer.tokens[id_]
        count = model.counts[id_] if model.counts and token is not None else None
        found.append(Lookup(part, token, count))
    unit = "word" if whole and tokenizer.recipe.algorithm == "word" else "character"
    return LookedUpWord(data, unit, len(known), tuple(found), names, ids)
