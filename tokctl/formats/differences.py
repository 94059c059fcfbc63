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
    ours, theirs = model.recipe, assumed.recipe
    for name, title in _PARTS.items():
        mine, found = _meant(model, name), _meant(assumed, name)
        if name == "decoders":
            for rule in {part["invalid"] for part in found if part.kind == "byte-fallback"}:
                yield from invalid_bytes_lost(mine, rule)
                mine = with_invalid_bytes(mine, rule)
        if mine != found:
            yield LostFeature(f"{title} {text_of(mine)} (it is read with {text_of(found)})")
    if any(part.kind == "trim-offsets" for part in ours.post_processors):
        yield LostFeature("offsets without spaces", minor=True)
    for name, title in _FLAGS.items():
        mine, found = getattr(ours, name), getattr(theirs, name)
        if mine != found and not _is_idle(model, name):
            yield LostFeature(f"{title} {mine if type(mine) is not bool else ''}".rstrip())
    yield from _added(model, assumed)


def _is_idle(model: Model, name: str) -> bool:
    """Return whether the recipe's field `name` has no effect in this model."""
    recipe = model.recipe
    if name == "unk_token":
        # Every byte has a token, so nothing is unknown. `unk_token` stays a special token anyway.
        return recipe.has_every_byte
    if name == "max_input_chars" or name == "unknown":
        return not recipe.matches_longest
    return recipe.is_byte_level and name != "whole_words"


def _meant(model: Model, name: str) -> tuple[Part, ...]:
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
    usual: dict[str, Any] = {}
    if recipe.is_byte_level:
        usual = {"kind": "byte-level"}
    elif recipe.marker.is_end_fused:
        mark = recipe.marker.text
        token = mark.encode()
        inside = any(token in text.removesuffix(token) for text in model.tokens)
        usual = {} if inside else {"kind": "bpe-suffix", "suffix": mark}
    return () if [part.to_dict() for part in parts] == [_whole(usual)] else parts


def _whole(usual: dict[str, Any]) -> dict[str, Any]:
    from tokctl.model.parts import DECODERS

    return DECODERS.from_dict(usual).to_dict() if usual else {}


def _as_special(token: AddedToken) -> AddedToken:
    """Return `token`; if it is special, without the flags that record how a file listed it."""
    if not token.special:
        return token
    return token._replace(ordinary=False, named=False, listed=True, made=False)


def _added(model: Model, assumed: Model) -> Iterator[LostFeature]:
    known = {token.text: _as_special(token) for token in assumed.added}
    mine = list(map(_as_special, model.added))
    if not model.recipe.normalizers:
        # Without normalizers, normalized and literal matching find the same tokens.
        mine = [token._replace(normalized=False, literal=False) for token in mine]
    lost = [token.text for token in mine if known.get(token.text) != token]
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        yield LostFeature(f"the added token {lost[0]!r}{more} as it is found in text")
    listed = {token.text for token in model.added}
    if new := [text for text in known if text not in listed]:
        yield LostFeature(f"that {new[0]!r} is not a special token")
