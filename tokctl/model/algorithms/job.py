"""The input and the result of a training: the same two types for every algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokctl.model.events import Merge, MergeLog

if TYPE_CHECKING:
    from tokctl import _native
    from tokctl.model.filled import Model, Round
    from tokctl.model.parts import Part
    from tokctl.model.recipe import Recipe


@dataclass(eq=False, repr=False)
class TrainingJob:
    """Everything that an algorithm trains on: counts, recipe, and options in the core's form.

    Attributes:
        counts: counts of the pre-tokens.
        recipe: the recipe to train.
        extended: the model to continue from; None: a new training.
        vocab_size: number of ids to train, without `new_special_tokens`.
        new_special_tokens: special tokens that `extended` lacks. They get the last ids, after the
            training.
        initial_tokens: pre-tokens that must each become one token.
        settings: `min_frequency` (in the scale of the counts), `max_token_length`,
            `whole_characters`, and `limits` of the alphabet.
        threads: number of threads.
        threshold: threshold of removals, as numerator and denominator; None without removals.
        report: called with the number of ids so far.
        split: splits the counted pre-tokens with further pre-tokenizers.
        count_runs: counts runs of pre-tokens in a second pass over the texts; None: there are only
            counts.
    """

    counts: _native.Counts
    recipe: Recipe
    extended: Model | None
    vocab_size: int
    new_special_tokens: tuple[str, ...]
    initial_tokens: list[bytes]
    settings: dict[str, Any]
    threads: int
    threshold: tuple[int, int] | None
    report: Callable[[int], None] | None
    split: Callable[[Sequence[Part]], _native.Counts]
    count_runs: Callable[[_native.RunWords], _native.Counts] | None


@dataclass(eq=False, repr=False)
class Trained:
    """Result of a training, before the new special tokens of an extended model.

    Attributes:
        tokens, merges: empty if `core` holds them.
        alphabet: number of initial symbols that have an id.
        exhausted: whether the training ended before the vocabulary had the size asked for.
        core: tokens and merges in the core's own form, if they were not turned into lists.
        counts, scores, rounds, events, supermerges: see `Model`.
        ends, initial_merges: see `stage_ends` and `initial_merges` of `TrainingRecord`.
    """

    tokens: list[bytes]
    alphabet: int
    exhausted: bool
    core: _native.StoredModel | None = None
    merges: list[Merge] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    ends: tuple[int, ...] = ()
    initial_merges: int = 0
    events: MergeLog | None = None
    supermerges: list[Merge] = field(default_factory=list)
