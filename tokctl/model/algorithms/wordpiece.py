"""WordPiece: merges by count or likelihood, and the longest match from left to right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tokctl.core.errors import UnsupportedByFormat
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
    not_in_huggingface = "its WordPiece does not replay merges"
    marker_kinds = ("continuation",)
    can_fall_back = False
    is_nested = True

    def huggingface_model(self, recipe: Recipe, unk_id: int | None) -> dict[str, Any]:
        """Return a model of the type WordPiece."""
        if not recipe.matches_longest:
            return super().huggingface_model(recipe, unk_id)
        if recipe.unknown != "word":
            raise UnsupportedByFormat(
                "its WordPiece knows no unknown characters, only unknown words"
            )
        limit = recipe.max_input_chars
        return {
            "type": "WordPiece",
            "unk_token": recipe.unk_token,
            "continuing_subword_prefix": recipe.marker.text,
            "max_input_chars_per_word": NO_LIMIT if limit is None else limit,
        }

    def nearest_in_huggingface(self, recipe: Recipe) -> Iterator[tuple[dict[str, Any], str | None]]:
        """Yield the longest match instead of merges, and unknown words instead of characters."""
        if not recipe.matches_longest:
            lost = "WordPiece by merges: it takes the longest token that matches"
            yield {"segmentation": "longest-match"}, lost
        yield from super().nearest_in_huggingface(recipe)
        if recipe.unknown != "word":
            yield {"unknown": "word"}, "an unknown token for the unknown character alone"
