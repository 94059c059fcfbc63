"""What `train` tells: steps, summary, facts as JSON; and the presets that there are."""

from __future__ import annotations

import os
import shutil
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tokctl.cli.streams import text_or_bytes
from tokctl.cli.world import World

if TYPE_CHECKING:
    from tokctl._native import Counts
    from tokctl.tokenizer import Tokenizer
    from tokctl.training import Timing


def report(
    world: World,
    tokenizer: Tokenizer,
    timing: Timing,
    counts: Counts | None,
    steps: int,
) -> None:
    """What people read: the steps that they asked for, and the summary."""
    if world.quiet and counts is None:
        return
    from tokctl.render import steps as shown_steps
    from tokctl.render import summary
    from tokctl.render.terminal import console

    terminal = world.stderr_is_terminal
    to = console(world.stderr, color=world.wants_color(terminal), is_terminal=terminal)
    if counts is not None and tokenizer.recipe.traits.has_scores:
        shown_steps.show_rounds(to, tokenizer.model.rounds[:steps])
    elif counts is not None:
        from tokctl.cli.steps import training_steps

        shown = training_steps(tokenizer, counts.items(), steps)
        shown_steps.show_steps(to, shown, tokenizer.recipe.score)
    if not world.quiet:
        summary.show_training(to, tokenizer, timing.seconds, verbose=world.verbose)


def facts(tokenizer: Tokenizer, path: str, timing: Timing) -> dict[str, Any]:
    """The facts of `--json`; of a Unigram training, its rounds are among them."""
    record = tokenizer.model.training
    told: dict[str, Any] = {
        "path": text_or_bytes(os.fsencode(path)),
        "recipe": tokenizer.recipe.to_dict(),
        "vocab_size": tokenizer.vocab_size,
        "merges": len(tokenizer.merges),
        "training": asdict(record) if record else None,
        "seconds": timing.seconds,
    }
    if tokenizer.model.rounds:
        rounds = [one._asdict() for one in tokenizer.model.rounds]
        told["rounds"] = [{k: v for k, v in one.items() if k != "examples"} for one in rounds]
    return told


def list_presets(world: World, *, json: bool) -> None:
    """One preset a line: its name and what it is."""
    from tokctl.model.presets import PRESETS

    if json:
        import orjson

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
