"""How much of a vocabulary a text uses."""

from __future__ import annotations

from tokctl.metrics.figure import Figure, ratio
from tokctl.recipe import FilledRecipe


def emittable(model: FilledRecipe) -> int:
    """How many ids the model can emit for ordinary text.

    These are all ids but those of special tokens; of special tokens, the unknown token
    alone is one of them, unless every character falls back to its bytes.
    """
    recipe = model.recipe
    unknown = recipe.unk_token is not None and not recipe.byte_fallback
    return len(model.tokens) - len(model.special_ids) + unknown


def vocabulary_use(used: int, emittable_ids: int) -> Figure:
    """Distinct ids used / ids that the model can emit (see `emittable`)."""
    return ratio(used, emittable_ids, "the model can emit no id")
