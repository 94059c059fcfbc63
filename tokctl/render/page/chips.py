"""Tokens as the page shows them: one after another, each with a card to point at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tokctl.analysis.comparison import Segmentation
from tokctl.analysis.explain.cards import TokenCard
from tokctl.render.page import shown

#: Tokens of one sentence.
MOST = 400


@dataclass(frozen=True)
class Chip:
    """A token: `id` is that of its card, or None where it has none."""

    text: str
    id: int | None


@dataclass(frozen=True)
class Chips:
    """A row of tokens.

    Attributes:
        model: the place of the model, whose cards these are.
        name: what they are, for those who do not see them.
        direction: `ltr` or `rtl`.
        more: tokens that are left out.
    """

    model: int
    name: str
    direction: str
    chips: tuple[Chip, ...]
    more: int = 0


class Deck:
    """The cards of one model: which tokens have one."""

    def __init__(self, model: int, name: str, cards: Sequence[TokenCard]) -> None:
        self.model = model
        self.name = shown.prose(name)
        self.cards = cards
        self.ids = {card.id for card in cards}
        self.by_token = {card.token: card.id for card in cards}

    def segmentation(self, cut: Segmentation, text: str) -> Chips:
        """A text as the model cuts it."""
        pairs = zip(cut.shown[:MOST], cut.ids[:MOST], strict=True)
        chips = (self._chip(token, id_) for token, id_ in pairs)
        rest = max(0, len(cut.shown) - MOST)
        name = f"{self.name}, {len(cut.tokens):,} tokens"
        return Chips(self.model, name, shown.direction(text), tuple(chips), rest)

    def tokens(self, tokens: Iterable[str], name: str) -> Chips:
        """Tokens by their spelling."""
        chips = tuple(self._chip(token, self.by_token.get(token)) for token in tokens)
        return Chips(self.model, name, "ltr", chips)

    def _chip(self, token: str, id_: int | None) -> Chip:
        return Chip(shown.token(token), id_ if id_ in self.ids else None)
