"""The trainings that merge pairs: stage by stage, with removals, and with superwords.

Imported when a training starts, because encoding needs none of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tokctl import _native
from tokctl.core.errors import BadOption, CoreError
from tokctl.model import encoders
from tokctl.model.algorithms.job import Trained, TrainingJob
from tokctl.model.byte_level import IN_ID_ORDER
from tokctl.model.events import Merge, MergeLog, Removal
from tokctl.model.filled import Model, merges_of
from tokctl.model.recipe import Recipe, TrainingStage


def train_in_stages(job: TrainingJob) -> Trained:
    """Train BPE or WordPiece, stage by stage; each stage extends the model of the stage before."""
    *earlier, last = job.recipe.stages or (TrainingStage(),)
    full_size = job.vocab_size + len(job.new_special_tokens)
    model = job.extended
    ends: list[int] = []
    initial_merges = 0
    for stage in earlier:
        size = min(stage.size(full_size), job.vocab_size)
        # A model to extend may already have more ids than this stage.
        if model is None or size > len(model.tokens):
            stage_job = replace(job, counts=job.split(stage.pre_tokenizers))
            try:
                stage_result = _train_stage(stage_job, stage, size, model)
            except CoreError as error:
                if error.kind != "vocabulary-too-small":
                    raise
                min_size = error.details[1]
                if not stage.is_share and min_size <= job.vocab_size:
                    raise BadOption(
                        f"a stage can't end at {size} ids: the alphabet and the special tokens "
                        f"have "
                        f"{min_size}",
                        "let the stage end later: --transition 90%",
                        "bad-value",
                    ) from None
                # The share gives fewer ids than the alphabet needs, so the stage ends before its
                # first merge.
                stage_result = _train_stage(stage_job, stage, min_size, model)
            model = _after_stage(job, stage_result)
            initial_merges = initial_merges or stage_result.initial_merges
        ends.append(len(model.tokens))
    trained = _train_stage(job, last, job.vocab_size, model)
    return replace(
        trained, ends=tuple(ends), initial_merges=trained.initial_merges or initial_merges
    )


def train_superwords(job: TrainingJob) -> Trained:
    """Train BoundlessBPE: BPE, with or without removals, then supermerges over runs of pre-tokens.

    The supermerges need a second pass over the texts.
    """
    recipe = job.recipe
    if job.count_runs is None:
        raise BadOption(
            "superwords need texts: counts of words don't say which words are adjacent",
            "train on the texts that were counted",
            "conflict",
        )
    base_training = _native_stage(job, TrainingStage(), job.vocab_size, None)
    special = recipe.first_tokens
    words = _native.RunWords(base_training, len(special))
    trained, rows = _native.train_superwords(
        base_training,
        words,
        job.counts,
        job.count_runs(words),
        ties=recipe.tie_break,
        vocab_size=job.vocab_size,
        special_tokens=special,
        reserved=recipe.spelled_like_special,
        min_frequency=job.settings["min_frequency"],
        max_token_length=job.settings["max_token_length"],
        progress=job.report,
    )
    return Trained(
        [],
        trained.alphabet_end - len(special),
        trained.exhausted,
        core=trained.model,
        events=_merge_log(trained),
        supermerges=list(map(Merge._make, rows)),
    )


def core_settings(
    recipe: Recipe, settings: dict[str, Any], vocab_size: int, special_tokens: list[bytes]
) -> dict[str, Any]:
    """Return the settings that all trainings by merges pass to the core.

    Args:
        recipe: the recipe to train.
        settings: see `TrainingJob.settings`.
        vocab_size: number of ids at which the training ends.
        special_tokens: tokens with the lowest ids.
    """
    return {
        "ties": recipe.tie_break,
        "units": recipe.units,
        "marker": recipe.marker,
        "vocab_size": vocab_size,
        "special_tokens": special_tokens,
        "reserved": recipe.spelled_like_special,
        "initial_alphabet": IN_ID_ORDER if recipe.is_byte_level else [],
        "bare_characters": recipe.has_bare_characters,
        **settings,
    }


def _train_stage(
    job: TrainingJob, stage: TrainingStage, vocab_size: int, old: Model | None
) -> Trained:
    """Train one stage: merge until the vocabulary has `vocab_size` ids."""
    trained = _native_stage(job, stage, vocab_size, old)
    core, exhausted, initial_merges = trained.model, trained.exhausted, trained.initial_merges
    if old is None:
        alphabet = trained.alphabet_end - len(job.recipe.first_tokens)
        events = _merge_log(trained)
        return Trained(
            [], alphabet, exhausted, core=core, initial_merges=initial_merges, events=events
        )
    alphabet = trained.alphabet_end - len(old.tokens) + _alphabet_size(old)
    merges = [*old.merges, *merges_of(core)]
    initial_merges += len(old.merges) if initial_merges else 0
    return Trained(core.tokens(), alphabet, exhausted, merges=merges, initial_merges=initial_merges)


def _native_stage(
    job: TrainingJob, stage: TrainingStage, vocab_size: int, old: Model | None
) -> _native.Training:
    """Train one stage like `_train_stage`, and return the core's own result."""
    recipe = job.recipe
    special = recipe.first_tokens
    if old:
        special += [old.tokens[id_] for id_ in sorted(old.reserved_ids)]
    return _native.train(
        job.counts,
        **core_settings(recipe, job.settings, vocab_size, special),
        criterion=recipe.score,
        max_words=stage.max_words,
        forbidden=[text.encode() for text in stage.forbidden],
        # Later stages extend a model that has the initial tokens already.
        initial_tokens=job.initial_tokens if old is job.extended else [],
        extend=(old.tokens, [merge[:3] for merge in old.merges]) if old else None,
        start=_start_encoder(recipe, old) if old else None,
        threads=job.threads,
        removal=(recipe.removal, job.threshold) if recipe.removal else None,
        progress=job.report,
    )


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


def _after_stage(job: TrainingJob, trained: Trained) -> Model:
    """Return the model at the end of a stage, without new special tokens: they get the last ids."""
    new = job.new_special_tokens
    special_tokens = tuple(token for token in job.recipe.special_tokens if token not in new)
    recipe = replace(job.recipe, special_tokens=special_tokens)
    if trained.core is not None:
        return Model.of_core(recipe, trained.core)
    added = job.extended.added_tokens if job.extended else None
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


def _alphabet_size(old: Model) -> int:
    """Return the number of alphabet tokens in a model that is extended."""
    if old.training:
        return old.training.alphabet_size
    not_alphabet = {merge.token for merge in old.merges} | old.reserved_ids
    return sum(
        id_ not in not_alphabet and not old.recipe.is_byte_token(token)
        for id_, token in enumerate(old.tokens)
    )
