"""Output of `train`: steps, summary, facts as JSON, cluster plans and the list of presets."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from tokctl.cli.numbers import spoken
from tokctl.cli.streams import text_or_bytes
from tokctl.cli.world import Console
from tokctl.core.humanize import plural

if TYPE_CHECKING:
    from tokctl._native import Counts
    from tokctl.extras.ray.plan import Costs, Plan
    from tokctl.report.training import TrainingStep
    from tokctl.tokenizer import Tokenizer
    from tokctl.training import Timing
    from tokctl.training.parity import CountedLanguages


def report(
    world: Console,
    tokenizer: Tokenizer,
    timing: Timing,
    counts: Counts | CountedLanguages | None,
    steps: int,
    *,
    replaced: str | None = None,
) -> None:
    """Print the requested steps and the summary on stderr.

    Args:
        world: the streams and settings.
        tokenizer: the trained model.
        timing: the seconds of each phase.
        counts: the counted pre-tokens; None: no steps are requested.
        steps: the number of steps or EM rounds to show.
        replaced: the path of the file that the new model replaced; None: no file.
    """
    if world.quiet and counts is None:
        return
    from tokctl.report import training
    from tokctl.report.terminal import console

    terminal = world.stderr_is_terminal
    to = console(world.stderr, color=world.wants_color(terminal), is_terminal=terminal)
    if counts is not None and tokenizer.recipe.maximizes_probability:
        training.show_rounds(to, tokenizer.model.rounds[:steps])
    elif counts is not None:
        shown = training_steps(tokenizer, counts.items(), steps)
        training.show_steps(to, shown, tokenizer.recipe.score)
    if not world.quiet:
        training.show_training(
            to,
            tokenizer.model,
            tokenizer.tokens,
            timing.seconds,
            verbose=world.verbose,
            replaced=replaced,
        )


def plan(world: Console, costs: Costs, planned: Plan, *, json: bool) -> None:
    """Write what the work on a cluster will take, as text or as JSON.

    Args:
        world: the streams.
        costs: the costs measured on a sample.
        planned: the forecast for all texts.
        json: write JSON.
    """
    if json:
        from tokctl.core import orjson

        found = {"sample": asdict(costs), **asdict(planned)}
        world.stdout.write(orjson.dumps(found, option=orjson.OPT_APPEND_NEWLINE))
        return
    seconds = {step: f"{step} {time:.1f}" for step, time in planned.seconds.items()}
    shared = ", ".join(seconds[step] for step in ("count", "digest", "merge"))
    alone = ", ".join(seconds[step] for step in ("collect", "train"))
    law = f"{costs.k:.3g} x bytes^{costs.beta:.2f}"
    rows = {
        "text": spoken(round(planned.bytes)),
        "tasks": f"{planned.tasks:,} on {plural(planned.workers, 'worker')}",
        "pre-tokens": f"{round(planned.distinct):,} distinct: {law}",
        "memory": f"{spoken(round(planned.worker_memory))} for each worker, "
        f"{spoken(round(planned.final_memory))} of counts here",
        "shuffled": f"{spoken(round(planned.shuffled))} of counts from task to task, in the end in "
        f"{plural(planned.partitions, 'partition')}",
        "seconds": f"{shared}; here: {alone}",
    }
    for name, value in rows.items():
        world.stdout.write(f"{name:12}{value}\n".encode())


def facts(tokenizer: Tokenizer, path: str, timing: Timing, *, replaced: bool) -> dict[str, Any]:
    """Return the facts that `--json` writes; a Unigram training adds its EM rounds.

    Args:
        tokenizer: the trained model.
        path: the path of the model file.
        timing: the seconds of each phase.
        replaced: whether a file was replaced.
    """
    from tokctl.analysis.explain.history import step_count

    record = tokenizer.model.training
    found: dict[str, Any] = {
        "path": text_or_bytes(os.fsencode(path)),
        "replaced": replaced,
        "recipe": tokenizer.recipe.to_dict(),
        "vocab_size": tokenizer.vocab_size,
        "merges": step_count(tokenizer) - len(tokenizer.model.supermerges),
        "training": asdict(record) if record else None,
        "seconds": timing.seconds,
    }
    if tokenizer.model.parity:
        from tokctl.analysis.explain.languages import language_shares
        from tokctl.report.inspect.training import languages_data

        found["languages"] = languages_data(language_shares(tokenizer.model.parity))
    if tokenizer.model.supermerges:
        found["supermerges"] = len(tokenizer.model.supermerges)
    if tokenizer.model.rounds:
        rounds = [one._asdict() for one in tokenizer.model.rounds]
        found["rounds"] = [{k: v for k, v in one.items() if k != "examples"} for one in rounds]
    return found


def list_presets(world: Console, *, json: bool) -> None:
    """Write the presets: one line each with name and description, or JSON with the recipes."""
    from tokctl.model.presets import PRESETS

    if json:
        from tokctl.core import orjson

        presets = [
            {"name": name, "description": text, "recipe": recipe.to_dict()}
            for name, (text, recipe) in PRESETS.items()
        ]
        world.stdout.write(orjson.dumps(presets, option=orjson.OPT_APPEND_NEWLINE))
        return
    width = max(map(len, PRESETS)) + 2
    for name, (text, _) in PRESETS.items():
        line = f"{name:<{width}}{text}"
        if world.stdout_is_terminal:
            columns = shutil.get_terminal_size().columns
            line = textwrap.fill(line, max(columns, width + 20), subsequent_indent=" " * width)
        world.stdout.write(f"{line}\n".encode())


#: Pre-tokens that are shown of one corpus state, at most.
_WORDS = 20


def training_steps(
    tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]], steps: int
) -> Iterator[TrainingStep]:
    """Yield the corpus state before the first merge, and after each of the first `steps` merges.

    For a small corpus, a state has every pre-token, in the order in which the tie rule scans them.
    For a large one, it has the pre-tokens that the step changed.

    Args:
        tokenizer: the trained model.
        counts: the pre-tokens with their counts, in first-seen order.
        steps: the number of merges to show.
    """
    from tokctl.report.training import StepWord, TrainingStep
    from tokctl.tokenizer import Tokenizer

    steps = min(steps, len(tokenizer.merges))
    # Replay the merges in the order learned, even if the model segments in another way.
    recipe = replace(tokenizer.recipe, segmentation="replay", max_input_chars=None)
    replay = Tokenizer(replace(tokenizer.model, recipe=recipe)).encoder.replay
    names = tokenizer.tokens
    parity = tokenizer.model.parity
    changed_at: dict[int, list[int]] = {}
    for number, (word, _) in enumerate(counts):
        for rank in dict.fromkeys(replay(word, steps)[2]):
            changed_at.setdefault(rank + 1, []).append(number)
    order = list(range(len(counts)))
    for step in range(steps + 1):
        rewritten = changed_at.get(step, [])
        changed = set(rewritten)
        if changed and recipe.tie_break == "rewritten-last":
            rewritten = [word for word in order if word in changed]
            order = [*(word for word in order if word not in changed), *rewritten]
        shown = order if step == 0 or len(counts) <= _WORDS else rewritten
        merge = tokenizer.merges[step - 1] if step else None
        yield TrainingStep(
            number=step,
            merge=merge,
            names=tuple(names[id_] for id_ in merge[:3]) if merge else (),
            words=[
                StepWord(
                    count=counts[number][1],
                    tokens=[names[id_] for id_ in replay(counts[number][0], step)[0]],
                    changed=number in changed,
                )
                for number in shown[:_WORDS]
            ],
            more=max(0, len(shown) - _WORDS),
            language=parity.language_of(step - 1) if parity and step else None,
        )
