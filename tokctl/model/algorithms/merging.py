"""The base class of all algorithms that merge pairs of symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tokctl.core.errors import Unsupported
from tokctl.model.algorithms.algorithm import Algorithm, limits_of

if TYPE_CHECKING:
    from tokctl.model.algorithms.job import Trained, TrainingJob
    from tokctl.model.filled import Model, TrainingRecord
    from tokctl.model.recipe import Recipe

#: Which pair is merged next, by the recipe's score.
_SCORES = {
    "count": "the pair with the highest count",
    "likelihood": "the pair with the highest count(ab) / (count(a) count(b))",
}
#: Which of equally good pairs is merged, by the recipe's tie break.
_TIES = {
    "first-seen": "of equals the one seen first",
    "rewritten-last": "of equals the one seen first, rewritten words moved to the end",
    "lowest-id": "of equals the one with the lowest ids",
    "highest-text": "of equals the one whose text comes last",
}


class MergingAlgorithm(Algorithm):
    """An algorithm that merges the best pair of adjacent symbols until the vocabulary is full."""

    learns = "merges"
    token_kinds: ClassVar[tuple[str, ...]] = ("special", "alphabet", "merged")
    exhausted = "no pair was left to merge"
    exhausted_briefly = "no pair was left"

    def train(self, job: TrainingJob) -> Trained:
        """Merge pairs, stage by stage."""
        from tokctl.model.algorithms.merge_training import train_in_stages

        return train_in_stages(job)

    def check_extension(self, recipe: Recipe) -> None:
        """Raise TokctlError if tokens were removed."""
        if recipe.removal:
            raise Unsupported(
                f"a {self.name} model can't be extended after tokens were removed: further "
                "training might remove others",
                "train a new one on the old and the new texts together",
            )

    def check_known_merges(self, model: Model) -> None:
        """Raise TokctlError if the model has tokens of several symbols, but no merges."""
        if not model.merges and any(
            id_ not in model.reserved_ids and not model.recipe.is_initial_symbol(token)
            for id_, token in enumerate(model.tokens)
        ):
            raise Unsupported(
                "the model to extend has no merges: its file does not say how its tokens were made",
                "extend a model that tokctl has trained, or one whose file lists merges; for a "
                "file of ranks, tokctl convert --to huggingface writes one",
            )

    def kind_of(self, model: Model, id_: int, text: bytes) -> str:
        """Return whether a merge, a supermerge or none makes the token."""
        if id_ in model.superword_ids:
            return "superword"
        if id_ in model.merged_ids:
            return "merged"
        if model.training is not None:
            return "alphabet"
        if len(text if model.recipe.is_byte_level else text.decode()) <= 1:
            return "alphabet"
        return "merged" if model.recipe.has_ranks else "other"

    def lists_merges(self, recipe: Recipe) -> bool:
        """Return whether the merges are not implied by ranks."""
        return not recipe.has_ranks

    def choice(self, recipe: Recipe) -> tuple[str, str]:
        """Return the score and the tie rule in words."""
        ties = f"{_TIES[recipe.tie_break]} ({recipe.tie_break})"
        return "merged", f"{_SCORES[recipe.score]}; {ties}"

    def criteria(self, recipe: Recipe) -> list[str]:
        """Return the names of the score and of the tie rule."""
        return [recipe.score, recipe.tie_break]

    def why_stopped(self, record: TrainingRecord) -> str:
        """Return which pairs were used up."""
        return f"no pair{limits_of(record, 'makes a token')} is left to merge"
