"""Unigram: the best path through the lattice of pieces, and the next best ones."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING

from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Segmentations that are shown.
BEST = 5
#: Characters of one pre-token that is explained.
LONGEST = 1000
#: An unknown character scores so much less than the worst piece (SentencePiece's
#: `kUnkPenalty`).
UNKNOWN_PENALTY = 10.0


@dataclass(frozen=True)
class Piece:
    """A stretch of a path.

    Attributes:
        text: the stretch.
        token: the piece; None for unknown characters.
        score: its natural log probability; of unknown characters, the penalty of each.
        fallback: the tokens of the bytes of unknown characters, where the model has them.
    """

    text: str
    token: str | None
    score: float
    fallback: tuple[str, ...] = ()


@dataclass(frozen=True)
class Path:
    """One way to segment a pre-token.

    Attributes:
        score: the sum, as the encoder has it.
        behind: how much less that is than the best path's score.
        probability: of the path among all that there are, exp(score) over the sum of theirs;
            None in models with user-defined pieces, whose scores are no probabilities.
    """

    pieces: tuple[Piece, ...]
    score: float
    behind: float
    probability: float | None = None


@dataclass(frozen=True)
class ScoredWord:
    """A pre-token that is segmented by the scores of pieces.

    Attributes:
        data: the pre-token's bytes, normalized and rewritten.
        paths: the best path, which is taken, and the next best, by score: `BEST` in all
            unless another number was asked for.
        tokens: as `encode` names them.
        ids: None where there is no unknown token.
    """

    data: bytes
    paths: tuple[Path, ...]
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


def paths_of(tokenizer: Tokenizer, data: bytes, most: int = BEST) -> tuple[Path, ...]:
    """The best paths of a pre-token, the one that is taken first.

    Raises:
        TokctlError: a pre-token of over `LONGEST` characters.
    """
    if (length := len(data.decode())) > LONGEST:
        raise TokctlError(
            f"a pre-token of {length:,} characters is too long to explain",
            f"give a part of it, up to {LONGEST:,} characters; encode splits it at any length",
        )
    # Of equal scores the encoder's choice comes first, whatever the search for more finds.
    taken = tokenizer.encoder.nbest(data, 1)[0]
    others = [found for found in tokenizer.encoder.nbest(data, most) if found[:2] != taken[:2]]
    worst = unknown_score(tokenizer)
    paths = [
        (tuple(_pieces(tokenizer, data, ids, lengths, worst)), score)
        for ids, lengths, score in [taken, *others[: most - 1]]
    ]
    if tokenizer.model.user_defined:
        # The search for more counts the characters of these pieces, the encoder their bytes.
        summed = ((pieces, _sum(pieces)) for pieces, _ in paths[1:])
        paths[1:] = sorted(summed, key=lambda path: -path[1])
    # The encoder's sums can be in single precision, those of all paths are not.
    total = None if tokenizer.model.user_defined else tokenizer.encoder.total(data)
    return tuple(
        Path(
            pieces,
            score,
            taken[2] - score,
            None if total is None else exp(min(0.0, score - total)),
        )
        for pieces, score in paths
    )


def _sum(pieces: Sequence[Piece]) -> float:
    """The sum of the scores as the encoder has it: each in single precision."""
    total = 0.0
    for piece in pieces:
        total = _single(total + piece.score)
    return total


def _single(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


def unknown_score(tokenizer: Tokenizer) -> float:
    """What one unknown character costs."""
    model = tokenizer.model
    scores = (score for id_, score in enumerate(model.scores) if id_ not in model.apart)
    score = min(scores, default=0.0) - UNKNOWN_PENALTY
    if tokenizer.recipe.precision == "single":
        score = _single(score)
    return score


def _pieces(
    tokenizer: Tokenizer, data: bytes, ids: Sequence[int], lengths: Sequence[int], unknown: float
) -> Iterator[Piece]:
    at = 0
    waiting: list[str] = []  # byte tokens of characters that have not ended yet
    start = 0
    for id_, length in zip(ids, lengths, strict=True):
        stretch = data[at : at + length]
        at += length
        known = id_ < len(tokenizer.tokens)
        if known and tokenizer.model.tokens[id_] == stretch and id_ != tokenizer.unk_id:
            yield from _fallen(data[start : at - length], waiting, unknown)
            waiting, start = [], at
            yield Piece(stretch.decode(), tokenizer.tokens[id_], tokenizer.model.scores[id_])
        elif known and tokenizer.recipe.byte_fallback and id_ != tokenizer.unk_id:
            waiting.append(tokenizer.tokens[id_])
        else:
            yield from _fallen(data[start : at - length], waiting, unknown)
            waiting, start = [], at
            text = stretch.decode()
            yield Piece(text, None, unknown * len(text))
    yield from _fallen(data[start:], waiting, unknown)


def _fallen(data: bytes, tokens: list[str], unknown: float) -> Iterator[Piece]:
    """Characters that became the tokens of their bytes: each by itself."""
    at = 0
    for character in data.decode():
        end = at + len(character.encode())
        yield Piece(character, None, unknown, tuple(tokens[at:end]))
        at = end
