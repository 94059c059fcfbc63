"""`tokctl convert`: a model file of another format, or of a smaller vocabulary."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tokctl.cli import options, streams
from tokctl.cli.world import World, visible
from tokctl.errors import TokctlError

EXAMPLES = """Examples:

  tokctl convert spiece.model
  tokctl convert cl100k_base.tiktoken -o cl100k.json
  tokctl convert --prune 8000 -o small.json book.bpe.json

It reads what -m reads elsewhere: a tokenizer.json of
tokctl or of Hugging Face, SentencePiece's .model, ranks
of tiktoken's. It writes a tokenizer.json. The path goes
to stdout, alone on a line; where Hugging Face refuses
the file, stderr says why.

--prune keeps special tokens and the alphabet, then the
first merges (what a training to that size would have
learned), the pieces with the highest scores, or the
most frequent words. Ids are numbered anew, in the order
that they had."""

SHORT = "Turn a model file into a tokenizer.json, or into a smaller one."


def register(app: typer.Typer) -> None:
    app.command("convert", epilog=EXAMPLES, short_help=SHORT)(options.with_globals(convert))


def convert(
    world: World,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]",
            help="The model file; without it, the one that $TOKCTL_MODEL names.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="The new file; by default the model's name with .json, here; pruned, with "
            "the size before that.",
            show_default=False,
        ),
    ] = None,
    prune: Annotated[
        int | None,
        typer.Option(
            "--prune",
            min=1,
            metavar="N",
            help="Keep N ids, the most useful ones.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="On stdout, facts as JSON instead of the path.")
    ] = False,
) -> None:
    """Turn a model file of any format that tokctl reads into a tokenizer.json, with its whole
    vocabulary or with the most useful part of it.
    """
    path = model or world.environ.get("TOKCTL_MODEL")
    if not path:
        raise TokctlError("no model is given", "name one: tokctl convert spiece.model")
    if output == "-":
        raise TokctlError("the model can't go to stdout", "name a file: -o PATH")
    size = "" if prune is None else f".{prune}"
    target = f"{Path(path).stem}{size}.json" if output is None else output
    streams.check_output(world, target, [path])
    tokenizer = streams.load_model(world, path)
    before = tokenizer.vocab_size
    if prune is not None:
        from tokctl.pruning import prune as pruned
        from tokctl.tokenizer import Tokenizer

        tokenizer = Tokenizer(pruned(tokenizer.model, prune))
    tokenizer.save(target)
    from tokctl import formats

    why = formats.obstacle(tokenizer.model)
    if why:
        world.say(f"note: Hugging Face refuses this file: {visible(why)}")
    if json:
        import orjson

        from tokctl.cli.written import text_or_bytes

        facts = {
            "path": text_or_bytes(os.fsencode(target)),
            "recipe": tokenizer.recipe.to_dict(),
            "vocab_size_before": before,
            "vocab_size": tokenizer.vocab_size,
            "merges": len(tokenizer.merges),
            "obstacle": why,
        }
        world.stdout.write(orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))
    elif not streams.is_same_file(world.stdout, target):
        world.stdout.write(os.fsencode(target) + b"\n")
