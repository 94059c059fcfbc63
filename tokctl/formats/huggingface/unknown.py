"""Recipes without an unknown token: what becomes of unknown text there."""

from __future__ import annotations

from tokctl.model import Recipe


def drops_unknown(recipe: Recipe) -> bool:
    """Are there characters that have no token, and none to stand for them?"""
    return not recipe.is_byte_level and recipe.unk_token is None and not recipe.byte_fallback


def needs_unknown(recipe: Recipe) -> bool:
    """Can a model of that kind not be without an unknown token?"""
    return recipe.traits.marks_continuations or recipe.looks_up_pre_tokens


def fails_at_bytes(recipe: Recipe) -> bool:
    """Is it a Unigram model that looks for its unknown token before it falls back to bytes, and
    has none?"""
    return recipe.traits.has_scores and recipe.byte_fallback and recipe.unk_token is None
