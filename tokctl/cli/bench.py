"""`tokctl bench`: the speed of a model file in tokctl and in other libraries that load it."""

import typer

from tokctl.cli import paging, streams
from tokctl.cli.command import add_command
from tokctl.cli.options.others import (
    BenchFiles,
    BenchModel,
    BenchRepeat,
    BenchThreads,
    BenchValidate,
)
from tokctl.cli.options.shared import AnswerOptions
from tokctl.cli.options.sources import SourceOptions
from tokctl.cli.progress import ProgressDisplay
from tokctl.cli.world import Console
from tokctl.core.errors import ExitCode

EXAMPLES = """Examples:

  tokctl bench book.json book.txt
  tokctl bench --validate gpt2.tokenizer.json a.txt b.jsonl
  tokctl bench --threads 8 --repeat 9 --json m.model a.txt

The libraries are tokenizers, transformers, tiktoken,
sentencepiece and llama-cpp-python, if they are installed.
A library that does not read the model's format gets a
converted file, marked lossy if its format can't hold all
of the model.
All run in one process, in turns, on the same texts: the
lines of FILE, or its records. Each returns lists of ids.
Importing and loading are not timed.

With --validate, the exit code is 1 if a library gives
other ids, unless its file is lossy."""

SHORT = "Measure how fast a model is in each library."


def register(app: typer.Typer) -> None:
    """Add `tokctl bench` to `app`."""
    add_command(app, bench, epilog=EXAMPLES, short_help=SHORT)


def bench(
    context: typer.Context,
    model: BenchModel,
    files: BenchFiles = None,
    validate: BenchValidate = False,
    repeat: BenchRepeat = 5,
    threads: BenchThreads = 1,
    *,
    shown: AnswerOptions,
    sources: SourceOptions,
) -> int | None:
    """Measure how fast a model file encodes texts, in tokctl and in every installed library that
    loads it, and whether their ids are the same.
    """  # noqa: D205 (one paragraph of the help)
    world: Console = context.obj
    form = paging.form(shown.given)
    tokenizer = streams.load_model(world, model)
    texts = sources.open(world, files)
    from tokctl.analysis.bench import bench as measured

    with ProgressDisplay(world) as bars:
        found = measured(
            model,
            texts,
            tokenizer=tokenizer,
            threads=threads,
            repeat=repeat,
            validate=validate,
            progress=bars,
        )
    from tokctl.report.bench import bench_answer

    paging.write(world, bench_answer(found), form or "text", pages=not shown.no_pager)
    return ExitCode.CONDITION_FAILED if found.failed else None
