"""BoundlessBPE: byte-pair encoding that also merges whole pre-tokens into superwords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokctl.core.errors import BadOption
from tokctl.model.algorithms.algorithm import Algorithm

if TYPE_CHECKING:
    from tokctl.model.recipe import Recipe


class BoundlessBpe(Algorithm):
    """BoundlessBPE, which merges bytes by count and nothing else."""

    def check(self, recipe: Recipe) -> None:
        """Raise TokctlError if anything comes before the merges of a recipe."""
        super().check(recipe)
        if not recipe.is_byte_level or recipe.whole_words or recipe.merges_by_likelihood:
            raise BadOption(
                f"{self.name} merges bytes by count, and nothing comes before its merges",
                "leave --chars and --score out, or take --algo bpe",
                "conflict",
            )

    def check_training(self, recipe: Recipe, options: Any) -> None:
        """Raise TokctlError for initial tokens, which the texts may lack."""
        if options.initial_tokens:
            raise BadOption(
                f"{self.name} can't have initial tokens: its supermerges are of words that the "
                "texts have",
                "leave them out, or take --algo bpe or superbpe",
                "conflict",
            )
        super().check_training(recipe, options)


BOUNDLESS = BoundlessBpe(
    name="boundless",
    title="BoundlessBPE",
    default={
        "pre_tokenizers": "o200k",
        "units": "bytes",
        "alphabet": "bytes",
        "tie_break": "lowest-id",
    },
    # The second segmentation is for models whose training removed tokens (`--threshold`).
    segmentations=("merges", "events-to-symbols"),
    trainer="superwords",
    options=("tie_break", "min_frequency", "threshold"),
    token_kinds=("special", "alphabet", "merged", "superword"),
    exhausted="no pair was left to merge",
    huggingface={},
    not_in_huggingface="its BPE never makes one token of several pre-tokens",
    learns_merges=True,
    learns_superwords=True,
    reads_bytes=True,
    is_nested=True,
)
