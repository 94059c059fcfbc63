"""A smaller vocabulary out of a larger one, without training again."""

from __future__ import annotations

from dataclasses import replace

from tokctl.errors import TokctlError
from tokctl.model import FilledRecipe, Merge


def prune(model: FilledRecipe, size: int) -> FilledRecipe:
    """The model with `size` ids, numbered anew without holes in the order that they had.

    Special tokens, other added tokens and the symbols that segmentation starts from stay.
    Of a model of merges the first merges stay: what a training to `size` would have
    learned. Without merges (a vocabulary from elsewhere) the lowest ids stay; of a Unigram
    model the pieces with the highest scores, which keep them; of a word or character
    model the first, which are the most frequent.

    Raises:
        TokctlError: a size above the model's, or below what must stay; it says the least.
    """
    if type(size) is not int or size > len(model.tokens):
        raise TokctlError(
            f"the model has {len(model.tokens)} ids, and can't be pruned to {size}",
            "ask for fewer ids; to have more, train on from a model of merges (--extend)",
        )
    stays = _base(model)
    if size < len(stays):
        raise TokctlError(
            f"{size} ids are too few: the special tokens and the alphabet of this model "
            f"are {len(stays)}",
            f"ask for {len(stays)} or more",
        )
    if size == len(model.tokens):
        return model
    if not model.merges:
        ranked = [id_ for id_ in range(len(model.tokens)) if id_ not in stays]
        if model.recipe.traits.has_scores:
            # The sort is stable: ties stay in id order.
            ranked.sort(key=lambda id_: -model.scores[id_])
        return _renumbered(model, stays | set(ranked[: size - len(stays)]), [])
    merges = []
    for merge in model.merges:
        if len(stays) == size:
            break
        if merge.left in stays and merge.right in stays:
            stays.add(merge.token)
            merges.append(merge)
    return _renumbered(model, stays, merges)


def _base(model: FilledRecipe) -> set[int]:
    """The ids that always stay."""
    recipe = model.recipe
    stays = {token.id for token in model.added}
    if recipe.traits.by_frequency:
        return stays
    made = {merge.token for merge in model.merges}
    for id_, token in enumerate(model.tokens):
        symbol = model.recipe.is_initial_symbol(token)
        # With merges, what no merge makes is what segmentation starts from.
        if symbol or (made and id_ not in made):
            stays.add(id_)
    return stays


def _renumbered(model: FilledRecipe, stays: set[int], merges: list[Merge]) -> FilledRecipe:
    kept = sorted(stays)
    new = {old: id_ for id_, old in enumerate(kept)}
    added = model.added_tokens
    record = model.training
    if record:
        record = replace(
            record,
            vocab_size=len(kept),
            exhausted=False,
            pruned_from=len(model.tokens),
            alphabet_size=(
                len(kept) - len(model.apart)
                if model.recipe.traits.learns_characters
                else record.alphabet_size
            ),
        )
    return replace(
        model,
        tokens=[model.tokens[id_] for id_ in kept],
        merges=[
            Merge(new[merge.left], new[merge.right], new[merge.token], *merge[3:])
            for merge in merges
        ],
        training=record,
        scores=[model.scores[id_] for id_ in kept] if model.scores else [],
        counts=[model.counts[id_] for id_ in kept] if model.counts else [],
        added_tokens=added and tuple(token._replace(id=new[token.id]) for token in added),
    )
