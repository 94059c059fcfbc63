"""The class of algorithms: facts that the rest of tokctl needs, and checks of recipes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tokctl.core.errors import BadOption

if TYPE_CHECKING:
    from tokctl.model.recipe import Recipe


class Algorithm(NamedTuple):
    """Facts about an algorithm (recipe fields, training, explanation, export) and its checks.

    An algorithm that refuses more than others is a subclass with other `check` methods. Code
    outside `tokctl.model.algorithms` never compares an algorithm's name. It reads one of these
    fields instead (`recipe.traits.learns_merges`). Code that belongs to another package is in one
    table in that package: trainers in `tokctl.training`, by `trainer`, and writers of Hugging
    Face models in `tokctl.formats.huggingface`, by the names in `huggingface`.

    Attributes:
        name: name in recipes and on the command line.
        title: display name in reports.
        default: fields of the default recipe (parts in text form), without `name` and
            `algorithm`.
        default_characters: fields of the default recipe that `--chars` changes; empty for an
            algorithm that always reads characters.
        segmentations: how the algorithm's models can segment a pre-token; see
            `Recipe.segmentation`.
        trainer: key of the trainer in `tokctl.training.training.TRAINERS`.
        options: command-line options of this algorithm that other algorithms may lack.
        token_kinds: origins that tokens can have, in display order; see
            `tokctl.analysis.explain.vocabulary.kind_of`.
        exhausted: why training can end before the vocabulary is full.
        huggingface: for each segmentation, the Hugging Face tokenizers model that gives the same
            ids. A missing segmentation can't be expressed in that library.
        not_in_huggingface: what the Hugging Face model lacks for the missing segmentations.
        marker_kinds: kinds of word markers that the recipes can have.
        learns_merges: training merges pairs of symbols (BPE, WordPiece).
        learns_superwords: training also merges adjacent pre-tokens once each of them is a single
            token. The models have supermerges (`Model.supermerges`), their pre-tokenizers
            must keep the text unchanged, and training reads the texts twice.
        is_plain_bpe: merges by rank, or ranks alone, define the segmentation completely, as in
            merges.txt, in tiktoken's rank files and in SentencePiece's BPE.
        has_scores: each token has a log probability, and training goes in rounds (Unigram). A
            pre-token has many segmentations, and the most probable one is used.
        learns_words: the tokens are the most frequent pre-tokens.
        learns_characters: the tokens are the most frequent characters.
        reads_bytes: the recipes can be byte-level.
        can_fall_back: the recipes can have byte fallback.
        is_nested: on one text, a training for a smaller vocabulary learns a prefix of what a
            training for a larger one learns, so pruning gives the smaller training's result.
        longest_token: the greatest length of a token in characters; None: no limit.
    """

    name: str
    title: str
    default: Mapping[str, Any]
    segmentations: tuple[str, ...]
    trainer: str
    options: tuple[str, ...]
    token_kinds: tuple[str, ...]
    exhausted: str
    huggingface: Mapping[str, str]
    not_in_huggingface: str = ""
    default_characters: Mapping[str, Any] = {}
    marker_kinds: tuple[str, ...] = ("none",)
    learns_merges: bool = False
    learns_superwords: bool = False
    is_plain_bpe: bool = False
    has_scores: bool = False
    learns_words: bool = False
    learns_characters: bool = False
    reads_bytes: bool = False
    can_fall_back: bool = True
    is_nested: bool = False
    longest_token: int | None = None

    def check(self, recipe: Recipe) -> None:
        """Raise TokctlError if a recipe has symbols that the algorithm can't merge or look up."""
        if recipe.byte_fallback and (recipe.is_byte_level or not self.can_fall_back):
            raise BadOption(
                "only models of characters can fall back to bytes, and WordPiece can't",
                "leave byte fallback out, or take another algorithm",
                "conflict",
            )
        if recipe.is_byte_level and not self.reads_bytes:
            raise BadOption(
                f"{self.name} reads characters, not bytes",
                "leave --bytes out; byte fallback gives unigram the bytes of unknown characters",
                "conflict",
            )

    def check_marker(self, kind: str) -> None:
        """Raise TokctlError if the recipes can't have a kind of word marker."""
        if self.marks_continuations != (kind == "continuation"):
            raise BadOption(
                "WordPiece needs a continuation marker, and only WordPiece has one",
                "give wordpiece Marker('continuation', '##'), and others another kind or none",
                "conflict",
            )
        if kind not in self.marker_kinds:
            raise BadOption(
                f"{self.name} has no word marker",
                "leave it out: markers are for bpe and wordpiece",
                "conflict",
            )

    def check_training(self, recipe: Recipe, options: Any) -> None:
        """Raise TokctlError if `options` (`TrainOptions`) do not suit the algorithm."""
        longest, asked = self.longest_token, options.max_token_length
        if longest is not None and asked is not None and asked > longest:
            raise BadOption(
                f"invalid value {asked} for the greatest token length of {self.name}",
                f"its pieces have up to {longest} characters: --max-token-length {longest}",
                "bad-value",
            )
        if options.initial_tokens and recipe.removal:
            raise BadOption(
                f"{self.name} can't have initial tokens: its training may take them away",
                "leave them out, or take --algo bpe or superbpe",
                "conflict",
            )

    @property
    def by_frequency(self) -> bool:
        """Return whether tokens are chosen one by one, by their counts."""
        return self.learns_words or self.learns_characters

    @property
    def marks_continuations(self) -> bool:
        """Return whether tokens inside a word carry a continuation marker (`##ing`)."""
        return "continuation" in self.marker_kinds
