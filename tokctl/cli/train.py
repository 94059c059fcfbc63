"""`tokctl train`: a model file from texts."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tokctl.cli import options, recipes, streams
from tokctl.cli import train_options as given
from tokctl.cli.world import World, visible
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl._native import Counts
    from tokctl.recipe import Recipe
    from tokctl.tokenizer import Tokenizer
    from tokctl.training import Timing

EXAMPLES = """Examples:

  tokctl train book.txt
  tokctl train --algo wordpiece --vocab 20000 book.txt
  tokctl train --preset gpt2 --vocab 50257 -o my.json corpus/*.txt
  cat book.txt | tokctl train --vocab 5000 -
  tokctl train --vocab 300 --show-steps 5 book.txt
  tokctl train --chars --pretokenize whitespace --marker end:_ book.txt
  M=$(tokctl train -q book.txt)

The path of the file that was written goes to stdout, alone on a line;
everything else goes to stderr. Ctrl-C stops it, and nothing is written.
The same texts and options give the same file, on any number of threads."""


SHORT = "Train a tokenizer on texts and write its model file."


def register(app: typer.Typer) -> None:
    app.command("train", epilog=EXAMPLES, short_help=SHORT)(options.with_globals(train))


def train(
    world: World,
    files: given.Files = None,
    algo: given.Algo = None,
    vocab: given.Vocab = 10_000,
    output: given.Output = None,
    preset: given.Preset = None,
    list_presets: given.ListPresets = False,
    special: given.Special = None,
    show_steps: given.ShowSteps = 0,
    threads: given.Threads = None,
    json: given.Json = False,
    pretokenize: given.Pretokenize = None,
    characters: given.Characters = None,
    marker: given.Marker = None,
    unk_token: given.UnkToken = None,
    errors: given.Errors = "strict",
    score: given.Score = None,
    tie_break: given.TieBreak = None,
    min_count: given.MinCount = 1,
    min_frequency: given.MinFrequency = 1,
    max_token_length: given.MaxTokenLength = None,
    segment: given.Segment = None,
    unknown: given.Unknown = None,
    max_input_chars: given.MaxInputChars = None,
) -> None:
    """Train a tokenizer on texts and write its model file: a tokenizer.json that Hugging Face
    libraries load, where that format can hold the recipe.
    """
    if list_presets:
        _list_presets(world, json=json)
        return
    asked_recipe = {
        "algo": algo,
        "preset": preset,
        "special": special or [],
        "pretokenize": pretokenize,
        "characters": characters,
        "marker": marker,
        "unk_token": unk_token,
        "score": score,
        "tie_break": tie_break,
        "segment": segment,
        "unknown": unknown,
        "max_input_chars": max_input_chars,
    }
    recipe = recipes.recipe_of(asked_recipe)
    options.choose("--errors", errors, ("strict", "replace"))
    texts = streams.documents(world, files)
    path = _path(output, files, recipe)
    streams.check_output(world, path, files)

    from tokctl import training
    from tokctl.cli.progress import Bars
    from tokctl.tokenizer import Tokenizer

    asked = training.Options(
        vocab_size=vocab,
        min_count=min_count,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
        threads=threads,
        errors=errors,
    )
    _check_size(recipe, vocab)
    timing = training.Timing()
    with Bars(world) as bars:
        # In two steps: --show-steps needs the counts, and stdin can't be read again.
        counts, read = training.count(texts, recipe, asked, bars)
        timing.lap("count")
        model = training.fill(counts, read, recipe, asked, bars, timing)
    tokenizer = Tokenizer(model)
    tokenizer.save(path)
    timing.lap("write")
    _report(world, tokenizer, timing, counts if show_steps else None, show_steps)
    if why := tokenizer.obstacle:
        world.say(f"note: Hugging Face refuses this file: {visible(why)}")
    if json:
        import orjson

        facts = _facts(tokenizer, path, timing)
        world.stdout.write(orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))
    elif not streams.is_same_file(world.stdout, path):  # else the model itself went there
        world.stdout.write(os.fsencode(path) + b"\n")


def _path(output: str | None, files: list[str] | None, recipe: Recipe) -> str:
    if output == "-":
        raise TokctlError("the model can't go to stdout", "name a file: -o PATH")
    first = files[0] if files else "-"
    stem = "stdin" if first == "-" else Path(first).stem
    return f"{stem}.{recipe.algorithm}.json" if output is None else output


def _check_size(recipe: Recipe, vocab: int) -> None:
    """What is known too small before a text is read."""
    least = 256 + len(recipe.special_tokens)
    if recipe.alphabet == "bytes" and vocab < least:
        raise TokctlError(
            f"a vocabulary of {vocab} is too small: "
            f"the alphabet and the special tokens need {least}",
            f"ask for {least} or more: --vocab {least}",
        )


def _report(
    world: World,
    tokenizer: Tokenizer,
    timing: Timing,
    counts: Counts | None,
    steps: int,
) -> None:
    """What people read: the steps that they asked for, and the summary."""
    if world.quiet and counts is None:
        return
    from tokctl.render import summary
    from tokctl.render.console import console

    terminal = world.stderr_is_terminal
    to = console(world.stderr, color=world.wants_color(terminal), is_terminal=terminal)
    if counts is not None:
        from tokctl.cli.steps import training_steps

        shown = training_steps(tokenizer, counts.items(), steps)
        summary.show_steps(to, shown, tokenizer.recipe.score)
    if not world.quiet:
        summary.show_training(to, tokenizer, timing.seconds, verbose=world.verbose)


def _facts(tokenizer: Tokenizer, path: str, timing: Timing) -> dict[str, Any]:
    from tokctl.cli.forms import text_or_bytes

    record = tokenizer.model.training
    return {
        "path": text_or_bytes(os.fsencode(path)),
        "recipe": tokenizer.recipe.to_dict(),
        "vocab_size": tokenizer.vocab_size,
        "merges": len(tokenizer.merges),
        "training": asdict(record) if record else None,
        "seconds": timing.seconds,
    }


def _list_presets(world: World, *, json: bool) -> None:
    from tokctl.presets import PRESETS

    if json:
        import orjson

        presets = [
            {"name": name, "description": text, "recipe": recipe.to_dict()}
            for name, (text, recipe) in PRESETS.items()
        ]
        world.stdout.write(orjson.dumps(presets, option=orjson.OPT_APPEND_NEWLINE))
        return
    width = max(map(len, PRESETS))
    for name, (text, _) in PRESETS.items():
        world.stdout.write(f"{name:<{width}}  {text}\n".encode())
