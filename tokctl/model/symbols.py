"""What segmentation starts from."""

from __future__ import annotations

from tokctl.model.recipe import Recipe

#: What byte fallback spells a byte as, by byte.
BYTE_TOKENS = {b"<0x%02X>" % byte: byte for byte in range(256)}


def is_byte_token(recipe: Recipe, token: bytes) -> bool:
    """Does byte fallback make the token?"""
    return recipe.byte_fallback and token in BYTE_TOKENS


def is_initial_symbol(recipe: Recipe, token: bytes) -> bool:
    """Can segmentation start from the token: a byte, a character (one that carries a fused
    marker, too), a marker that is a symbol of its own, or what byte fallback makes?

    `start` and `end` markers are symbols of their own, so a token of one and a character
    is merged from two; `end-fused` and `continuation` are part of a symbol. Training on
    from a model (`native/core`: `train/extend.rs`) tells them apart in the same way.
    """
    if recipe.units == "bytes":
        return len(token) == 1
    if is_byte_token(recipe, token):
        return True
    kind, mark = recipe.marker
    text = token.decode()
    if kind in ("start", "end") and text == mark:
        return True
    if kind == "end-fused":
        text = text.removesuffix(mark) or text
    elif kind == "continuation":
        text = text.removeprefix(mark) or text
    return len(text) == 1
