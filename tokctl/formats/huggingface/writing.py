"""A recipe, or a filled one, as a document of Hugging Face's."""

from __future__ import annotations

from typing import Any

from tokctl import _native
from tokctl.formats.huggingface import (
    added_tokens,
    decoders,
    models,
    normalizers,
    post_processors,
    pre_tokenizers,
)
from tokctl.formats.huggingface.component import InexpressibleError
from tokctl.model import FilledRecipe, Recipe
from tokctl.model.parts import AddedToken, native_parts

#: Why a model has no file there whose tokens are spelled alike.
AMBIGUOUS = "it knows tokens by their spelling, and two of these are spelled alike"


def obstacle(given: Recipe | FilledRecipe) -> str | None:
    """Why the format can't express the recipe: what would give other ids there. None where
    it can. For a recipe alone, special tokens are where a training puts them."""
    try:
        frame(given)
    except InexpressibleError as reason:
        return str(reason)
    return None


def frame(given: Recipe | FilledRecipe, *, lossy: bool = False) -> dict[str, Any]:
    """The document for a recipe, without vocabulary and merges; `InexpressibleError`, with the
    reason, where the format has none.

    lossy: for a model of `nearest`, which lists what is different there.
    """
    recipe, added = _parts(given)
    ids = {token.text: token.id for token in added if token.special}
    unk_id = None if recipe.unk_token is None else ids[recipe.unk_token]
    model = models.to_json(recipe, unk_id, lossy=lossy)
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens.to_json(added),
        "normalizer": normalizers.to_json(recipe.normalizers),
        "pre_tokenizer": pre_tokenizers.to_json(
            recipe.pre_tokenizers, of_bytes=recipe.is_byte_level
        ),
        "post_processor": post_processors.to_json(recipe.post_processors, ids),
        "decoder": decoders.to_json(recipe),
        "model": model,
    }
    if not lossy and (found := found_in_text(given)):
        raise InexpressibleError(
            f"its {model['type']} would find the special token {found[0]} in ordinary text"
        )
    return document


def found_in_text(given: Recipe | FilledRecipe) -> list[str]:
    """The special tokens that their model may make of ordinary text that spells them."""
    recipe, added = _parts(given)
    size = model_size(given) if isinstance(given, FilledRecipe) else None
    inside = [token for token in added if (size is None or token.id < size) and not token.ordinary]
    return [token.text for token in inside if _can_be_made(recipe, token)]


def _parts(given: Recipe | FilledRecipe) -> tuple[Recipe, tuple[AddedToken, ...]]:
    if isinstance(given, FilledRecipe):
        return given.recipe, given.added
    tokens = enumerate(given.special_tokens)
    return given, tuple(AddedToken(text, id_) for id_, text in tokens)


def model_size(model: FilledRecipe) -> int:
    """How many tokens, those with the lowest ids, stand in the model's own vocabulary.

    Added tokens behind them do not, unless merges name them: there the model can't make them
    of ordinary text, and they get the next free ids, which are theirs.
    """
    unknown = model.recipe.unk_token
    unk_id = None if unknown is None else model.special_ids[unknown]
    size = model.size
    listed = {token.id for token in model.added if not token.ordinary}
    while size > 1 and size - 1 in listed and size - 1 != unk_id:
        if model.scores and model.scores[size - 1]:
            break
        size -= 1
    if size < model.size:
        size = max(size, model.highest_merged + 1)
    return size


def _can_be_made(recipe: Recipe, token: AddedToken) -> bool:
    """May their model make this token of its vocabulary where the text spells it? (Unigram
    always may: Hugging Face finds the token before its model can, but for one that stands
    inside a word, or that only the normalized text spells.)"""
    text = token.text
    if recipe.matches_longest or recipe.looks_up_pre_tokens or recipe.whole_words:
        return _is_one_pre_token(recipe, text.removeprefix(recipe.marker.text))
    if recipe.traits.has_scores:
        raw = bool(recipe.normalizers) and not token.normalized
        return token.single_word or (raw and not token.special)
    if recipe.is_byte_level:
        return False
    return len(text.removesuffix(recipe.marker.text)) == 1


def _is_one_pre_token(recipe: Recipe, text: str) -> bool:
    """May the text stand inside one pre-token? Only scanners that surely split it say no."""
    return all(
        part.kind not in _SPLITTING
        or len(_native.pre_tokens(native_parts([part]), text.encode())) == 1
        for part in recipe.pre_tokenizers
    )


#: Scanners that split a text alike wherever it stands.
_SPLITTING = ("bert", "gpt2-words", "gpt2", "cl100k", "o200k", "llama3", "qwen2", "characters")
