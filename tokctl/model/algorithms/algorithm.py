"""What the rest of tokctl has to know about an algorithm, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Algorithm(NamedTuple):
    """An algorithm: what its recipes can say, and how it is trained, explained and written.

    Code outside of `tokctl.model.algorithms` never compares an algorithm's name: it asks one of
    these questions (`recipe.traits.learns_merges`). What needs the code of another room stands
    there, in one table: the trainers in `tokctl.training`, by `trainer`; the writers of Hugging
    Face's models in `tokctl.formats.huggingface`, by the names in `huggingface`.

    Attributes:
        name: as recipes and the command line spell it.
        title: what people call it in a report.
        default: the fields of its default recipe (parts in their text form), but `name` and
            `algorithm`.
        default_characters: the fields that `--chars` changes in it; empty for an algorithm that
            reads characters anyway.
        segmentations: how its models can segment a pre-token; see `Recipe.segmentation`.
        trainer: the key of its trainer in `tokctl.training.training.TRAINERS`.
        options: the command line's options that not every algorithm has, and this one has.
        token_kinds: the origins that its tokens have, in the order in which they are listed; see
            `tokctl.analysis.explain.vocabulary.kind_of`.
        exhausted: why a training ends before the vocabulary is full.
        huggingface: the model of Hugging Face tokenizers that segments alike, by segmentation;
            one that is missing can't be expressed there.
        not_in_huggingface: what that model of theirs does not do, for a segmentation that is
            missing.
        marker_kinds: the kinds of word markers that its recipes can have.
        learns_merges: training merges pairs of symbols (BPE, WordPiece).
        learns_superwords: training merges neighbouring pre-tokens, too, each of which is one token
            by then. Its models have supermerges (`FilledRecipe.supermerges`), their text must not
            be changed by splitting it, and training reads the texts twice.
        is_plain_bpe: merges by rank, or ranks, say all about its segmentation, as files of merges
            (merges.txt), of ranks (tiktoken) and SentencePiece's BPE have it.
        has_scores: each token has a log probability, and training goes in rounds (Unigram). A
            pre-token then has many segmentations, of which the best is taken.
        learns_words: the tokens are whole pre-tokens, the most frequent ones.
        learns_characters: the tokens are characters, the most frequent ones.
        reads_bytes: its recipes can be byte-level.
        can_fall_back: its recipes can have byte fallback.
        is_nested: of two trainings on the same text, what the smaller one learns is the start of
            what the larger one does, so that pruning gives what training would.
        longest_token: the most characters that a token can have; None: no limit.
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

    @property
    def by_frequency(self) -> bool:
        """Are the tokens chosen by how often they were counted, one by one?"""
        return self.learns_words or self.learns_characters

    @property
    def marks_continuations(self) -> bool:
        """Do its tokens show that they go on with a word (`##ing`)?"""
        return "continuation" in self.marker_kinds
