"""The most frequent words, characters or graphemes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from tokctl.core.errors import BadOption, UnsupportedByFormat
from tokctl.model.algorithms.algorithm import Algorithm, HuggingFaceDifference, limits_of
from tokctl.model.algorithms.bpe import huggingface_bpe

if TYPE_CHECKING:
    from tokctl.model.algorithms.job import Trained, TrainingJob
    from tokctl.model.filled import Model, TrainingRecord
    from tokctl.model.recipe import Recipe


class FrequencyAlgorithm(Algorithm):
    """An algorithm whose tokens are chosen one by one, by their counts.

    Attributes:
        unit: name of what a token is.
    """

    unit: ClassVar[str]

    def train(self, job: TrainingJob) -> Trained:
        """Take the most frequent pre-tokens or characters."""
        from tokctl import _native
        from tokctl.model.algorithms.job import Trained

        old = job.extended
        has_words = job.recipe.looks_up_pre_tokens
        special = job.recipe.first_tokens
        tokens, counts, exhausted = _native.train_by_frequency(
            job.counts,
            kind="words" if has_words else "characters",
            vocab_size=job.vocab_size,
            first=old.tokens if old else special,
            reserved=special,
            initial_tokens=job.initial_tokens if has_words else [],
            min_frequency=job.settings["min_frequency"],
            max_token_length=job.settings["max_token_length"],
            limits=job.settings["limits"],
        )
        if old:
            counts = [*old.counts, *counts[len(old.tokens) :]] if old.counts else []
        alphabet = 0 if has_words else len(tokens) - len(old.reserved_ids if old else special)
        return Trained(tokens, alphabet, exhausted, counts=counts)

    def permanent_ids(self, model: Model) -> set[int]:
        """Return the ids of added tokens."""
        return {token.id for token in model.added}

    def is_initial_symbol(self, recipe: Recipe, token: bytes) -> bool:
        """Return whether byte fallback produces the token: nothing else makes other tokens."""
        return recipe.is_byte_token(token)

    def kind_of(self, model: Model, id_: int, text: bytes) -> str:
        """Return the one kind."""
        return self.unit

    def choice(self, recipe: Recipe) -> tuple[str, str]:
        """Return the counted unit and the tie rule."""
        what = "pre-tokens" if recipe.looks_up_pre_tokens else "characters"
        return "chosen", f"the most frequent {what}; of equals the one seen first"

    def why_stopped(self, record: TrainingRecord) -> str:
        """Return what the text has no other of."""
        return f"the text has no other {self.unit}{limits_of(record, 'has a length')}"

    def huggingface_model(self, recipe: Recipe, unk_id: int | None) -> dict[str, Any]:
        """Return a model of the type WordLevel; for characters, BPE without merges."""
        if recipe.emits_symbols:
            return huggingface_bpe(recipe)
        if recipe.byte_fallback:
            raise UnsupportedByFormat("its WordLevel does not fall back to bytes")
        return {"type": "WordLevel", "unk_token": recipe.unk_token}

    def huggingface_differences(self, recipe: Recipe) -> Iterator[HuggingFaceDifference]:
        """Yield that unknown pre-tokens are not fused."""
        yield from super().huggingface_differences(recipe)
        if recipe.looks_up_pre_tokens and recipe.fuse_unknown:
            several = "unknown words" if self.unit == "word" else "characters"
            refusal = "its WordLevel makes an unknown token of every unknown word"
            yield HuggingFaceDifference(
                {"fuse_unknown": False}, f"one unknown token for several {several}", refusal
            )


class WordLevel(FrequencyAlgorithm):
    """The most frequent pre-tokens, each looked up as a whole."""

    name = "word"
    title = "words"
    learns = "words"
    unit = "word"
    default = {
        "pre_tokenizers": "bert",
        "segmentation": "lookup",
        "unk_token": "[UNK]",
        "decoders": "join",
        "special_tokens": ("[UNK]",),
    }
    segmentations = ("lookup",)
    options = ("min_frequency",)
    token_kinds = ("special", "word")
    token_place = "whole word"
    why_unknown = "not among the words that it has tokens for"
    exhausted = "the text has no more words"
    is_nested = True

    def why_whole(self, model: Model, id_: int) -> str:
        """Return the count of the word, if it is known."""
        return f"counted {model.counts[id_]:,} times" if model.counts else "a token"


class CharacterLevel(FrequencyAlgorithm):
    """The most frequent characters, or graphemes, which are looked up like words."""

    name = "char"
    title = "characters"
    learns = "characters"
    unit = "character"
    default = {
        "segmentation": "symbols",
        "unk_token": "[UNK]",
        "special_tokens": ("[UNK]",),
    }
    segmentations = ("symbols", "lookup")
    options = ("min_frequency", "graphemes")
    token_kinds = ("special", "character")
    token_place = "any place"
    why_split = "each character is a token"
    exhausted = "the text has no more characters"

    def check_training(self, recipe: Recipe, options: Any) -> None:
        """Raise TokctlError for initial tokens, unless the tokens are graphemes."""
        if options.initial_tokens and not recipe.looks_up_pre_tokens:
            raise BadOption(
                "a character model can't have initial tokens: its tokens are characters",
                "name them in --initial-alphabet",
                "conflict",
            )
        super().check_training(recipe, options)

    def alphabet_size(self, model: Model, size: int) -> int:
        """Return the number of characters that are left."""
        return size - len(model.reserved_ids)
