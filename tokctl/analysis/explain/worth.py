"""What a token is worth: the score of a Unigram model's piece, the count of a word or character."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokctl.analysis.explain.paths import LONGEST, Path, paths_of
from tokctl.analysis.explain.reach import is_byte_token

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


@dataclass(frozen=True)
class Worth:
    """What a piece of a Unigram model is worth.

    Attributes:
        score: its natural log probability.
        place, pieces: its place by score among all pieces.
        instead: the best segmentation of the piece's own text without the piece; None for
            a single character.
        gain: how much higher the piece scores than that. Below 0 the piece is never taken.
    """

    score: float
    place: int
    pieces: int
    instead: Path | None
    gain: float | None


@dataclass(frozen=True)
class Counted:
    """How often a token was counted in training, and its place among all by that."""

    count: int
    place: int
    tokens: int


def worth_of(tokenizer: Tokenizer, id_: int) -> Worth | None:
    """What a piece is worth; None for other tokens, and in other models."""
    model = tokenizer.model
    if model.recipe.algorithm != "unigram" or id_ in model.apart:
        return None
    if is_byte_token(tokenizer, id_):
        return None
    score = model.scores[id_]
    others = [
        other
        for number, other in enumerate(model.scores)
        if number not in model.apart and not is_byte_token(tokenizer, number)
    ]
    place = 1 + sum(other > score for other in others)
    data = model.tokens[id_]
    if len(data.decode()) > LONGEST:
        return Worth(score, place, len(others), None, None)
    token = tokenizer.tokens[id_]
    without = [
        path
        for path in paths_of(tokenizer, data, 2)
        if [piece.token for piece in path.pieces] != [token]
    ]
    instead = without[0] if without else None
    gain = None if instead is None else score - instead.score
    return Worth(score, place, len(others), instead, gain)


def counted_of(tokenizer: Tokenizer, id_: int) -> Counted | None:
    """How often a token was counted, where the model says so."""
    model = tokenizer.model
    if not model.counts or id_ in model.apart:
        return None
    others = [count for number, count in enumerate(model.counts) if number not in model.apart]
    count = model.counts[id_]
    return Counted(count, 1 + sum(other > count for other in others), len(others))
