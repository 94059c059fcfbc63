"""Training: count the sources, run the algorithm's trainer, and build the filled recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tokctl import _native
from tokctl.core.errors import BadInput, BadOption, CoreError, TokctlError
from tokctl.core.values import available_threads
from tokctl.model import Model, Recipe, TrainingRecord
from tokctl.model.algorithms import merge_training
from tokctl.model.algorithms.job import TrainingJob
from tokctl.sources import AUTO, Named, ReadOptions, opened
from tokctl.training import initial_tokens, resizing
from tokctl.training.counting import (
    Engine,
    Progress,
    TextStats,
    count,
    count_mapping,
    scale_threshold,
    split_further,
)
from tokctl.training.options import (
    Timing,
    TrainOptions,
    share,
)

#: Threshold of removals if the options give none.
USUAL_THRESHOLD = "0.9"


def train(
    sources: Named | Sequence[Named],
    recipe: Recipe,
    options: TrainOptions,
    progress: Progress | None = None,
    timing: Timing | None = None,
    reading: ReadOptions = AUTO,
    engine: Engine | None = None,
) -> Model:
    """Train on files, folders, archives or tables (`-` is stdin), or on open sources.

    A document is read block by block. With a pattern as pre-tokenizer (`regex:`) it is read as a
    whole, because a pattern can match across any block border.

    Args:
        sources: One or more paths or open sources.
        recipe: The recipe to fill with a vocabulary.
        options: The size of the vocabulary and the other settings.
        progress: Called with the phase, the amount done and the total; see `counting.Progress`.
        timing: Receives the seconds of the phases `count` and `merge`.
        reading: How to read paths whose names and first bytes don't show their format.
        engine: Counts the texts elsewhere; None: this process counts them.

    Raises:
        TokctlError: The sources are unreadable or empty, a text is not UTF-8 though the recipe
            needs characters, the vocabulary is smaller than alphabet plus special tokens, or the
            options don't fit the recipe.
    """
    timing = timing or Timing()
    options.check_against(recipe)
    initial_tokens.pre_tokens(recipe, options)
    if progress is not None and not callable(progress):
        raise BadOption(
            f"invalid value {progress!r} for progress",
            "give a function of the phase, the amount done and the total",
            "bad-value",
        )
    count_sources = engine.count if engine else count
    counts, stats = count_sources(opened(sources, reading), recipe, options, progress)
    timing.lap("count")
    return fill(counts, stats, recipe, options, progress, timing)


def train_on_counts(
    words: Mapping[str, int] | Mapping[bytes, int] | _native.Counts,
    recipe: Recipe,
    options: TrainOptions,
    progress: Progress | None = None,
    timing: Timing | None = None,
    read: TextStats | None = None,
) -> Model:
    """Train on counted pre-tokens, in the order of the mapping.

    Normalizers and pre-tokenizers are not applied to the words.

    Args:
        words: Pre-tokens with their counts.
        recipe: The recipe to fill with a vocabulary.
        options: The size of the vocabulary and the other settings.
        progress: Called with the phase, the amount done and the total; see `counting.Progress`.
        timing: Receives the seconds of the phases `count` and `merge`.
        read: Statistics of the texts for the model's training record; None: statistics of a file
            that holds these counts.
    """
    timing = timing or Timing()
    counts, own_stats = count_mapping(words, recipe, options)
    timing.lap("count")
    return fill(counts, read or own_stats, recipe, options, progress, timing)


def fill(
    counts: _native.Counts,
    stats: TextStats,
    recipe: Recipe,
    options: TrainOptions,
    progress: Progress | None = None,
    timing: Timing | None = None,
) -> Model:
    """Return the recipe filled with the vocabulary that `counts` give.

    Raises:
        TokctlError: There is nothing to train on, the vocabulary is too small, or the options or
            the model to extend don't fit the recipe.
    """
    options.check_against(recipe)
    if options.threshold is not None:
        recipe = recipe.with_threshold()
    if options.extended:
        resizing.check_extension(options.extended, recipe)
    if len(counts) == 0:
        raise BadInput(
            "there is nothing to train on: no pre-token was found",
            "name a text with words, or lower --min-count",
        )
    job = _job(counts, stats, recipe, options, progress)
    try:
        trained = recipe.traits.train(job)
    except CoreError as error:
        raise with_hint(error, recipe, options) from None
    if timing:
        timing.lap("merge")
    old = options.extended
    if old:
        new_tokens = [token.encode() for token in job.new_special_tokens]
        trained.tokens += new_tokens
        trained.counts += [0] * len(new_tokens) if trained.counts else []
    record = record_of(
        stats,
        options,
        pre_tokens=counts.total(),
        distinct_pre_tokens=len(counts),
        alphabet_size=trained.alphabet,
        exhausted=trained.exhausted,
        threshold=_threshold(recipe, options),
        extended=len(old.tokens) if old else 0,
        stage_ends=trained.ends,
        initial_merges=trained.initial_merges,
    )
    if trained.core is not None:
        model = Model.of_core(
            recipe,
            trained.core,
            record,
            events=trained.events,
            supermerges=trained.supermerges,
        )
    else:
        model = Model(
            recipe,
            trained.tokens,
            trained.merges,
            record,
            counts=trained.counts,
            scores=trained.scores,
            rounds=trained.rounds,
            added_tokens=resizing.added_tokens(old, recipe, trained.tokens),
            parity=old.parity if old else None,
        )
    initial_tokens.check(model)
    return model


def record_of(stats: TextStats, options: TrainOptions, **measured: Any) -> TrainingRecord:
    """Return the training record of texts and options; `measured` has the record's other fields."""
    return TrainingRecord(
        documents=stats.documents,
        bytes=stats.bytes,
        sha256=stats.digest,
        weights=tuple(map(str, stats.weights)),
        count_scale=stats.scale,
        **options.recorded(),
        **measured,
    )


def changed_options(trained: Model, recipe: Recipe, options: TrainOptions) -> dict[str, Any]:
    """Compare the options of a trained model with the options of a new training.

    The texts are not compared, nor options that don't change the result, such as the number of
    threads.

    Returns:
        The value before and the value now of each option that differs, by the names of the fields
        of `TrainingRecord` and `Recipe`.
    """
    record = trained.training
    if record is None:
        return {"training": (None, "a training")}
    requested = options.recorded() | {
        "threshold": _threshold(recipe, options),
        "extended": len(options.extended.tokens) if options.extended else 0,
    }
    pairs = {name: (getattr(record, name), value) for name, value in requested.items()}
    old, new = trained.recipe.to_dict(), recipe.to_dict()
    pairs |= {name: (old.get(name), value) for name, value in new.items() if name != "name"}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _threshold(recipe: Recipe, options: TrainOptions) -> str | None:
    """Return the threshold of removals, or None if the recipe does not use one."""
    if not recipe.has_threshold:
        return None
    return USUAL_THRESHOLD if options.threshold is None else str(options.threshold)


def core_settings(
    recipe: Recipe, options: TrainOptions, vocab_size: int, special_tokens: list[bytes]
) -> dict[str, Any]:
    """Return the settings that all trainings by merges pass to the core, for unweighted counts."""
    return merge_training.core_settings(
        recipe, _core_options(options, 1), vocab_size, special_tokens
    )


def _core_options(options: TrainOptions, scale: int) -> dict[str, Any]:
    """Return the options in the core's form, with counts in a scale; see `TrainingJob`."""
    return {
        "min_frequency": scale_threshold(options.min_frequency, scale),
        "max_token_length": options.max_token_length,
        "whole_characters": options.whole_characters,
        "limits": (
            share("coverage", options.coverage),
            options.alphabet_limit,
            options.initial_alphabet,
        ),
    }


def _job(
    counts: _native.Counts,
    stats: TextStats,
    recipe: Recipe,
    options: TrainOptions,
    progress: Progress | None,
) -> TrainingJob:
    """Return the training that the recipe's algorithm is to do."""
    extended = options.extended
    new = resizing.new_special_tokens(extended, recipe) if extended else ()
    return TrainingJob(
        counts,
        recipe,
        extended,
        vocab_size=max(0, options.vocab_size - len(new)),
        new_special_tokens=new,
        initial_tokens=initial_tokens.pre_tokens(recipe, options),
        settings=_core_options(options, stats.scale),
        threads=options.threads or available_threads(),
        threshold=share("threshold", _threshold(recipe, options)),
        report=(lambda size: progress("merge", size, options.vocab_size)) if progress else None,
        split=lambda parts: split_further(counts, parts, options, stats.scale),
        count_runs=stats.count_runs,
    )


def with_hint(error: CoreError, recipe: Recipe, options: TrainOptions) -> TokctlError:
    """Return the core's error as a TokctlError with a hint."""
    message = error.message
    if error.kind == "vocabulary-too-small":
        min_size = error.details[1]
        if options.initial_tokens:
            message = message.replace("alphabet and", "alphabet, the initial tokens and")
        if options.extended:
            min_size += len(resizing.new_special_tokens(options.extended, recipe))
            message = (
                f"a vocabulary of {options.vocab_size} is too small: the model to extend, the "
                f"new characters and the new special tokens need {min_size}"
            )
        return BadOption(message, f"ask for {min_size} or more: --vocab {min_size}", "bad-value")
    if "initial token" in message:
        hint = "a special token is spelled like a part of it: leave one of the two out"
        return BadOption(message, hint, "conflict")
    if "special token" in message:
        return BadOption(message, "choose another special token", "conflict")
    return error.reworded(hint="check that the options suit the text")
