"""BoundlessBPE: byte-pair encoding that also merges whole pre-tokens into superwords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokctl.core.errors import BadOption, Unsupported
from tokctl.model.algorithms.merging import MergingAlgorithm

if TYPE_CHECKING:
    from tokctl.model.algorithms.job import Trained, TrainingJob
    from tokctl.model.recipe import Recipe


class BoundlessBpe(MergingAlgorithm):
    """BoundlessBPE, which merges bytes by count and nothing else."""

    name = "boundless"
    title = "BoundlessBPE"
    default = {
        "pre_tokenizers": "o200k",
        "units": "bytes",
        "alphabet": "bytes",
        "tie_break": "lowest-id",
    }
    # The second segmentation is for models whose training removed tokens (`--threshold`).
    segmentations = ("merges", "events-to-symbols")
    options = ("tie_break", "min_frequency", "threshold")
    token_kinds = ("special", "alphabet", "merged", "superword")
    not_in_huggingface = "its BPE never makes one token of several pre-tokens"
    reads_bytes = True
    reads_twice = True
    is_nested = True

    def train(self, job: TrainingJob) -> Trained:
        """Merge pairs inside pre-tokens, then pairs of whole pre-tokens."""
        from tokctl.model.algorithms.merge_training import train_superwords

        return train_superwords(job)

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

    def check_extension(self, recipe: Recipe) -> None:
        """Raise TokctlError."""
        super().check_extension(recipe)
        raise Unsupported(
            "a model of superwords can't be extended: its supermerges compete with its merges",
            "train a new one on the old and the new texts together",
        )

    def choice(self, recipe: Recipe) -> tuple[str, str]:
        """Return the rule of BPE with the one for supermerges."""
        label, text = super().choice(recipe)
        return label, f"{text}; a pair of whole words (a supermerge) where it is more frequent"

    def encoding(self, recipe: Recipe) -> str:
        """Return how merges and supermerges encode."""
        text = super().encoding(recipe)
        return f"{text}; then words side by side that are one token each, by their supermerges"
