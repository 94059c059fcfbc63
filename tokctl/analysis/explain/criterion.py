"""What a training by merges compares, and what it does not merge, as far as its file tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokctl.model.byte_level import BYTES, unspell
from tokctl.model.symbols import BYTE_TOKENS

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

Pair = tuple[int, int]


class Criterion:
    """By what a model's training chose its merges.

    Attributes:
        known: the file says it. Where it does not, pairs are compared by count, equals by their
            ids, and any pair may be merged that spells no special token.
        by_score: `count(ab) / (count(a) * count(b))` is compared, else `count(ab)`.
        tie_break: see `tokctl.model.Recipe`.
        least: a pair with a lower count is not merged.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        model = tokenizer.model
        recipe, training = model.recipe, model.training
        self.known = training is not None
        self.by_score = self.known and recipe.score == "likelihood"
        self.tie_break = recipe.tie_break if self.known else "lowest-id"
        self.least = training.min_frequency if training else 1
        self._longest = training.max_token_length if training else None
        self._tokens = model.tokens
        self._units = recipe.units
        kind, mark = recipe.marker
        self._marker = kind, mark.encode()
        self._never = {model.tokens[id_] for id_ in model.apart}
        self._never |= BYTE_TOKENS.keys() if recipe.byte_fallback else set()
        if recipe.units == "bytes":
            # What a model file would spell as a special token is spelled.
            spelled = (text for text in recipe.special_tokens if set(text) <= BYTES.keys())
            self._never |= set(map(unspell, spelled))

    def refusal(self, pair: Pair) -> str | None:
        """Why the training may not merge a pair, however frequent it is: `long` (its token would
        be longer than allowed), `special` (it would spell a special token); None where it may."""
        if self._longest is not None and self._length(pair) > self._longest:
            return "long"
        return "special" if self.joined(pair) in self._never else None

    def joined(self, pair: Pair) -> bytes:
        """The token that merging a pair makes."""
        left, right = self._tokens[pair[0]], self._tokens[pair[1]]
        kind, mark = self._marker
        return left + (right.removeprefix(mark) if kind == "continuation" else right)

    def _length(self, pair: Pair) -> int:
        """Of the token, in units, without its marker."""
        text = self.joined(pair)
        kind, mark = self._marker
        if kind in ("end", "end-fused"):
            text = text.removesuffix(mark)
        elif kind != "none":
            text = text.removeprefix(mark)
        return len(text) if self._units == "bytes" else len(text.decode("utf-8", "replace"))
