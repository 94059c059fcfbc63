"""Byte-pair encoding: repeatedly merge the best pair of adjacent symbols."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from tokctl.core.errors import BadOption
from tokctl.model.algorithms.algorithm import HuggingFaceDifference
from tokctl.model.algorithms.merging import MergingAlgorithm
from tokctl.model.parts import is_lossless

if TYPE_CHECKING:
    from tokctl.model.recipe import Recipe


class Bpe(MergingAlgorithm):
    """Byte-pair encoding."""

    name = "bpe"
    title = "BPE"
    default = {
        "pre_tokenizers": "gpt2",
        "units": "bytes",
        "alphabet": "bytes",
        "tie_break": "lowest-id",
    }
    # A character that is not in the training text needs `[UNK]`.
    default_characters = {
        "units": "characters",
        "alphabet": "seen",
        "tie_break": "first-seen",
        "unk_token": "[UNK]",
        "special_tokens": ("[UNK]",),
    }
    segmentations = ("merges", "replay", "ranks", "remerge")
    options: ClassVar[tuple[str, ...]] = (
        "marker",
        "tie_break",
        "show_steps",
        "min_frequency",
        "byte_fallback",
        "fuse_unknown",
        "max_words",
        "forbid",
    )
    not_in_huggingface = "its BPE merges by rank only"
    marker_kinds = ("none", "end", "end-fused", "start")
    is_plain_bpe = True
    reads_bytes = True
    is_nested = True

    def check_training(self, recipe: Recipe, options: Any) -> None:
        """Raise TokctlError for a recipe of models from which residues were removed."""
        if recipe.removal == "residue":
            raise BadOption(
                "residues are taken away after a training, and none can be made by this recipe",
                "train with the segmentation merges, then: tokctl adapt --residues RATIO",
                "conflict",
            )
        super().check_training(recipe, options)

    def can_split_anew(self, old: Recipe, recipe: Recipe) -> bool:
        """Return whether the texts stay as they are.

        The old merges then apply within the new pre-tokens, as in SuperBPE's second stage (arXiv
        2503.13423).
        """
        parts = (*old.pre_tokenizers, *recipe.pre_tokenizers)
        return recipe.is_byte_level and all(map(is_lossless, parts))

    def huggingface_model(self, recipe: Recipe, unk_id: int | None) -> dict[str, Any]:
        """Return a model of the type BPE."""
        if recipe.segmentation != "merges":
            return super().huggingface_model(recipe, unk_id)
        return huggingface_bpe(recipe)

    def huggingface_differences(self, recipe: Recipe) -> Iterator[HuggingFaceDifference]:
        """Yield that merges are not replayed."""
        if recipe.replays_merges:
            lost = "merges that are replayed one after the other: it merges by rank"
            yield HuggingFaceDifference({"segmentation": "merges"}, lost, self.not_in_huggingface)
        yield from super().huggingface_differences(recipe)


def huggingface_bpe(recipe: Recipe) -> dict[str, Any]:
    """Return the object `model` of Hugging Face's BPE, without vocabulary and merges."""
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": recipe.unk_token,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": recipe.marker.text or None,
        "fuse_unk": recipe.fuse_unknown,
        "byte_fallback": recipe.byte_fallback,
        "ignore_merges": recipe.whole_words,
    }
