"""What charts are drawn from: few points that stand for many tokens or merges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from tokctl.analysis.explain.history import history_of
from tokctl.analysis.explain.reach import is_byte_token, ordinary_ids
from tokctl.analysis.metrics.overlap import canonical

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Points of a curve: more can't be told apart on a page.
POINTS = 60


class MergePoint(NamedTuple):
    """One merge of a history: its step, its token, how often its pair occurred before it, and
    its likelihood score where the training compared those."""

    step: int
    token: str
    times: int | None
    score: float | None


class ScorePoint(NamedTuple):
    """A piece of a Unigram model: its place by score, from 1, and its log probability."""

    place: int
    token: str
    score: float


def spread(last: int, points: int = POINTS) -> list[int]:
    """Numbers from 1 to `last`, at most `points`, each about the same factor above the one
    before it."""
    if last <= points:
        return list(range(1, last + 1))
    # Near 1 the steps are smaller than 1, and fall together.
    found = {round(last ** (n / (points - 1))) for n in range(points)}
    return sorted(found)


def frequencies(id_counts: Mapping[int, int]) -> list[tuple[int, int]]:
    """Ranks with the frequencies of the tokens there, the most frequent first: Zipf's plot."""
    ordered = sorted(id_counts.values(), reverse=True)
    return [(rank, ordered[rank - 1]) for rank in spread(len(ordered))]


def token_lengths(tokenizer: Tokenizer, id_counts: Mapping[int, int]) -> dict[int, int]:
    """How many tokens of each length a text has.

    The length is in characters, without what marks words and without a leading space, so that
    models can be compared. A character belongs to the token that holds its first byte: of
    tokens inside a character the length is 0. Special and added tokens are left out.
    """
    recipe, model = tokenizer.recipe, tokenizer.model
    lengths: dict[int, int] = {}
    for id_, count in id_counts.items():
        if id_ in model.apart:
            continue
        data = model.tokens[id_]
        if is_byte_token(tokenizer, id_):
            data = bytes([int(data[3:5], 16)])
        else:
            _, data = canonical(recipe, data)
        length = sum(byte & 0xC0 != 0x80 for byte in data)
        lengths[length] = lengths.get(length, 0) + count
    return dict(sorted(lengths.items()))


def merge_curve(tokenizer: Tokenizer) -> list[MergePoint]:
    """Merges spread over the whole history, the first and the last among them; none where the
    model has no history."""
    history = history_of(tokenizer)
    records = (history.record(step - 1) for step in spread(len(history.merges)))
    return [
        MergePoint(r.step, r.token, r.count, None if r.score is None else float(r.score))
        for r in records
    ]


def score_curve(tokenizer: Tokenizer) -> list[ScorePoint]:
    """Pieces spread over all of them by score; none where the model has no scores."""
    model = tokenizer.model
    if tokenizer.recipe.algorithm != "unigram":
        return []
    ids = [id_ for id_ in ordinary_ids(tokenizer) if not is_byte_token(tokenizer, id_)]
    ids.sort(key=lambda id_: (-model.scores[id_], id_))
    return [
        ScorePoint(place, tokenizer.tokens[ids[place - 1]], model.scores[ids[place - 1]])
        for place in spread(len(ids))
    ]


class UseCurves(NamedTuple):
    """How a model's tokens are used by texts: see `token_lengths` and `frequencies`."""

    lengths: Mapping[int, int]
    frequencies: list[tuple[int, int]]


def use_curves(tokenizer: Tokenizer, id_counts: Mapping[int, int]) -> UseCurves:
    """Both of them, of the texts that have each id so often."""
    return UseCurves(token_lengths(tokenizer, id_counts), frequencies(id_counts))


class ModelCurves(NamedTuple):
    """What a training left behind, for charts: see `merge_curve` and `score_curve`."""

    merges: list[MergePoint]
    scores: list[ScorePoint]


def model_curves(tokenizer: Tokenizer) -> ModelCurves:
    return ModelCurves(merge_curve(tokenizer), score_curve(tokenizer))
