"""What ordinary text can become in a model, and how much of that a text uses."""

from __future__ import annotations

from dataclasses import dataclass

from tokctl.analysis.metrics.figure import Figure, ratio
from tokctl.model import FilledRecipe
from tokctl.model.symbols import BYTE_TOKENS

_BYTES = frozenset(bytes([byte]) for byte in range(256))


@dataclass(frozen=True)
class Range:
    """What a model can make of ordinary text.

    Attributes:
        reads_everything: nothing is ever unknown: every byte has a token.
        emittable: how many ids can come out: all but those of special tokens; of these the
            unknown token alone is one, where something can be unknown.
    """

    reads_everything: bool
    emittable: int


def range_of(model: FilledRecipe) -> Range:
    """What a model can make of ordinary text."""
    recipe = model.recipe
    everything = False
    if recipe.units == "bytes":
        apart = model.apart
        everything = _BYTES.issubset(
            token for id_, token in enumerate(model.tokens) if id_ not in apart
        )
    elif recipe.byte_fallback:
        everything = BYTE_TOKENS.keys() <= set(model.tokens)
    unknown = recipe.unk_token is not None and not everything
    return Range(everything, len(model.tokens) - len(model.special_ids) + unknown)


def vocabulary_use(used: int, emittable_ids: int) -> Figure:
    """Distinct ids used / ids that the model can emit (see `Range`)."""
    return ratio(used, emittable_ids, "the model can emit no id")
