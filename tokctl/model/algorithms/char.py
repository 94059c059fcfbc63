"""Characters: the most frequent ones, or the most frequent graphemes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokctl.core.errors import BadOption
from tokctl.model.algorithms.algorithm import Algorithm

if TYPE_CHECKING:
    from tokctl.model.recipe import Recipe


class Characters(Algorithm):
    """Characters, or graphemes, which are looked up like words."""

    def check_training(self, recipe: Recipe, options: Any) -> None:
        """Raise TokctlError for initial tokens, unless the tokens are graphemes."""
        if options.initial_tokens and not recipe.looks_up_pre_tokens:
            raise BadOption(
                "a character model can't have initial tokens: its tokens are characters",
                "name them in --initial-alphabet",
                "conflict",
            )
        super().check_training(recipe, options)


CHAR = Characters(
    name="char",
    title="characters",
    default={
        "segmentation": "symbols",
        "unk_token": "[UNK]",
        "special_tokens": ("[UNK]",),
    },
    segmentations=("symbols", "lookup"),
    trainer="frequency",
    options=("min_frequency", "graphemes"),
    token_kinds=("special", "character"),
    exhausted="the text has no more characters",
    # BPE without merges; for graphemes, WordLevel behind a pre-tokenizer that splits them off.
    huggingface={"symbols": "BPE", "lookup": "WordLevel"},
    learns_characters=True,
)
