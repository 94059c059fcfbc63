"""Training: count the sources, run the algorithm's trainer, and build the filled recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tokctl import _native
from tokctl.core.errors import BadInput, BadOption, CoreError, TokctlError
from tokctl.core.values import available_threads
from tokctl.model import (
    Merge,
    MergeLog,
    Model,
    Recipe,
    Removal,
    Round,
    TrainingRecord,
    TrainingStage,
    encoders,
)
from tokctl.model.byte_level import BYTE_TOKENS, BYTES, IN_ID_ORDER, unspell
from tokctl.model.filled import merges_of
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

#: Most seed pieces of a Unigram training, and the most characters in a piece: both as in
#: SentencePiece.
SEEDS = 1_000_000
USUAL_LONGEST_PIECE = 16
#: Threshold of removals if the options give none.
USUAL_THRESHOLD = "0.9"


@dataclass(eq=False, repr=False)
class _Trained:
    """Result of a trainer.

    Attributes:
        tokens: The tokens by id; empty if `core` holds them.
        alphabet: Number of initial symbols that have an id.
        exhausted: Whether the training ended before the vocabulary had the size asked for.
        core: Tokens and merges in the core's own form, if they were not turned into lists.
        merges: The merges by rank; empty if `core` holds them.
        counts: The count of each token, for word and character models.
        scores: The score of each token, for Unigram models.
        rounds: The rounds of a Unigram training.
        ends: The number of ids at the end of each stage but the last.
        initial_merges: See `TrainingRecord`.
        events: The log of merges and removals, if the training removes tokens.
        supermerges: The supermerges of a superword model.
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
    report = (lambda size: progress("merge", size, options.vocab_size)) if progress else None
    trainer = TRAINERS[recipe.traits.trainer]
    try:
        trained = trainer(counts, stats, recipe, options, report)
    except CoreError as error:
        raise with_hint(error, recipe, options) from None
    if timing:
        timing.lap("merge")
    old = options.extended
    if old:
        new_tokens = [token.encode() for token in resizing.new_special_tokens(old, recipe)]
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


def limits(options: TrainOptions) -> _native._Limits:
    """Return the limits of the alphabet in the form that the core takes."""
    return share("coverage", options.coverage), options.alphabet_limit, options.initial_alphabet


def _threshold(recipe: Recipe, options: TrainOptions) -> str | None:
    """Return the threshold of removals, or None if the recipe does not use one."""
    if not recipe.has_threshold:
        return None
    return USUAL_THRESHOLD if options.threshold is None else str(options.threshold)


def _merge_vocab_size(recipe: Recipe, options: TrainOptions) -> int:
    """Return the vocabulary size without the special tokens that the model to extend lacks.

    These special tokens get the last ids.
    """
    new = resizing.new_special_tokens(options.extended, recipe) if options.extended else ()
    return max(0, options.vocab_size - len(new))


def _train_merges(
    counts: _native.Counts,
    stats: TextStats,
    recipe: Recipe,
    options: TrainOptions,
    report: Callable[[int], None] | None,
) -> _Trained:
    """Train BPE or WordPiece, stage by stage; each stage extends the model of the stage before."""
    *earlier, last = recipe.stages or (TrainingStage(),)
    model = options.extended
    ends: list[int] = []
    initial_merges = 0
    for stage in earlier:
        size = min(stage.size(options.vocab_size), _merge_vocab_size(recipe, options))
        # A model to extend may already have more ids than this stage.
        if model is None or size > len(model.tokens):
            further_split = split_further(counts, stage.pre_tokenizers, options, stats.scale)
            try:
                stage_result = _train_stage(
                    further_split, stats, recipe, options, report, stage, size, model
                )
            except CoreError as error:
                if error.kind != "vocabulary-too-small":
                    raise
                min_size = error.details[1]
                if not stage.is_share and min_size <= _merge_vocab_size(recipe, options):
                    raise BadOption(
                        f"a stage can't end at {size} ids: the alphabet and the special tokens "
                        f"have "
                        f"{min_size}",
                        "let the stage end later: --transition 90%",
                        "bad-value",
                    ) from None
                # The share gives fewer ids than the alphabet needs, so the stage ends before its
                # first merge.
                stage_result = _train_stage(
                    further_split, stats, recipe, options, report, stage, min_size, model
                )
            model = _after_stage(recipe, options, stage_result)
            initial_merges = initial_merges or stage_result.initial_merges
        ends.append(len(model.tokens))
    trained = _train_stage(
        counts, stats, recipe, options, report, last, _merge_vocab_size(recipe, options), model
    )
    return replace(
        trained, ends=tuple(ends), initial_merges=trained.initial_merges or initial_merges
    )


def _train_stage(
    counts: _native.Counts,
    stats: TextStats,
    recipe: Recipe,
    options: TrainOptions,
    report: Callable[[int], None] | None,
    stage: TrainingStage,
    vocab_size: int,
    old: Model | None,
) -> _Trained:
    """Train one stage: merge until the vocabulary has `vocab_size` ids."""
    trained = _native_stage(counts, stats, recipe, options, report, stage, vocab_size, old)
    core, exhausted, initial_merges = trained.model, trained.exhausted, trained.initial_merges
    if old is None:
        alphabet = trained.alphabet_end - len(first_tokens(recipe))
        events = _merge_log(trained)
        return _Trained(
            [], alphabet, exhausted, core=core, initial_merges=initial_merges, events=events
        )
    alphabet = trained.alphabet_end - len(old.tokens) + _alphabet_size(old)
    merges = [*old.merges, *merges_of(core)]
    initial_merges += len(old.merges) if initial_merges else 0
    return _Trained(
        core.tokens(), alphabet, exhausted, merges=merges, initial_merges=initial_merges
    )


def _native_stage(
    counts: _native.Counts,
    stats: TextStats,
    recipe: Recipe,
    options: TrainOptions,
    report: Callable[[int], None] | None,
    stage: TrainingStage,
    vocab_size: int,
    old: Model | None,
) -> _native.Training:
    """Train one stage like `_train_stage`, and return the core's own result."""
    special = first_tokens(recipe)
    if old:
        special += [old.tokens[id_] for id_ in sorted(old.reserved_ids)]
    threads = options.threads or available_threads()
    return _native.train(
        counts,
        **core_settings(recipe, options, vocab_size, special, stats.scale),
        criterion=recipe.score,
        max_words=stage.max_words,
        forbidden=[text.encode() for text in stage.forbidden],
        # Later stages extend a model that has the initial tokens already.
        initial_tokens=initial_tokens.pre_tokens(recipe, options)
        if old is options.extended
        else [],
        extend=(old.tokens, [merge[:3] for merge in old.merges]) if old else None,
        start=_start_encoder(recipe, old) if old else None,
        threads=threads,
        removal=(
            (recipe.removal, share("threshold", _threshold(recipe, options)))
            if recipe.removal
            else None
        ),
        progress=report,
    )


def core_settings(
    recipe: Recipe,
    options: TrainOptions,
    vocab_size: int,
    special_tokens: list[bytes],
    scale: int = 1,
) -> dict[str, Any]:
    """Return the settings that all trainings by merges pass to the core.

    Args:
        recipe: The recipe to train.
        options: The options of the training.
        vocab_size: The number of ids at which the training ends.
        special_tokens: The tokens with the lowest ids.
        scale: The factor of the counts, see `TextStats`.
    """
    return {
        "ties": recipe.tie_break,
        "units": recipe.units,
        "marker": recipe.marker,
        "vocab_size": vocab_size,
        "special_tokens": special_tokens,
        "reserved": reserved(recipe),
        "initial_alphabet": IN_ID_ORDER if recipe.is_byte_level else [],
        "bare_characters": recipe.has_bare_characters,
        "min_frequency": scale_threshold(options.min_frequency, scale),
        "max_token_length": options.max_token_length,
        "whole_characters": options.whole_characters,
        "limits": limits(options),
    }


def _start_encoder(recipe: Recipe, old: Model) -> _native.Encoder | None:
    """Return an encoder that gives the tokens which the old merges make of a pre-token.

    None if the core must replay the merges itself, because the order of the words in its scan
    matters.
    """
    if not recipe.is_byte_level or recipe.tie_break == "rewritten-last":
        return None
    # If two merges make the same token, a pair can remain whose rank has passed already, and only a
    # replay finds it.
    has_unique_tokens = len({merge.token for merge in old.merges}) == len(old.merges)
    return (encoders.pre_token_encoder if has_unique_tokens else encoders.replay_encoder)(old)


def _after_stage(recipe: Recipe, options: TrainOptions, trained: _Trained) -> Model:
    """Return the model at the end of a stage, without new special tokens: they get the last ids."""
    new = resizing.new_special_tokens(options.extended, recipe) if options.extended else ()
    special_tokens = tuple(token for token in recipe.special_tokens if token not in new)
    recipe = replace(recipe, special_tokens=special_tokens)
    if trained.core is not None:
        return Model.of_core(recipe, trained.core)
    added = options.extended.added_tokens if options.extended else None
    return Model(recipe, trained.tokens, trained.merges, added_tokens=added)


def _merge_log(trained: _native.Training) -> MergeLog | None:
    """Return the log of merges and removals, or None if the training removes no tokens."""
    if trained.events is None:
        return None
    removed, merges, removals = trained.events
    return MergeLog(
        tuple(removed),
        [Merge(*row) for row in merges],
        [Removal(*row) for row in removals],
    )


def _train_superwords(
    counts: _native.Counts,
    stats: TextStats,
    recipe: Recipe,
    options: TrainOptions,
    report: Callable[[int], None] | None,
) -> _Trained:
    """Train BoundlessBPE: BPE, with or without removals, then supermerges over runs of pre-tokens.

    The supermerges need a second pass over the texts.
    """
    if stats.count_runs is None:
        raise BadOption(
            "superwords need texts: counts of words don't say which words are adjacent",
            "train on the texts that were counted",
            "conflict",
        )
    base_training = _native_stage(
        counts, stats, recipe, options, report, TrainingStage(), options.vocab_size, None
    )
    special = first_tokens(recipe)
    words = _native.RunWords(base_training, len(special))
    trained, rows = _native.train_superwords(
        base_training,
        words,
        counts,
        stats.count_runs(words),
        ties=recipe.tie_break,
        vocab_size=options.vocab_size,
        special_tokens=special,
        reserved=reserved(recipe),
        min_frequency=scale_threshold(options.min_frequency, stats.scale),
        max_token_length=options.max_token_length,
        progress=report,
    )
    return _Trained(
        [],
        trained.alphabet_end - len(special),
        trained.exhausted,
        core=trained.model,
        events=_merge_log(trained),
        supermerges=list(map(Merge._make, rows)),
    )


def _alphabet_size(old: Model) -> int:
    """Return the number of alphabet tokens in a model that is extended."""
    if old.training:
        return old.training.alphabet_size
    not_alphabet = {merge.token for merge in old.merges} | old.reserved_ids
    return sum(
        id_ not in not_alphabet and not old.recipe.is_byte_token(token)
        for id_, token in enumerate(old.tokens)
    )


def _train_by_frequency(
    counts: _native.Counts,
    stats: TextStats,
    recipe: Recipe,
    options: TrainOptions,
    _report: Callable[[int], None] | None,
) -> _Trained:
    """Train a word or character model: its tokens are the most frequent words or characters."""
    old = options.extended
    has_words = recipe.looks_up_pre_tokens
    special = first_tokens(recipe)
    first_ids = old.tokens if old else special
    tokens, counts_by_token, exhausted = _native.train_by_frequency(
        counts,
        kind="words" if has_words else "characters",
        vocab_size=_merge_vocab_size(recipe, options),
        first=first_ids,
        reserved=special,
        initial_tokens=initial_tokens.pre_tokens(recipe, options) if has_words else [],
        min_frequency=scale_threshold(options.min_frequency, stats.scale),
        max_token_length=options.max_token_length,
        limits=limits(options),
    )
    if old and old.counts:
        counts_by_token = [*old.counts, *counts_by_token[len(old.tokens) :]]
    elif old:
        counts_by_token = []
    alphabet = 0 if has_words else len(tokens) - len(old.reserved_ids if old else special)
    return _Trained(tokens, alphabet, exhausted, counts=counts_by_token)


def _train_unigram(
    counts: _native.Counts,
    _stats: TextStats,
    recipe: Recipe,
    options: TrainOptions,
    report: Callable[[int], None] | None,
) -> _Trained:
    """Train Unigram. Special tokens have the lowest ids, then byte tokens, then pieces by score."""
    initial = [token.decode() for token in initial_tokens.pre_tokens(recipe, options)]
    # The limits of the alphabet must not drop characters of initial tokens.
    options = replace(options, initial_alphabet=options.initial_alphabet + "".join(initial))
    special = [token.encode() for token in recipe.special_tokens]
    has_limits = options.coverage is not None or options.alphabet_limit is not None
    alphabet = _native.alphabet_of(counts, limits=limits(options)) if has_limits else None
    result = _native.train_unigram(
        counts,
        vocab_size=options.vocab_size,
        special_tokens=special,
        byte_fallback=recipe.byte_fallback,
        seed_size=SEEDS,
        shrinking_factor=0.75,
        sub_iterations=2,
        max_piece_length=options.max_token_length or USUAL_LONGEST_PIECE,
        alphabet=None if alphabet is None else list(alphabet),
        required=list(dict.fromkeys(options.initial_alphabet)),
        initial_tokens=[text for text in initial if len(text) > 1],
        threads=options.threads or available_threads(),
        progress=report,
    )
    first_ids = first_tokens(recipe)
    return _Trained(
        tokens=first_ids + [text for text, _ in result.pieces],
        alphabet=result.alphabet_size,
        exhausted=result.exhausted,
        scores=[0.0] * len(first_ids) + [score for _, score in result.pieces],
        rounds=[_round_of_row(row) for row in result.rounds],
    )


def _round_of_row(row: _native._RoundRow) -> Round:
    """Return one row of the core's history as a `Round`, with its example pieces as text."""
    pieces, objective, tokens, unused, dropped, examples = row
    texts = tuple((text.decode(), loss) for text, loss in examples)
    return Round(pieces, objective, tokens, unused, dropped, texts)


#: Trainers, by the name in the `trainer` trait of an algorithm.
TRAINERS = {
    "merges": _train_merges,
    "superwords": _train_superwords,
    "unigram": _train_unigram,
    "frequency": _train_by_frequency,
}


def first_tokens(recipe: Recipe) -> list[bytes]:
    """Return the tokens with the lowest ids: special tokens, then the byte tokens, if any."""
    special = [token.encode() for token in recipe.special_tokens]
    return [*special, *BYTE_TOKENS] if recipe.byte_fallback else special


def reserved(recipe: Recipe) -> list[bytes]:
    """Return the byte strings that a model file would spell like a special token.

    In a byte-level model with the special token `Ġt`, for example, a space and a `t` are spelled
    like it.
    """
    if not recipe.is_byte_level:
        return []
    return [unspell(token) for token in recipe.special_tokens if set(token) <= BYTES.keys()]


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
