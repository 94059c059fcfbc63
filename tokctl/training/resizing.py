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
from tokctl.model.parts import AddedToken, check_added, is_lossless

#: Fields in which the recipe may differ from the model that it extends: they don't affect how a
#: text is segmented.
_MAY_DIFFER = {"name", "special_tokens", "post_processors", "decoders", "stages"}


def check_extension(old: Model, recipe: Recipe) -> None:
    """Raise TokctlError if training can't continue from `old` with `recipe`."""
    if recipe.removal or old.recipe.removal:
        raise Unsupported(
            f"a {old.recipe.algorithm} model can't be extended after tokens were removed: further "
            "training might remove others",
            "train a new one on the old and the new texts together",
        )
    if recipe.traits.has_scores or old.recipe.traits.has_scores:
        raise Unsupported(
            "a unigram model can't be extended: its scores are those of one vocabulary",
            "train a new one on the old and the new texts together",
        )
    if recipe.traits.learns_superwords:
        raise Unsupported(
            "a model of superwords can't be extended: its supermerges compete with its merges",
            "train a new one on the old and the new texts together",
        )
    for entry in fields(Recipe):
        if entry.name in _MAY_DIFFER:
            continue
        if entry.name == "pre_tokenizers" and _can_split_anew(old.recipe, recipe):
            continue
        theirs, ours = getattr(old.recipe, entry.name), getattr(recipe, entry.name)
        if theirs != ours:
            what = entry.name.replace("_", " ")
            raise BadOption(
                f"the model to extend has {'other' if what.endswith('s') else 'another'} {what}: "
                f"{_shown(theirs)}, not {_shown(ours)}",
                "extend the model with its own recipe; special tokens may be added",
                "conflict",
            )
    if missing := [t for t in old.recipe.special_tokens if t not in recipe.special_tokens]:
        raise BadOption(
            f"the recipe lacks {missing[0]!r}, a special token of the model to extend",
            "keep the special tokens of the model; new ones may be added",
            "conflict",
        )
    made = {merge.token for merge in old.merges}
    symbols = recipe.traits.learns_merges
    if symbols and not made and any(_is_long(old, id_) for id_ in range(len(old.tokens))):
        raise Unsupported(
            "the model to extend has no merges: its file does not say how its tokens were made",
            "extend a model that tokctl has trained, or one whose file lists merges; for a file of "
            "ranks, tokctl convert --to huggingface writes one",
        )
    _check_spellings(old, new_special_tokens(old, recipe), "special token")


def _can_split_anew(old: Recipe, recipe: Recipe) -> bool:
    """Return whether training can continue with other pre-tokenizers.

    The old merges then apply within the new pre-tokens, as in SuperBPE's second stage (arXiv
    2503.13423).
    """
    parts = (*old.pre_tokenizers, *recipe.pre_tokenizers)
    return recipe.traits.is_plain_bpe and recipe.is_byte_level and all(map(is_lossless, parts))


def _check_spellings(old: Model, tokens: Iterable[str], what: str) -> None:
    """Raise TokctlError if a new token is spelled like an existing one; `what` names its kind."""
    ordinary = set(old.tokens)
    for token in tokens:
        spelled = {token.encode()}
        if old.recipe.is_byte_level and set(token) <= BYTES.keys():
            spelled.add(unspell(token))
        if spelled & ordinary:
            raise BadOption(
                f"the new {what} {token!r} is spelled like a token of the model",
                f"choose another {what}",
                "conflict",
            )


def _shown(value: object) -> str:
    """Return a field of a recipe as text for a message."""
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _is_long(old: Model, id_: int) -> bool:
    """Return whether the token has more than one symbol and is not reserved."""
    return id_ not in old.reserved_ids and not old.recipe.is_initial_symbol(old.tokens[id_])


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
    first = len(tokens) - len(new)
    if not new:
        return old.added_tokens
    return (*old.added, *(AddedToken(text, first + at) for at, text in enumerate(new)))


def with_special_tokens(model: Model, tokens: Sequence[str]) -> Model:
    """Return the model with more special tokens, whose ids come after all others.

    Special tokens that the model already has keep their ids. Unlike an extension, this trains
    nothing, so it works for every model.

    Raises:
        TokctlError: A token is empty, not UTF-8, or spelled like another token.
    """
    return _with_added(model, tokens, special=True)


def with_added_tokens(model: Model, tokens: Sequence[str]) -> Model:
    """Return the model with more added tokens that are not special, with ids after all others.

    A text is always searched for added tokens, exactly as spelled, before the model segments it.

    Raises:
        TokctlError: A token is empty, not UTF-8, a special token, or spelled like another token.
    """
    return _with_added(model, tokens, special=False)


def _with_added(model: Model, tokens: Sequence[str], *, special: bool) -> Model:
    """Return the model with the missing ones of `tokens`, as special or other added tokens."""
    there = {token.text for token in model.added if token.special == special}
    if both := [text for text in tokens if text in model.special_ids and not special]:
        raise BadOption(
            f"{both[0]!r} is a special token of the model",
            "choose another text for the added token",
            "conflict",
        )
    new = [text for text in dict.fromkeys(tokens) if text not in there]
    if not new:
        return model
    first = model.size
    added = (*model.added, *(AddedToken(text, first + at, special) for at, text in enumerate(new)))
    check_added(added)
    _check_spellings(model, new, "special token" if special else "added token")
    none = [0] * len(new)
    return replace(
        model,
        recipe=model.recipe.with_special_tokens(new) if special else model.recipe,
        tokens=[*model.tokens, *map(str.encode, new)],
        scores=[*model.scores, *none] if model.scores else [],
        counts=[*model.counts, *none] if model.counts else [],
        added_tokens=added,
        events=model.events and model.events.renumbered(range(first), first + len(new)),
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
    stays = _base(model)
    if size < len(stays):
        raise BadOption(
            f"{size} ids are too few: the special tokens and the alphabet of this model "
            f"are {len(stays)}",
            f"ask for {len(stays)} or more",
            "bad-value",
        )
    if size == len(model.tokens):
        return model
    if not model.merges:
        ranked = [id_ for id_ in range(len(model.tokens)) if id_ not in stays]
        if model.recipe.traits.has_scores:
            # The sort is stable: tied pieces stay in id order.
            ranked.sort(key=lambda id_: -model.scores[id_])
        return keeping(model, stays | set(ranked[: size - len(stays)]))
    taken = []
    for merge in _as_learned(model):
        if len(stays) == size:
            break
        if merge.left in stays and merge.right in stays:
            stays.add(merge.token)
            taken.append(merge)
    return _keeping(model, stays, taken)


def _check_size(most: int, size: int) -> None:
    """Raise TokctlError if `size` is not a number or is above `most`."""
    if type(size) is not int or size > most:
        raise BadOption(
            f"the model has {most:,} ids, and can't be pruned to {size:,}",
            "ask for fewer ids; to have more, train on from a model of merges (--extend)",
            "bad-value",
        )


def _as_learned(model: Model) -> Iterator[Merge]:
    """Yield the merges and supermerges in the order of training.

    If a merge and a supermerge have equal counts, the merge comes first.
    """
    supermerges = deque(model.supermerges)
    for merge in model.merges:
        while supermerges and supermerges[0].count > merge.count:
            yield supermerges.popleft()
        yield merge
    yield from supermerges


def _base(model: Model) -> set[int]:
    """Return the ids that always stay."""
    recipe = model.recipe
    stays = {token.id for token in model.added}
    if recipe.traits.by_frequency:
        return stays
    made = {merge.token for merge in (*model.merges, *model.supermerges)}
    for id_, token in enumerate(model.tokens):
        symbol = model.recipe.is_initial_symbol(token)
        # In a model with merges, a token that no merge makes is an initial symbol.
        if symbol or (made and id_ not in made):
            stays.add(id_)
    return stays


def kept_by_use(
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
    stays = model.reserved_ids | model.user_defined | {token.id for token in model.added}
    by_frequency = model.recipe.traits.by_frequency
    is_symbol = model.recipe.is_byte_token if by_frequency else model.recipe.is_initial_symbol
    stays |= {id_ for id_, token in enumerate(model.tokens) if is_symbol(token)}
    made: dict[int, list[Sequence[int]]] = {}
    for pair in pairs:
        made.setdefault(pair[2], []).append(pair[:2])
    parts = {token: {part for pair in found for part in pair} for token, found in made.items()}
    takers = Counter(part for found in parts.values() for part in found)
    left = Counter(uses)
    leaves = [(left[id_], -id_) for id_ in kept if id_ not in stays and not takers[id_]]
    heapify(leaves)
    while size is None or len(kept) > size:
        if size is None and not (leaves and leaves[0][0] < min_uses):
            break
        if not leaves:
            raise BadOption(
                f"{size} ids are too few: the special tokens and the alphabet of this model, with "
                f"what they are made of, are {len(kept)}",
                f"ask for {len(kept)} or more",
                "bad-value",
            )
        times, lowest = heappop(leaves)
        least = -lowest
        kept.remove(least)
        for part in made[least][0] if least in made else ():
            left[part] += times
        for part in parts.get(least, ()):
            takers[part] -= 1
            if not takers[part] and part not in stays:
                heappush(leaves, (left[part], -part))
    return sorted(kept)


def keeping(model: Model, ids: Iterable[int]) -> Model:
    """Return the model with only these ids, renumbered without gaps in their old order.

    A merge stays if its parts and its token stay.
    """
    stays = set(ids)
    merges = (*model.merges, *model.supermerges)
    return _keeping(model, stays, [merge for merge in merges if stays.issuperset(merge[:3])])


def _keeping(model: Model, stays: set[int], merges: Iterable[Merge]) -> Model:
    """Return the model with these ids and these of its merges, renumbered."""
    kept = sorted(stays)
    same = set(map(id, merges))
    ranks = [rank for rank, merge in enumerate(model.merges) if id(merge) in same]
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
            initial_merges=sum(rank < record.initial_merges for rank in ranks),
            extended=bisect_left(kept, record.extended),
            stage_ends=tuple(bisect_left(kept, end) for end in record.stage_ends),
        )
    pruned = replace(
        model,
        merges=[model.merges[rank] for rank in ranks],
        supermerges=[merge for merge in model.supermerges if id(merge) in same],
        training=record,
        parity=model.parity and model.parity.of(ranks),
    )
    return renumbered(pruned, {old: id_ for id_, old in enumerate(kept)})


def renumbered_merges(merges: Iterable[Merge], ids: Mapping[int, int]) -> list[Merge]:
    """Return the merges with the new ids; `ids` maps old ids to new ones."""
    return [Merge(ids[m.left], ids[m.right], ids[m.token], *m[3:]) for m in merges]


def renumbered(model: Model, ids: Mapping[int, int]) -> Model:
    """Return the model with new ids.

    Args:
        model: The model to renumber.
        ids: The new id of each old id that stays. The new ids are 0 to `len(ids) - 1`, and the
            parts and token of every merge of the model must stay.
    """
    order = sorted(ids, key=ids.__getitem__)
    gone = {token.text for token in model.added if token.id not in ids}
    recipe = model.recipe
    if gone:
        special = tuple(text for text in recipe.special_tokens if text not in gone)
        recipe = replace(recipe, special_tokens=special)
    stay = (token._replace(id=ids[token.id]) for token in model.added if token.id in ids)
    added = tuple(sorted(stay, key=lambda token: token.id))
    return replace(
        model,
        recipe=recipe,
        tokens=[model.tokens[id_] for id_ in order],
        merges=renumbered_merges(model.merges, ids),
        supermerges=renumbered_merges(model.supermerges, ids),
        scores=[model.scores[id_] for id_ in order] if model.scores else [],
        counts=[model.counts[id_] for id_ in order] if model.counts else [],
        events=model.events
        and model.events.renumbered([ids[id_] for id_ in range(model.size)], len(order)),
        # None means that the special tokens have the lowest ids.
        added_tokens=None if model.added_tokens is None and added == model.added else added,
    )
