"""N-best segmentations of a text, and segmentations sampled at random (Kudo 2018).

No token crosses a pre-token, so a segmentation of a text consists of a segmentation of each
pre-token, and its score is the sum of their scores. An added token has one segmentation, itself,
with the score 0.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tokctl import _native
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Segmentations that can be asked for at most, as in SentencePiece.
MOST = 512


class Segmentation(NamedTuple):
    """One way to segment a text.

    score: natural log probability: the sum of its pieces' scores.
    """

    ids: list[int]
    tokens: list[str]
    score: float


def nbest(tokenizer: Tokenizer, text: str | bytes, n: int) -> list[Segmentation]:
    """The `n` most probable segmentations, the best first; fewer if there are not so many.

    Raises:
        TokctlError: the model is not unigram; n below 1 or over `MOST`.
    """
    check_nbest(tokenizer, n)
    data, ranges, added = _pre_tokens(tokenizer, text)
    best: list[tuple[_Path, float]] = [((), 0.0)]
    for (start, end), id_ in zip(ranges, added, strict=True):
        itself = [] if id_ is None else [([id_], [end - start], 0.0)]
        found = itself or tokenizer.encoder.nbest(data[start:end], n)
        best = _best_sums(best, [(ids, score) for ids, _, score in found], n)
    tokens = tokenizer.tokens
    ways = [(_ids(path), score) for path, score in best]
    return [Segmentation(ids, _names(tokens, ids), score) for ids, score in ways]


#: The ids of the last pre-token and the path to it; nothing at the start. Paths share what
#: they have in common: a list of ids for each would be copied at every pre-token.
_Path: TypeAlias = "tuple[()] | tuple[_Path, list[int]]"


def _ids(path: _Path) -> list[int]:
    """The ids along a path, from the start."""
    backwards = []
    while path:
        path, ids = path
        backwards.append(ids)
    return [id_ for ids in reversed(backwards) for id_ in ids]


def _best_sums(
    before: list[tuple[_Path, float]], after: list[tuple[list[int], float]], n: int
) -> list[tuple[_Path, float]]:
    """The n best pairs of two lists that are best first: each pair is worse than the one
    with an earlier partner, so a heap of frontiers finds them."""
    heap = [(-(before[0][1] + after[0][1]), 0, 0)]
    found: list[tuple[_Path, float]] = []
    while heap and len(found) < n:
        score, i, j = heapq.heappop(heap)
        found.append(((before[i][0], after[j][0]), -score))
        if j + 1 < len(after):
            heapq.heappush(heap, (-(before[i][1] + after[j + 1][1]), i, j + 1))
        if j == 0 and i + 1 < len(before):
            heapq.heappush(heap, (-(before[i + 1][1] + after[0][1]), i + 1, 0))
    return found


def sample(
    tokenizer: Tokenizer, text: str | bytes, *, alpha: float, nbest_size: int, seed: int
) -> list[int]:
    """The ids of a segmentation drawn with a probability in proportion to
    exp(alpha x score).

    Args:
        nbest_size: draws from so many best segmentations of each pre-token; from all of
            them when negative; 0 and 1 give the best.
        seed: the same one gives the same ids, on every machine.

    Raises:
        TokctlError: the model is not unigram, or a number is out of its range.
    """
    _check(tokenizer)
    if type(seed) is not int or not 0 <= seed < 2**64:
        raise TokctlError(f"the seed can't be {seed}", "it is a number from 0 to 2^64 - 1")
    if nbest_size > MOST:
        raise TokctlError(f"nbest_size can't be {nbest_size}", f"{MOST} are the most")
    if not 0 <= alpha < 1e6:
        raise TokctlError(f"alpha can't be {alpha}", "0 makes all alike; 0.1 to 0.5 are usual")
    data, ranges, added = _pre_tokens(tokenizer, text)
    pre_tokens = [place for place, id_ in zip(ranges, added, strict=True) if id_ is None]
    drawn = iter(tokenizer.encoder.sample(data, pre_tokens, alpha, nbest_size, seed))
    ids = [next(drawn)[0] if id_ is None else [id_] for id_ in added]
    return [id_ for some in ids for id_ in some]


def _pre_tokens(
    tokenizer: Tokenizer, text: str | bytes
) -> tuple[bytes, list[tuple[int, int]], list[int | None]]:
    """The normalized text, the ranges of its pre-tokens and of the added tokens that are
    always found, and the ids of these."""
    matchers = tokenizer.special_matcher("none")
    data, ranges, _, added = tokenizer.encoder.pre_tokens(tokenizer.as_bytes(text), matchers)
    return data, ranges, added


def check_nbest(tokenizer: Tokenizer, n: int) -> None:
    """TokctlError if a model has no n best segmentations of a text."""
    _check(tokenizer)
    if type(n) is not int or not 1 <= n <= MOST:
        raise TokctlError(f"n can't be {n}", f"it is a number from 1 to {MOST}")


def _check(tokenizer: Tokenizer) -> None:
    if not tokenizer.recipe.traits.has_scores:
        raise TokctlError(
            f"a {tokenizer.recipe.algorithm} model has one segmentation of a text",
            "a unigram model has several, and their scores: tokctl train --algo unigram",
        )


def _names(tokens: Sequence[str], ids: Sequence[int]) -> list[str]:
    return [tokens[id_] if id_ != _native.NO_ID else "" for id_ in ids]
