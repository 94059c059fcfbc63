"""Going on from a model that is there already: what it must have, and what it hands on."""

from __future__ import annotations

from dataclasses import fields

from tokctl.errors import TokctlError
from tokctl.model import FilledRecipe, Recipe
from tokctl.model.byte_level import BYTES, unspell
from tokctl.model.parts import AddedToken

#: What may differ between a model and the recipe that it is extended with: it has no part
#: in how a text is segmented.
_FREE = {"name", "special_tokens", "post_processors", "decoders"}


def check(old: FilledRecipe, recipe: Recipe) -> None:
    """TokctlError where training can't go on from `old` with `recipe`."""
    if recipe.traits.has_scores or old.recipe.traits.has_scores:
        raise TokctlError(
            "a unigram model can't be extended: its scores are those of one vocabulary",
            "train a new one on the old and the new texts together",
        )
    for entry in fields(Recipe):
        if entry.name in _FREE:
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
            "the model to extend has no merges: its file does not tell how its tokens were made",
            "extend a model that tokctl has trained, or one whose file lists merges; of ranks, "
            "tokctl convert --to huggingface makes such a file",
        )
    ordinary = set(old.tokens)
    for token in new_special_tokens(old, recipe):
        spelled = {token.encode()}
        if recipe.is_byte_level and set(token) <= BYTES.keys():
            spelled.add(unspell(token))
        if spelled & ordinary:
            raise TokctlError(
                f"the new special token {token!r} is spelled like a token of the model to extend",
                "choose another special token",
            )


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _is_long(old: FilledRecipe, id_: int) -> bool:
    """Is the token more than one symbol, and none that is set apart?"""
    return id_ not in old.apart and not old.recipe.is_initial_symbol(old.tokens[id_])


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
