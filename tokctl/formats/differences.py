"""Differences between a model and the model that a reader would build from its vocabulary file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokctl.formats.contract import LostFeature, invalid_bytes_lost
from tokctl.model import Model
from tokctl.model.parts import AddedToken, Part, text_of, with_invalid_bytes

#: Fields of a recipe that change ids or texts, with their names in messages.
_FLAGS = {
    "unk_token": "the unknown token",
    "unknown": "what is unknown: a",
    "max_input_chars": "the longest word in characters:",
    "byte_fallback": "byte fallback",
    "fuse_unknown": "one unknown token for several characters",
    "whole_words": "tokens that stay whole whatever merges say",
}
_PARTS = {
    "normalizers": "the normalizers",
    "pre_tokenizers": "the pattern",
    "post_processors": "the post-processors",
    "decoders": "the decoders",
}


def differences(model: Model, assumed: Model) -> Iterator[LostFeature]:
    """Yield the losses of `model` if a reader builds the model `assumed` from its files."""
    recipe, assumed_recipe = model.recipe, assumed.recipe
    for name, title in _PARTS.items():
        value, assumed_value = _effective_parts(model, name), _effective_parts(assumed, name)
        if name == "decoders":
            for rule in {part["invalid"] for part in assumed_value if part.kind == "byte-fallback"}:
                yield from invalid_bytes_lost(value, rule)
                value = with_invalid_bytes(value, rule)
        if value != assumed_value:
            yield LostFeature(
                f"{title} {text_of(value)} (it is read with {text_of(assumed_value)})"
            )
    if any(part.kind == "trim-offsets" for part in recipe.post_processors):
        yield LostFeature("offsets without spaces", minor=True)
    for name, title in _FLAGS.items():
        value, assumed_value = getattr(recipe, name), getattr(assumed_recipe, name)
        if value != assumed_value and not _has_no_effect(model, name):
            yield LostFeature(f"{title} {value if type(value) is not bool else ''}".rstrip())
    yield from _added_token_losses(model, assumed)


def _has_no_effect(model: Model, name: str) -> bool:
    """Return whether the recipe's field `name` has no effect in this model."""
    recipe = model.recipe
    if name == "unk_token":
        # Every byte has a token, so nothing is unknown. `unk_token` stays a special token anyway.
        return recipe.has_every_byte
    if name == "max_input_chars" or name == "unknown":
        return not recipe.matches_longest
    return recipe.is_byte_level and name != "whole_words"


def _effective_parts(model: Model, name: str) -> tuple[Part, ...]:
    """Return the parts in the recipe's field `name`, without those that change nothing.

    Left out are `trim-offsets`, which changes offsets but not ids, and the decoder that a
    byte-level recipe or an end-of-word marker implies.
    """
    recipe = model.recipe
    parts: tuple[Part, ...] = getattr(recipe, name)
    if name == "post_processors":
        return tuple(part for part in parts if part.kind != "trim-offsets")
    if name != "decoders":
        return parts
    implied: dict[str, Any] = {}
    if recipe.is_byte_level:
        implied = {"kind": "byte-level"}
    elif recipe.marker.is_end_fused:
        marker = recipe.marker.text
        token = marker.encode()
        inside = any(token in text.removesuffix(token) for text in model.tokens)
        implied = {} if inside else {"kind": "bpe-suffix", "suffix": marker}
    return () if [part.to_dict() for part in parts] == [_with_defaults(implied)] else parts


def _with_defaults(part: dict[str, Any]) -> dict[str, Any]:
    from tokctl.model.parts import DECODERS

    return DECODERS.from_dict(part).to_dict() if part else {}


def _as_special(token: AddedToken) -> AddedToken:
    """Return `token`; if it is special, without the flags that record how a file listed it."""
    if not token.special:
        return token
    return token._replace(ordinary=False, named=False, listed=True, made=False)


def _added_token_losses(model: Model, assumed: Model) -> Iterator[LostFeature]:
    assumed_tokens = {token.text: _as_special(token) for token in assumed.added}
    tokens = list(map(_as_special, model.added))
    if not model.recipe.normalizers:
        # Without normalizers, normalized and literal matching find the same tokens.
        tokens = [token._replace(normalized=False, literal=False) for token in tokens]
    lost = [token.text for token in tokens if assumed_tokens.get(token.text) != token]
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        yield LostFeature(f"the added token {lost[0]!r}{more} as it is found in text")
    listed = {token.text for token in model.added}
    if missing := [text for text in assumed_tokens if text not in listed]:
        yield LostFeature(f"that {missing[0]!r} is not a special token")
