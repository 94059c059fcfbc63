"""Resizing: make a trained model larger or smaller.

Extending continues the training of a model, which keeps its ids and merges. This module checks what
can be extended, and carries over the added tokens. Pruning removes tokens without training again,
by their order or by how often a text uses them. Special and other added tokens can be added without
training, too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from heapq import heapify, heappop, heappush

from tokctl.core.errors import BadOption, Unsupported
from tokctl.model import Merge, Model, Recipe
from tokctl.model.byte_level import BYTES, unspell
from tokctl.model.parts import AddedToken, check_added

#: Fields in which the recipe may differ from the model that it extends: they don't affect how a
#: text is segmented.
_MAY_DIFFER = {"name", "special_tokens", "post_processors", "decoders", "stages"}


def check_extension(old: Model, recipe: Recipe) -> None:
    """Raise TokctlError if training can't continue from `old` with `recipe`."""
    for either in (old.recipe, recipe):
        either.traits.check_extension(either)
    for entry in fields(Recipe):
        if entry.name in _MAY_DIFFER:
            continue
        if entry.name == "pre_tokenizers" and recipe.traits.can_split_anew(old.recipe, recipe):
            continue
        old_value, new_value = getattr(old.recipe, entry.name), getattr(recipe, entry.name)
        if old_value != new_value:
            what = entry.name.replace("_", " ")
            raise BadOption(
                f"the model to extend has {'other' if what.endswith('s') else 'another'} {what}: "
                f"{_value_text(old_value)}, not {_value_text(new_value)}",
                "extend the model with its own recipe; special tokens may be added",
                "conflict",
            )
    if missing := [t for t in old.recipe.special_tokens if t not in recipe.special_tokens]:
        raise BadOption(
            f"the recipe lacks {missing[0]!r}, a special token of the model to extend",
            "keep the special tokens of the model; new ones may be added",
            "conflict",
        )
    recipe.traits.check_known_merges(old)
    _check_spellings(old, new_special_tokens(old, recipe), "special token")


def _check_spellings(old: Model, tokens: Iterable[str], what: str) -> None:
    """Raise TokctlError if a new token is spelled like an existing one; `what` names its kind."""
    ordinary = set(old.tokens)
    for token in tokens:
        spellings = {token.encode()}
        if old.recipe.is_byte_level and set(token) <= BYTES.keys():
            spellings.add(unspell(token))
        if spellings & ordinary:
            raise BadOption(
                f"the new {what} {token!r} is spelled like a token of the model",
                f"choose another {what}",
                "conflict",
            )


def _value_text(value: object) -> str:
    """Return a field of a recipe as text for a message."""
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def new_special_tokens(old: Model, recipe: Recipe) -> tuple[str, ...]:
    """Return the recipe's special tokens that the model lacks."""
    return tuple(token for token in recipe.special_tokens if token not in old.special_ids)


def added_tokens(
    old: Model | None, recipe: Recipe, tokens: list[bytes]
) -> tuple[AddedToken, ...] | None:
    """Return the added tokens of the extended model, whose new special tokens have the last ids."""
    if old is None:
        return None
    new = new_special_tokens(old, recipe)
    first_id = len(tokens) - len(new)
    if not new:
        return old.added_tokens
    return (*old.added, *(AddedToken(text, first_id + index) for index, text in enumerate(new)))


def with_special_tokens(model: Model, tokens: Sequence[str]) -> Model:
    """Return the model with more special tokens, whose ids come after all others.

    Special tokens that the model already has keep their ids. Unlike an extension, this trains
    nothing, so it works for every model.

    Raises:
        TokctlError: A token is empty, not UTF-8, or spelled like another token.
    """
    return _add_tokens(model, tokens, special=True)


def with_added_tokens(model: Model, tokens: Sequence[str]) -> Model:
    """Return the model with more added tokens that are not special, with ids after all others.

    A text is always searched for added tokens, exactly as spelled, before the model segments it.

    Raises:
        TokctlError: A token is empty, not UTF-8, a special token, or spelled like another token.
    """
    return _add_tokens(model, tokens, special=False)


def _add_tokens(model: Model, tokens: Sequence[str], *, special: bool) -> Model:
    """Return the model with the missing ones of `tokens`, as special or other added tokens."""
    existing = {token.text for token in model.added if token.special == special}
    if special_texts := [text for text in tokens if text in model.special_ids and not special]:
        raise BadOption(
            f"{special_texts[0]!r} is a special token of the model",
            "choose another text for the added token",
            "conflict",
        )
    new = [text for text in dict.fromkeys(tokens) if text not in existing]
    if not new:
        return model
    first_id = model.size
    added = (
        *model.added,
        *(AddedToken(text, first_id + index, special) for index, text in enumerate(new)),
    )
    check_added(added)
    _check_spellings(model, new, "special token" if special else "added token")
    zeros = [0] * len(new)
    return replace(
        model,
        recipe=model.recipe.with_special_tokens(new) if special else model.recipe,
        tokens=[*model.tokens, *map(str.encode, new)],
        scores=[*model.scores, *zeros] if model.scores else [],
        counts=[*model.counts, *zeros] if model.counts else [],
        added_tokens=added,
        events=model.events and model.events.renumbered(range(first_id), first_id + len(new)),
    )


def prune(model: Model, size: int) -> Model:
    """Return the model with `size` ids, renumbered without gaps in their old order.

    Special tokens, other added tokens and the initial symbols of segmentation always stay. A model
    with merges keeps the first ones, as a training to `size` would have. A vocabulary without
    merges (from another library) keeps the lowest ids. A Unigram model keeps the pieces with the
    highest scores, unchanged. A word or character model keeps the lowest ids, which are the most
    frequent tokens.

    Args:
        model: A model without removals.
        size: Number of ids to keep.

    Raises:
        TokctlError: The size is above the model's, or below the number of ids that must stay; the
            hint gives the minimum. Or training removed tokens from the model.

    Example:
        small = prune(model, 4_000)
        len(small.tokens)  # 4000
    """
    _check_size(len(model.tokens), size)
    if model.events is not None:
        raise Unsupported(
            f"a {model.recipe.algorithm} model can't be pruned after tokens were removed: a "
            "smaller model would lack other tokens",
            "prune the model before tokens are removed, or train a smaller one",
        )
    kept = model.recipe.traits.permanent_ids(model)
    if size < len(kept):
        raise BadOption(
            f"{size} ids are too few: the special tokens and the alphabet of this model "
            f"are {len(kept)}",
            f"ask for {len(kept)} or more",
            "bad-value",
        )
    if size == len(model.tokens):
        return model
    if not model.merges:
        ids = [id_ for id_ in range(len(model.tokens)) if id_ not in kept]
        ranked = model.recipe.traits.ranked(model, ids)
        return keep_only(model, kept | set(ranked[: size - len(kept)]))
    kept_merges = []
    for merge in _merges_in_order(model):
        if len(kept) == size:
            break
        if merge.left in kept and merge.right in kept:
            kept.add(merge.token)
            kept_merges.append(merge)
    return _keep(model, kept, kept_merges)


def _check_size(id_count: int, size: int) -> None:
    """Raise TokctlError if `size` is not a number or is above `id_count`."""
    if type(size) is not int or size > id_count:
        raise BadOption(
            f"the model has {id_count:,} ids, and can't be pruned to {size:,}",
            "ask for fewer ids; to have more, train on from a model of merges (--extend)",
            "bad-value",
        )


def _merges_in_order(model: Model) -> Iterator[Merge]:
    """Yield the merges and supermerges in the order of training.

    If a merge and a supermerge have equal counts, the merge comes first.
    """
    supermerges = deque(model.supermerges)
    for merge in model.merges:
        while supermerges and supermerges[0].count > merge.count:
            yield supermerges.popleft()
        yield merge
    yield from supermerges


def ids_by_use(
    model: Model,
    uses: Mapping[int, int],
    pairs: Iterable[Sequence[int]] = (),
    gone: Collection[int] = (),
    *,
    size: int | None = None,
    min_uses: int = 0,
) -> list[int]:
    """Return the ids that stay, ascending, if the least used tokens are removed.

    Tokens are removed until `size` are left or, without a size, until every other removable token
    is used at least `min_uses` times.

    Only leaves are removed: tokens that are not a part of a remaining token (Purason et al. 2025,
    arXiv 2512.03989). So no remaining token loses a part. The leaf with the fewest uses is removed
    first; among equals, the one with the highest id (`highest-id-first`). The uses of a removed
    token are then added to the two parts of which it was made, as in an encoded text.

    Added and reserved tokens stay, and so do the initial symbols of segmentation. In a word or
    character model, all tokens but added, reserved and byte tokens can be removed.

    Args:
        model: The model to prune.
        uses: Number of uses by id; 0 for ids that are not listed.
        pairs: Left, right and resulting token of each pair that makes a token. If several pairs
            make one token, all their parts stay as long as the token, and the parts of the first
            pair get its uses.
        gone: Ids to remove in any case, as if the model did not have them.
        size: Number of ids to keep; None: remove by `min_uses`.
        min_uses: Minimum number of uses of a token that stays; not used with `size`.

    Raises:
        TokctlError: The size is above the model's, or below the number of ids that must stay; the
            hint gives the minimum.
    """
    kept = set(range(len(model.tokens))).difference(gone)
    if size is not None:
        _check_size(len(kept), size)
    permanent = model.reserved_ids | model.user_defined | {token.id for token in model.added}
    recipe = model.recipe
    permanent |= {
        id_
        for id_, token in enumerate(model.tokens)
        if recipe.traits.is_initial_symbol(recipe, token)
    }
    pairs_of: dict[int, list[Sequence[int]]] = {}
    for pair in pairs:
        pairs_of.setdefault(pair[2], []).append(pair[:2])
    parts = {
        token: {part for pair in token_pairs for part in pair}
        for token, token_pairs in pairs_of.items()
    }
    users = Counter(part for token_pairs in parts.values() for part in token_pairs)
    uses_left = Counter(uses)
    removable = [(uses_left[id_], -id_) for id_ in kept if id_ not in permanent and not users[id_]]
    heapify(removable)
    while size is None or len(kept) > size:
        if size is None and not (removable and removable[0][0] < min_uses):
            break
        if not removable:
            raise BadOption(
                f"{size} ids are too few: the special tokens and the alphabet of this model, with "
                f"what they are made of, are {len(kept)}",
                f"ask for {len(kept)} or more",
                "bad-value",
            )
        use_count, negated_id = heappop(removable)
        least = -negated_id
        kept.remove(least)
        for part in pairs_of[least][0] if least in pairs_of else ():
            uses_left[part] += use_count
        for part in parts.get(least, ()):
            users[part] -= 1
            if not users[part] and part not in permanent:
                heappush(removable, (uses_left[part], -part))
    return sorted(kept)


def keep_only(model: Model, ids: Iterable[int]) -> Model:
    """Return the model with only these ids, renumbered without gaps in their old order.

    A merge stays if its parts and its token stay.
    """
    kept = set(ids)
    merges = (*model.merges, *model.supermerges)
    return _keep(model, kept, [merge for merge in merges if kept.issuperset(merge[:3])])


def _keep(model: Model, kept_ids: set[int], merges: Iterable[Merge]) -> Model:
    """Return the model with these ids and these of its merges, renumbered."""
    kept = sorted(kept_ids)
    kept_merges = set(map(id, merges))
    ranks = [rank for rank, merge in enumerate(model.merges) if id(merge) in kept_merges]
    record = model.training
    if record:
        record = replace(
            record,
            vocab_size=len(kept),
            exhausted=False,
            pruned_from=len(model.tokens),
            alphabet_size=model.recipe.traits.alphabet_size(model, len(kept)),
            initial_merges=sum(rank < record.initial_merges for rank in ranks),
            extended=bisect_left(kept, record.extended),
            stage_ends=tuple(bisect_left(kept, end) for end in record.stage_ends),
        )
    pruned = replace(
        model,
        merges=[model.merges[rank] for rank in ranks],
        supermerges=[merge for merge in model.supermerges if id(merge) in kept_merges],
        training=record,
        parity=model.parity and model.parity.of(ranks),
    )
    return renumber(pruned, {old: id_ for id_, old in enumerate(kept)})


def renumber_merges(merges: Iterable[Merge], ids: Mapping[int, int]) -> list[Merge]:
    """Return the merges with the new ids; `ids` maps old ids to new ones."""
    return [
        Merge(ids[merge.left], ids[merge.right], ids[merge.token], *merge[3:]) for merge in merges
    ]


def renumber(model: Model, ids: Mapping[int, int]) -> Model:
    """Return the model with new ids.

    Args:
        model: The model to renumber.
        ids: The new id of each old id that stays. The new ids are 0 to `len(ids) - 1`, and the
            parts and token of every merge of the model must stay.
    """
    order = sorted(ids, key=ids.__getitem__)
    removed = {token.text for token in model.added if token.id not in ids}
    recipe = model.recipe
    if removed:
        special = tuple(text for text in recipe.special_tokens if text not in removed)
        recipe = replace(recipe, special_tokens=special)
    kept = (token._replace(id=ids[token.id]) for token in model.added if token.id in ids)
    added = tuple(sorted(kept, key=lambda token: token.id))
    return replace(
        model,
        recipe=recipe,
        tokens=[model.tokens[id_] for id_ in order],
        merges=renumber_merges(model.merges, ids),
        supermerges=renumber_merges(model.supermerges, ids),
        scores=[model.scores[id_] for id_ in order] if model.scores else [],
        counts=[model.counts[id_] for id_ in order] if model.counts else [],
        events=model.events
        and model.events.renumbered([ids[id_] for id_ in range(model.size)], len(order)),
        # None means that the special tokens have the lowest ids.
        added_tokens=None if model.added_tokens is None and added == model.added else added,
    )
