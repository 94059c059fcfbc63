"""A trained model made larger or smaller.

Extending trains on from a model, which keeps its ids and merges: what it must have, and what it
hands on. Pruning takes tokens away without training again, and special tokens can be added so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace

from tokctl.errors import TokctlError
from tokctl.model import FilledRecipe, Merge, Recipe
from tokctl.model.byte_level import BYTES, unspell
from tokctl.model.parts import AddedToken, check_added

#: What may differ between a model and the recipe that it is extended with: these fields have no
#: part in how a text is segmented.
_MAY_DIFFER = {"name", "special_tokens", "post_processors", "decoders"}


def check_extension(old: FilledRecipe, recipe: Recipe) -> None:
    """TokctlError where training can't go on from `old` with `recipe`."""
    if recipe.traits.has_scores or old.recipe.traits.has_scores:
        raise TokctlError(
            "a unigram model can't be extended: its scores are those of one vocabulary",
            "train a new one on the old and the new texts together",
        )
    if recipe.traits.learns_superwords:
        raise TokctlError(
            "a model of superwords can't be extended: its supermerges compete with its merges",
            "train a new one on the old and the new texts together",
        )
    for entry in fields(Recipe):
        if entry.name in _MAY_DIFFER:
            continue
        theirs, ours = getattr(old.recipe, entry.name), getattr(recipe, entry.name)
        if theirs != ours:
            what = entry.name.replace("_", " ")
            raise TokctlError(
                f"the model to extend has {'other' if what.endswith('s') else 'another'} {what}: "
                f"{_shown(theirs)}, not {_shown(ours)}",
                "extend it with its own recipe; special tokens may be added",
            )
    if missing := [t for t in old.recipe.special_tokens if t not in recipe.special_tokens]:
        raise TokctlError(
            f"the recipe lacks {missing[0]!r}, a special token of the model to extend",
            "special tokens may be added, not taken away",
        )
    made = {merge.token for merge in old.merges}
    symbols = recipe.traits.learns_merges
    if symbols and not made and any(_is_long(old, id_) for id_ in range(len(old.tokens))):
        raise TokctlError(
            "the model to extend has no merges: its file does not say how its tokens were made",
            "extend a model that tokctl has trained, or one whose file lists merges; of ranks, "
            "tokctl convert --to huggingface makes such a file",
        )
    _check_spellings(old, new_special_tokens(old, recipe))


def _check_spellings(old: FilledRecipe, tokens: Iterable[str]) -> None:
    """TokctlError where a new special token is spelled like a token that is there."""
    ordinary = set(old.tokens)
    for token in tokens:
        spelled = {token.encode()}
        if old.recipe.is_byte_level and set(token) <= BYTES.keys():
            spelled.add(unspell(token))
        if spelled & ordinary:
            raise TokctlError(
                f"the new special token {token!r} is spelled like a token of the model",
                "choose another special token",
            )


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _is_long(old: FilledRecipe, id_: int) -> bool:
    """Is the token more than one symbol, and none that is set apart?"""
    return id_ not in old.reserved_ids and not old.recipe.is_initial_symbol(old.tokens[id_])


def new_special_tokens(old: FilledRecipe, recipe: Recipe) -> tuple[str, ...]:
    """The recipe's special tokens that the model lacks."""
    return tuple(token for token in recipe.special_tokens if token not in old.special_ids)


def added_tokens(
    old: FilledRecipe | None, recipe: Recipe, tokens: list[bytes]
) -> tuple[AddedToken, ...] | None:
    """Those of the extended model, whose new special tokens have the last ids."""
    if old is None:
        return None
    new = new_special_tokens(old, recipe)
    first = len(tokens) - len(new)
    if not new:
        return old.added_tokens
    return (*old.added, *(AddedToken(text, first + at) for at, text in enumerate(new)))


def with_special_tokens(model: FilledRecipe, tokens: Sequence[str]) -> FilledRecipe:
    """The model with more special tokens, which get the ids after all others; those that it has
    stay. Unlike an extension nothing is trained, so that any model can have them.

    Raises:
        TokctlError: one of them is empty, no UTF-8, or spelled like another token.
    """
    new = [text for text in dict.fromkeys(tokens) if text not in model.special_ids]
    if not new:
        return model
    first = model.size
    added = (*model.added, *(AddedToken(text, first + at) for at, text in enumerate(new)))
    check_added(added)
    _check_spellings(model, new)
    none = [0] * len(new)
    return replace(
        model,
        recipe=model.recipe.with_special_tokens(new),
        tokens=[*model.tokens, *map(str.encode, new)],
        scores=[*model.scores, *none] if model.scores else [],
        counts=[*model.counts, *none] if model.counts else [],
        added_tokens=added,
    )


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
    for merge in _as_learned(model):
        if len(stays) == size:
            break
        if merge.left in stays and merge.right in stays:
            stays.add(merge.token)
            merges.append(merge)
    return _renumbered(model, stays, merges)


def _as_learned(model: FilledRecipe) -> Iterator[Merge]:
    """The merges and the supermerges in the order in which training has learned them: of equal
    counts a merge comes first."""
    supermerges = deque(model.supermerges)
    for merge in model.merges:
        while supermerges and supermerges[0].count > merge.count:
            yield supermerges.popleft()
        yield merge
    yield from supermerges


def _base(model: FilledRecipe) -> set[int]:
    """The ids that always stay."""
    recipe = model.recipe
    stays = {token.id for token in model.added}
    if recipe.traits.by_frequency:
        return stays
    made = {merge.token for merge in (*model.merges, *model.supermerges)}
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
    superwords = model.superword_ids
    renumbered = [
        Merge(new[merge.left], new[merge.right], new[merge.token], *merge[3:]) for merge in merges
    ]
    record = model.training
    if record:
        record = replace(
            record,
            vocab_size=len(kept),
            exhausted=False,
            pruned_from=len(model.tokens),
            alphabet_size=(
                len(kept) - len(model.reserved_ids)
                if model.recipe.traits.learns_characters
                else record.alphabet_size
            ),
        )
    return replace(
        model,
        tokens=[model.tokens[id_] for id_ in kept],
        merges=[merge for merge in renumbered if kept[merge.token] not in superwords],
        supermerges=[merge for merge in renumbered if kept[merge.token] in superwords],
        training=record,
        scores=[model.scores[id_] for id_ in kept] if model.scores else [],
        counts=[model.counts[id_] for id_ in kept] if model.counts else [],
        added_tokens=added and tuple(token._replace(id=new[token.id]) for token in added),
    )
