"""Conversion of BPE models between merges and ranks.

With merges, the first pair of a list that occurs in a pre-token merges first. With ranks (tiktoken,
SentencePiece's BPE), two neighbours merge if they spell a token, and the token of the lowest rank
comes first. The rank is the token's id, or its position in the order of the scores.

In both cases, segmentation makes each token from one pair only: the last pair that merges when the
token's own text is segmented (`Merging::made` in the core gives the reason). Two models with equal
pairs in equal order give every text the same tokens.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from tokctl.core.errors import CoreError
from tokctl.formats.contract import UnsupportedByFormat
from tokctl.model import Merge, Model
from tokctl.model.byte_level import BYTE_TOKENS
from tokctl.model.encoders import encoder

#: The counts of a merge whose training is unknown.
_NO_COUNTS = (0, 0, 0)

#: The ids of the left side, the right side and the merged token.
MergeTriple = tuple[int, int, int]


def ranked_merges(model: Model) -> list[MergeTriple]:
    """Return the merges that segmentation can apply, in the order of their ranks.

    Raises:
        UnsupportedByFormat: the model's merges can't be put into such a list.
    """
    merges = token_merges(model)
    if model.scores:
        scores = [model.scores[token] for *_, token in merges]
        if len(set(scores)) != len(scores):
            # Pairs with equal scores merge from left to right, interleaved: no order of merges does
            # this.
            raise UnsupportedByFormat("it merges by scores, and several of these are equal")
    return merges


def token_merges(model: Model) -> list[MergeTriple]:
    """Return the pair that makes each token that merging can make, in the order of their ranks.

    Raises:
        UnsupportedByFormat: the model's pairs can't be determined.
    """
    recipe = model.recipe
    if recipe.marker.text:
        raise UnsupportedByFormat("its words have a marker, which ranks can't express")
    if recipe.replays_merges:
        raise UnsupportedByFormat("it replays its merges in the order in which they were learned")
    reserved = model.reserved_ids
    _check_special_tokens(model)
    tokens = [(token, id_) for id_, token in enumerate(model.tokens) if id_ not in reserved]
    try:
        return encoder(model).made(tokens)
    except CoreError as error:
        raise error.reworded() from None


def _check_special_tokens(model: Model) -> None:
    """Raise UnsupportedByFormat if a merge takes or makes a special token, which ranks never do."""
    byte_ids = {id_ for id_ in model.reserved_ids if model.tokens[id_] in BYTE_TOKENS}
    reserved = model.reserved_ids - byte_ids
    for step, merge in enumerate(model.merges if reserved else [], 1):
        if special := reserved & {*merge[:3]}:
            name = model.spelled[min(special)]
            raise UnsupportedByFormat(f"merge {step} takes or makes the special token {name!r}")


def with_merges(model: Model) -> Model:
    """Return the model with a list of merges instead of ranks; every text keeps its tokens.

    A model that is not segmented by ranks is returned unchanged.

    Raises:
        UnsupportedByFormat: two tokens share a rank, or a token contains a character that has no
            token.
    """
    if not model.recipe.has_ranks:
        return model
    triples = ranked_merges(model)
    _check_sides(model, triples)
    merges = [Merge(*triple, *_NO_COUNTS) for triple in triples]
    recipe = replace(model.recipe, segmentation="merges")
    return replace(model, recipe=recipe, merges=merges, scores=[])


def _check_sides(model: Model, triples: list[MergeTriple]) -> None:
    """Raise UnsupportedByFormat if a side of a merge is a character that has no token."""
    for left, right, token in triples:
        if max(left, right) >= model.size:
            texts = {text.decode() for text in model.tokens}
            name = model.spelled[token]
            missing = next((character for character in name if character not in texts), name)
            raise UnsupportedByFormat(
                f"its token {name!r} is made of {missing!r}, which has no token, and merges are of "
                "tokens"
            )


def with_ranks(model: Model, *, scored: bool) -> Model:
    """Return the model with ranks instead of a list of merges; every text keeps its tokens.

    Args:
        model: a BPE model.
        scored: whether to rank by new scores (0, -1, -2, …, as SentencePiece trains them) instead
            of by ids.

    Raises:
        UnsupportedByFormat: ranks would allow other merges, or the same merges in another order.
    """
    if model.recipe.has_ranks and (scored or not model.scores):
        return model
    if model.recipe.emits_symbols:
        raise UnsupportedByFormat("the model does not merge, and ranks would")
    merges = ranked_merges(model)
    _check_byte_tokens(model, merges)
    recipe = replace(model.recipe, segmentation="ranks")
    scores = _scores(model, merges) if scored else []
    ranked = replace(model, recipe=recipe, merges=[], scores=scores)
    if difference := _first_difference(model, merges, ranked_merges(ranked)):
        raise UnsupportedByFormat(difference)
    return ranked


def _check_byte_tokens(model: Model, merges: list[MergeTriple]) -> None:
    """Raise UnsupportedByFormat if merges use the byte tokens of byte fallback (`<0x41>`)."""
    if not model.recipe.byte_fallback or len(merges) == len(model.merges):
        return
    byte_ids = {id_ for id_, token in enumerate(model.tokens) if token in BYTE_TOKENS}
    if any(merge.left in byte_ids or merge.right in byte_ids for merge in model.merges):
        raise UnsupportedByFormat("it merges the tokens of bytes of unknown characters")


def _scores(model: Model, merges: list[MergeTriple]) -> list[float]:
    """Return a score for each token that puts the merges in their order; 0 for unmerged tokens."""
    scores = [0.0] * len(model.tokens)
    for rank, (*_, token) in enumerate(merges):
        scores[token] = float(-rank)
    return scores


def _first_difference(
    model: Model, merges: list[MergeTriple], merges_by_rank: list[MergeTriple]
) -> str | None:
    """Return the first difference between the model's merges and those of its ranks, or None."""
    for step, (merge, by_rank) in enumerate(zip_longest(merges, merges_by_rank), 1):
        if merge == by_rank:
            continue
        names = model.spelled
        if merge is None or (by_rank is not None and merge[2] == by_rank[2]):
            token = by_rank[2]
            sides = [repr(names[id_]) if id_ < model.size else "a character" for id_ in by_rank[:2]]
            pair = f"by ranks {' and '.join(sides)} make {names[token]!r}"
            return f"{pair}, and the model does not merge them"
        return f"merge {step} makes {names[merge[2]]!r}, which its rank puts elsewhere in the order"
    return None
