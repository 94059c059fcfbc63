"""Merges and ranks: two ways to say what a BPE merges, turned into one another.

By merges, the pairs of a list merge, the first of the list first. By ranks (tiktoken,
SentencePiece's BPE) any two neighbours that spell a token merge, the token of the lowest
rank first: its id, or its place in the order of the scores.

Either way each token has one pair that it is ever made of: the one that its own text ends
with (`Merging::made` in the core says why). Two models with the same such pairs in the same
order make the same tokens of every text.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from tokctl.errors import CoreError, TokctlError
from tokctl.formats.contract import InexpressibleError
from tokctl.model import FilledRecipe, Merge
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.encoders import encoder

#: A merge without what a training counted.
_PLAIN = (0, 0, 0)

#: Left, right, token.
Triple = tuple[int, int, int]


def made(model: FilledRecipe) -> list[Triple]:
    """The merges that are ever made, in their order.

    Raises:
        InexpressibleError: this can't be told of the model.
    """
    found = pairs(model)
    if model.scores:
        levels = [model.scores[token] for *_, token in found]
        if len(set(levels)) != len(levels):
            # Pairs of both merge from the left, as they come: no order of merges does that.
            raise InexpressibleError("it merges by scores, and several of these are equal")
    return found


def pairs(model: FilledRecipe) -> list[Triple]:
    """The pair that each token is ever made of, of those that are made; InexpressibleError if
    this can't be told of the model."""
    recipe = model.recipe
    if recipe.marker.text:
        raise InexpressibleError("its words have a marker, and ranks know none")
    if recipe.replays_merges:
        raise InexpressibleError("it merges in the order learned, whatever a merge makes possible")
    reserved = model.reserved_ids
    _check_apart(model)
    tokens = [(token, id_) for id_, token in enumerate(model.tokens) if id_ not in reserved]
    try:
        return encoder(model).made(tokens)
    except CoreError as error:
        raise TokctlError(error.message, error.hint) from None


def _check_apart(model: FilledRecipe) -> None:
    """InexpressibleError if merges take or make a special token, as ranks never do."""
    bytes_ = {id_ for id_ in model.reserved_ids if model.tokens[id_] in BYTE_TOKENS}
    reserved = model.reserved_ids - bytes_
    for step, merge in enumerate(model.merges if reserved else [], 1):
        if found := reserved & {*merge[:3]}:
            name = model.spelled[min(found)]
            raise InexpressibleError(f"merge {step} takes or makes the special token {name!r}")


def by_merges(model: FilledRecipe) -> FilledRecipe:
    """The model with the merges that its ranks stand for: the same tokens for every text.
    Models that are not segmented by ranks come back as they are.

    Raises:
        InexpressibleError: two tokens share a rank, or one is made of a character without a token.
    """
    if not model.recipe.has_ranks:
        return model
    triples = made(model)
    _check_sides(model, triples)
    merges = [Merge(*triple, *_PLAIN) for triple in triples]
    recipe = replace(model.recipe, segmentation="merges")
    return replace(model, recipe=recipe, merges=merges, scores=[])


def _check_sides(model: FilledRecipe, triples: list[Triple]) -> None:
    """InexpressibleError if a token is made of a character that has no token."""
    for left, right, token in triples:
        if max(left, right) >= model.size:
            known = {text.decode() for text in model.tokens}
            name = model.spelled[token]
            missing = next((one for one in name if one not in known), name)
            raise InexpressibleError(
                f"its token {name!r} is made of {missing!r}, which has no token, and merges are of "
                "tokens"
            )


def by_ranks(model: FilledRecipe, *, scored: bool) -> FilledRecipe:
    """The model segmented by ranks: the same tokens for every text.

    scored: ranks are scores, which are chosen here (0, -1, -2, …, as SentencePiece trains
        them); otherwise they are the ids.

    Raises:
        InexpressibleError: the ranks would merge what the model does not, or otherwise.
    """
    if model.recipe.has_ranks and (scored or not model.scores):
        return model
    if model.recipe.emits_symbols:
        raise InexpressibleError("the model does not merge, and ranks would")
    merges = made(model)
    _check_bytes(model, merges)
    recipe = replace(model.recipe, segmentation="ranks")
    scores = _scores(model, merges) if scored else []
    ranked = replace(model, recipe=recipe, merges=[], scores=scores)
    if why := _difference(model, merges, made(ranked)):
        raise InexpressibleError(why)
    return ranked


def _check_bytes(model: FilledRecipe, merges: list[Triple]) -> None:
    """InexpressibleError if tokens of bytes that no text spells (`<0x41>`) merge."""
    if not model.recipe.byte_fallback or len(merges) == len(model.merges):
        return
    bytes_ = {id_ for id_, token in enumerate(model.tokens) if token in BYTE_TOKENS}
    if any(merge.left in bytes_ or merge.right in bytes_ for merge in model.merges):
        raise InexpressibleError("it merges the tokens of bytes of unknown characters")


def _scores(model: FilledRecipe, merges: list[Triple]) -> list[float]:
    """Scores by which the merges come in their order: 0 where no merge makes the token."""
    scores = [0.0] * len(model.tokens)
    for rank, (*_, token) in enumerate(merges):
        scores[token] = float(-rank)
    return scores


def _difference(model: FilledRecipe, merges: list[Triple], ranked: list[Triple]) -> str | None:
    """Where the model's merges and those that ranks stand for part; None if they are equal."""
    for step, (merge, split) in enumerate(zip_longest(merges, ranked), 1):
        if merge == split:
            continue
        names = model.spelled
        if merge is None or (split is not None and merge[2] == split[2]):
            token = split[2]
            sides = [repr(names[one]) if one < model.size else "a character" for one in split[:2]]
            made = f"by ranks {' and '.join(sides)} make {names[token]!r}"
            return f"{made}, and the model does not merge them"
        return (
            f"merge {step} makes {names[merge[2]]!r}, which by its rank comes at another place "
            "in the order"
        )
    return None
