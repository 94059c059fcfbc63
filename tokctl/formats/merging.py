"""Merges and ranks: two ways to say what a BPE merges, turned into one another.

By merges, the pairs of a list merge, the first of the list first. By ranks (tiktoken,
SentencePiece's BPE) any two neighbours that spell a token merge, the token of the lowest
rank first: its id, or its place in the order of the scores.

Wherever a token is made by ranks, no merge before has crossed its ends, so inside it the
very merges were made that its own text would see: it is always made of the same two
parts (`Merging::splits` in the core). These pairs in the order of the ranks are the merges
that do the same. Turned round, merges are ranks where these pairs are the very merges.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.formats.contract import InexpressibleError
from tokctl.recipe import FilledRecipe, Merge
from tokctl.segmenting import encoder

#: A merge without what a training counted.
_PLAIN = (0, 0, 0)


def by_merges(model: FilledRecipe) -> FilledRecipe:
    """The model with the merges that its ranks stand for: the same tokens for every text.
    Models that are not segmented by ranks come back as they are.

    Raises:
        InexpressibleError: two tokens share a rank, so that pairs of both merge from the
            left as they come; no order of merges does that. Or a token can be made of
            tokens of higher rank alone, so that it has more than one pair.
    """
    if model.recipe.segmentation != "ranks":
        return model
    splits = _splits(model)
    if model.scores:
        made = [model.scores[token] for *_, token in splits]
        if len(set(made)) != len(made):
            raise InexpressibleError("it merges by scores, and several of these are equal")
    recipe = replace(model.recipe, segmentation="merges")
    merges = [Merge(*split, *_PLAIN) for split in splits]
    return replace(model, recipe=recipe, merges=merges, scores=[])


def by_ranks(model: FilledRecipe, *, scored: bool) -> FilledRecipe:
    """The model segmented by ranks: the same tokens for every text.

    scored: ranks are scores, which are chosen here (0, -1, -2, …, as SentencePiece trains
        them); otherwise they are the ids.

    Raises:
        InexpressibleError: the ranks would merge what the model does not, or otherwise.
    """
    if model.recipe.segmentation == "ranks" and (scored or not model.scores):
        return model
    if model.recipe.segmentation == "symbols":
        raise InexpressibleError("the model does not merge, and ranks would")
    merges = by_merges(model).merges
    recipe = replace(model.recipe, segmentation="ranks")
    scores = _scores(model, merges) if scored else []
    ranked = replace(model, recipe=recipe, merges=[], scores=scores)
    if why := _difference(model, [merge[:3] for merge in merges], _splits(ranked)):
        raise InexpressibleError(why)
    return ranked


def _scores(model: FilledRecipe, merges: list[Merge]) -> list[float]:
    """Scores by which the merges come in their order: 0 where no merge makes the token."""
    scores = [0.0] * len(model.tokens)
    for rank, merge in enumerate(merges):
        scores[merge.token] = float(-rank)
    return scores


def _splits(model: FilledRecipe) -> list[tuple[int, int, int]]:
    apart = model.apart
    tokens = [(token, id_) for id_, token in enumerate(model.tokens) if id_ not in apart]
    try:
        splits, late = encoder(model).splits(tokens)
    except _native.CoreError as error:
        raise TokctlError(error.args[0]) from None
    if late:
        raise InexpressibleError(
            f"by ranks, {model.spelled[late[0]]!r} is made of tokens that come later than it"
        )
    return splits


def _difference(
    model: FilledRecipe, merges: list[tuple[int, ...]], splits: list[tuple[int, int, int]]
) -> str | None:
    """Where the model's merges and those that ranks stand for part; None where they are equal."""
    for step, (merge, split) in enumerate(zip_longest(merges, splits), 1):
        if merge == split:
            continue
        names = model.spelled
        if merge is None or (split is not None and merge[2] == split[2]):
            left, right, token = split
            return (
                f"by ranks {names[left]!r} and {names[right]!r} make {names[token]!r}, and the "
                "model does not merge them"
            )
        token = merge[2]
        return (
            f"merge {step} makes {names[token]!r}, which by its rank comes at another place "
            "in the order"
        )
    return None
