"""N-best segmentations of a text, and random segmentations (Kudo 2018).

No token crosses a pre-token, so a text's segmentation consists of one segmentation per pre-token,
and its score is the sum of their scores. An added token has a single segmentation, itself, with
score 0.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tokctl import _native
from tokctl.core.errors import BadOption

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Most segmentations of an n-best list, as in SentencePiece.
MOST = 512


class Segmentation(NamedTuple):
    """A segmentation of a text.

    Attributes:
        ids: ids of the pieces.
        tokens: texts of the pieces; empty for an unknown piece.
        score: natural log probability, the sum of the pieces' scores.
    """

    ids: list[int]
    tokens: list[str]
    score: float


def nbest(tokenizer: Tokenizer, text: str | bytes, n: int) -> list[Segmentation]:
    """Return the `n` most probable segmentations of a text, most probable first.

    Fewer are returned if the text has fewer segmentations.

    Args:
        tokenizer: a tokenizer with a Unigram model.
        text: the text.
        n: number of segmentations, from 1 to `MOST`.

    Raises:
        TokctlError: the model is not Unigram, or `n` is out of range.
    """
    check_nbest(tokenizer, n)
    data, ranges, added = _pre_tokens(tokenizer, text)
    best: list[tuple[_Path, float]] = [((), 0.0)]
    for (start, end), id_ in zip(ranges, added, strict=True):
        added_token = [] if id_ is None else [([id_], [end - start], 0.0)]
        segmentations = added_token or tokenizer.encoder.nbest(data[start:end], n)
        best = _best_sums(best, [(ids, score) for ids, _, score in segmentations], n)
    tokens = tokenizer.tokens
    sums = [(_ids_of_path(path), score) for path, score in best]
    return [Segmentation(ids, _token_texts(tokens, ids), score) for ids, score in sums]


#: The path to the previous pre-token, and the ids of the last one; empty at the start. Paths share
#: their common beginning, because a list of ids would be copied at every pre-token.
_Path: TypeAlias = "tuple[()] | tuple[_Path, list[int]]"


def _ids_of_path(path: _Path) -> list[int]:
    """Return the ids along a path, from the start."""
    backwards = []
    while path:
        path, ids = path
        backwards.append(ids)
    return [id_ for ids in reversed(backwards) for id_ in ids]


def _best_sums(
    left: list[tuple[_Path, float]], right: list[tuple[list[int], float]], n: int
) -> list[tuple[_Path, float]]:
    """Return the `n` best sums of an entry of each list, best first; both lists are best first.

    A pair is never better than a pair with an earlier entry of either list, so a heap needs only
    the pairs next to those found.
    """
    heap = [(-(left[0][1] + right[0][1]), 0, 0)]
    best: list[tuple[_Path, float]] = []
    while heap and len(best) < n:
        score, i, j = heapq.heappop(heap)
        best.append(((left[i][0], right[j][0]), -score))
        if j + 1 < len(right):
            heapq.heappush(heap, (-(left[i][1] + right[j + 1][1]), i, j + 1))
        if j == 0 and i + 1 < len(left):
            heapq.heappush(heap, (-(left[i + 1][1] + right[0][1]), i + 1, 0))
    return best


def sample(
    tokenizer: Tokenizer, text: str | bytes, *, alpha: float, nbest_size: int, seed: int
) -> list[int]:
    """Return the ids of a random segmentation, with probability proportional to exp(alpha * score).

    Args:
        tokenizer: a tokenizer with a Unigram model.
        text: the text.
        alpha: exponent of the distribution: 0 makes all segmentations equally probable.
        nbest_size: number of best segmentations of each pre-token to choose from; negative: all;
            0 or 1: always the best.
        seed: random seed, from 0 to 2^64 - 1. Equal seeds give equal ids on every machine.

    Raises:
        TokctlError: the model is not Unigram, or a number is out of range.
    """
    _check_has_scores(tokenizer)
    if type(seed) is not int or not 0 <= seed < 2**64:
        raise BadOption(
            f"invalid value {seed} for seed",
            "give a whole number from 0 to 2^64 - 1",
            "bad-value",
        )
    if nbest_size > MOST:
        raise BadOption(
            f"invalid value {nbest_size} for nbest_size", f"give at most {MOST}", "bad-value"
        )
    if not 0 <= alpha < 1e6:
        raise BadOption(
            f"invalid value {alpha} for alpha",
            "give a number of at least 0, usually 0.1 to 0.5; 0 makes all segmentations equally "
            "likely",
            "bad-value",
        )
    data, ranges, added = _pre_tokens(tokenizer, text)
    pre_tokens = [span for span, id_ in zip(ranges, added, strict=True) if id_ is None]
    samples = iter(tokenizer.encoder.sample(data, pre_tokens, alpha, nbest_size, seed))
    ids = [next(samples)[0] if id_ is None else [id_] for id_ in added]
    return [id_ for pre_token_ids in ids for id_ in pre_token_ids]


def _pre_tokens(
    tokenizer: Tokenizer, text: str | bytes
) -> tuple[bytes, list[tuple[int, int]], list[int | None]]:
    """Return the normalized text, byte ranges, and the id of each range that is an added token.

    The ranges are the pre-tokens and the added tokens that are always matched. The id of a
    pre-token is None.
    """
    matchers = tokenizer.special_matcher("none")
    data, ranges, _, added = tokenizer.encoder.pre_tokens(tokenizer.as_bytes(text), matchers)
    return data, ranges, added


def check_nbest(tokenizer: Tokenizer, n: int) -> None:
    """Raise an error unless the model has n-best segmentations and `n` is in range.

    Raises:
        TokctlError: the model is not Unigram, or `n` is not from 1 to `MOST`.
    """
    _check_has_scores(tokenizer)
    if type(n) is not int or not 1 <= n <= MOST:
        raise BadOption(
            f"invalid value {n} for n", f"give a whole number from 1 to {MOST}", "bad-value"
        )


def _check_has_scores(tokenizer: Tokenizer) -> None:
    if not tokenizer.recipe.maximizes_probability:
        raise BadOption(
            f"a {tokenizer.recipe.algorithm} model has one segmentation of a text",
            "a unigram model has several, and their scores: tokctl train --algo unigram",
            "conflict",
        )


def _token_texts(tokens: Sequence[str], ids: Sequence[int]) -> list[str]:
    return [tokens[id_] if id_ != _native.NO_ID else "" for id_ in ids]
