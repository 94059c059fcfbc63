"""WordPiece: merges by count or likelihood, and the longest match from left to right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tokctl.model.algorithms.algorithm import HuggingFaceDifference
from tokctl.model.algorithms.merging import MergingAlgorithm

if TYPE_CHECKING:
    from tokctl.model.recipe import Recipe

#: Longer than any word. Hugging Face's format has no value for "no limit".
NO_LIMIT = 2**53 - 1


class WordPiece(MergingAlgorithm):
    """WordPiece, whose tokens inside a word carry a continuation marker (`##ing`)."""

    name = "wordpiece"
    title = "WordPiece"
    default = {
        "pre_tokenizers": "bert",
        "marker": ("continuation", "##"),
        "score": "likelihood",
        "tie_break": "first-seen",
        "segmentation": "longest-match",
        "unk_token": "[UNK]",
        "max_input_chars": 100,
        "special_tokens": ("[UNK]",),
    }
    segmentations = ("longest-match", "replay", "merges")
    options = (
        "score",
        "segment",
        "unknown",
        "max_input_chars",
        "marker",
        "tie_break",
        "show_steps",
        "min_frequency",
    )
    marker_kinds = ("continuation",)
    can_fall_back = False
    is_nested = True

    def huggingface_model(self, recipe: Recipe, unk_id: int | None) -> dict[str, Any]:
        """Return a model of the type WordPiece."""
        limit = recipe.max_input_chars
        return {
            "type": "WordPiece",
            "unk_token": recipe.unk_token,
            "continuing_subword_prefix": recipe.marker.text,
            "max_input_chars_per_word": NO_LIMIT if limit is None else limit,
        }

    def huggingface_differences(self, recipe: Recipe) -> Iterator[HuggingFaceDifference]:
        """Yield that only the longest match exists, and only words are unknown."""
        if not recipe.matches_longest:
            lost = "WordPiece by merges: it takes the longest token that matches"
            refusal = "its WordPiece does not replay merges"
            yield HuggingFaceDifference({"segmentation": "longest-match"}, lost, refusal)
        yield from super().huggingface_differences(recipe)
        if recipe.unknown != "word":
            lost = "an unknown token for the unknown character alone"
            refusal = "its WordPiece knows no unknown characters, only unknown words"
            yield HuggingFaceDifference({"unknown": "word"}, lost, refusal)
