"""`tokctl convert`: a model file of another format, or of a smaller vocabulary."""

import os
from typing import TYPE_CHECKING, Any

import typer

from tokctl.cli import converting, options, streams
from tokctl.cli.world import World, visible
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

EXAMPLES = """Examples:

  tokctl convert spiece.model
  tokctl convert book.bpe.json --to huggingface
  tokctl convert hf:ORG/NAME --verify book.txt
  tokctl convert book.json --to tiktoken --lossy
  tokctl convert --prune 8000 -o small.json book.bpe.json
  tokctl convert a.tiktoken --pattern cl100k

Formats:

{formats}

What the format can't hold is said before anything is
written: a note where no text gets other ids without it,
otherwise an error, unless --lossy allows it. The path
goes to stdout, alone on a line; files that belong to it
are named on stderr. Without -o, a name that would be
the model's own gets the format's name before the ending:
book.bpe.huggingface.json.

--prune keeps special tokens and the alphabet, then the
first merges (what a training to that size would have
learned), the pieces with the highest scores, or the
most frequent words. Ids are numbered anew, in the order
that they had.

Exit codes: 0 done, 1 --verify found a difference (then
nothing is written), 2 bad usage or input."""

SHORT = "Turn a model into another format, or into a smaller one."
#: Columns of the examples.
WIDTH = 56


def register(app: typer.Typer) -> None:
    lines = converting.table(WIDTH - 2).splitlines()
    epilog = EXAMPLES.format(formats="\n".join(f"  {line}" for line in lines))
    app.command("convert", cls=options.Command, epilog=epilog, short_help=SHORT)(convert)


def convert(
    context: typer.Context,
    model: options.ConvertModel = None,
    to: options.To = None,
    output: options.ConvertOutput = None,
    verify: options.Verify = None,
    lossy: options.Lossy = False,
    prune: options.Prune = None,
    pattern: options.Pattern = None,
    special: options.ConvertSpecial = None,
    list_formats: options.ListFormats = False,
    json: options.ConvertJson = False,
    format: options.Format = "auto",  # noqa: A002
    text_field: options.TextField = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    files_from: options.FilesFrom = None,
    files0_from: options.Files0From = None,
) -> None:
    """Turn a model of any format that tokctl reads into any that it writes, with its whole
    vocabulary or with the most useful part of it.
    """
    world: World = context.obj
    sources = streams.Sources(format, text_field, include, exclude, files_from, files0_from)
    if list_formats:
        converting.list_formats(world, json=json)
        return
    path = model or world.environ.get("TOKCTL_MODEL")
    if not path:
        raise TokctlError("no model is given", "name one: tokctl convert spiece.model")
    if output == "-":
        raise TokctlError("the model can't go to stdout", "name a file: -o PATH")
    form = converting.form_of(to, output)
    target = converting.target_of(path, form, prune) if output is None else output
    inputs = [path, *(verify or []), *sources.lists]
    converting.check_target(world, target, form, inputs)
    texts = converting.texts_of(world, sources, verify or [])
    inputs += [text.name for text in texts]
    before = streams.load_model(world, path, converting.hints_of(pattern, special))
    tokenizer = before
    if prune is not None:
        from tokctl.tokenizer import Tokenizer
        from tokctl.training.resizing import prune as pruned

        tokenizer = Tokenizer(pruned(before.model, prune))
    from tokctl import formats
    from tokctl.formats import saving

    planned = converting.plan(world, tokenizer.model, form, lossy=lossy)
    paths = planned.paths(target, form)
    converting.check_paths(world, paths, inputs)
    saving.check_neighbours(planned.files, target, form)
    found = None
    if texts:
        found = converting.verified(
            world, tokenizer, planned.files, target, form, texts, lossy=lossy
        )
    saving.write(planned.files, target, form)
    why = formats.obstacle(tokenizer.model) if form.name == "tokctl" else None
    if why:
        world.say(f"note: Hugging Face refuses this file: {visible(why)}")
        if converting.holds(tokenizer.model, "huggingface"):
            world.say("hint: --to huggingface writes one that it loads, with the same ids")
    for companion in paths if form.is_folder else paths[1:]:
        world.say(f"note: {'in it' if form.is_folder else 'with it'}: {visible(companion)}")
    if json:
        import orjson

        facts = _facts(target, tokenizer, before) | {
            "format": form.name,
            "files": [_name(one) for one in paths],
            "losses": [loss._asdict() for loss in planned.losses],
            "obstacle": why,
            "verified": found and found.to_dict(),
        }
        world.stdout.write(orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))
    elif not streams.is_same_file(world.stdout, target):
        world.stdout.write(os.fsencode(target) + b"\n")


def _facts(target: str, tokenizer: "Tokenizer", before: "Tokenizer") -> dict[str, Any]:
    origin = tokenizer.model.origin
    return {
        "path": _name(target),
        "recipe": tokenizer.recipe.to_dict(),
        "vocab_size_before": before.vocab_size,
        "vocab_size": tokenizer.vocab_size,
        "merges": len(tokenizer.merges),
        "format_before": before.format,
        "origin": origin and origin._asdict(),
    }


def _name(path: str) -> str | dict[str, str]:
    from tokctl.cli.written import text_or_bytes

    return text_or_bytes(os.fsencode(path))
