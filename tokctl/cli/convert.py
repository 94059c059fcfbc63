"""`tokctl convert`: a model file in another format, or with a smaller vocabulary."""

import os
import shutil
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tokctl.cli import model_output, streams
from tokctl.cli.command import add_command
from tokctl.cli.options.convert import (
    ConvertModel,
    ConvertOutput,
    ConvertSpecial,
    ListFormats,
    Pattern,
    Prune,
    To,
    Verify,
)
from tokctl.cli.options.shared import ConvertJson, Lossy
from tokctl.cli.options.sources import ListedTexts, SourceOptions
from tokctl.cli.world import Console
from tokctl.core.errors import BadInput, BadOption, ExitCode, TokctlError, Unsupported, printable
from tokctl.core.humanize import listed, plural

if TYPE_CHECKING:
    from tokctl.analysis.verification import Verification
    from tokctl.formats import Files, Format, LoadOptions
    from tokctl.model import Model
    from tokctl.sources import Source
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

Before anything is written, tokctl says what the format
can't hold: in a note if every text keeps its ids without
it, otherwise in an error, unless you give --lossy. The
path of the new file goes to stdout, on a line of its
own; further files that belong to it are named on stderr.
Without -o, if the new file would have the model's own
name, the format's name is put before the extension:
book.bpe.huggingface.json.

--prune keeps special tokens and the alphabet, then the
first merges (those that training to that size would have
learned), the pieces with the highest scores, or the most
frequent words. The ids are renumbered without gaps; their
order stays the same.

Exit codes: 0 success; 1 --verify found a difference, or
no library to compare with (then nothing is written);
2 bad usage or input."""

SHORT = "Convert a model to another format, or to a smaller one."
#: Columns of the help's examples.
WIDTH = 56


def register(app: typer.Typer) -> None:
    """Add `tokctl convert` to `app`, with the table of formats in its help."""
    lines = table(WIDTH - 2).splitlines()
    epilog = EXAMPLES.format(formats="\n".join(f"  {line}" for line in lines))
    add_command(app, convert, epilog=epilog, short_help=SHORT)


def convert(
    context: typer.Context,
    model: ConvertModel = None,
    to: To = None,
    output: ConvertOutput = None,
    verify: Verify = None,
    lossy: Lossy = False,
    prune: Prune = None,
    pattern: Pattern = None,
    special: ConvertSpecial = None,
    list_formats: ListFormats = False,
    json: ConvertJson = False,
    *,
    sources: ListedTexts,
) -> None:
    """Convert a model from any format that tokctl reads to any that it writes, with its whole
    vocabulary or only the most useful part of it.
    """  # noqa: D205 (one paragraph of the help)
    world: Console = context.obj
    if list_formats:
        _show_formats(world, json=json)
        return
    if not (model or world.environ.get("TOKCTL_MODEL")):
        raise BadOption(
            "no model is given", "name one: tokctl convert spiece.model", "missing-option"
        )
    path = streams.model_path(world, model)
    if output == "-":
        raise BadOption("the model can't go to stdout", "name a file: -o PATH", "bad-value")
    form = model_output.form_of(to, output)
    target = _target_of(path, form, prune) if output is None else output
    model_output.check_target(world, target, form)
    texts = _texts_of(world, sources, verify or [])
    before = streams.load_model(world, path, _hints_of(pattern, special))
    tokenizer = before
    if prune is not None:
        from tokctl.tokenizer import Tokenizer
        from tokctl.training.resizing import prune as pruned

        tokenizer = Tokenizer(pruned(before.model, prune))
    from tokctl import formats
    from tokctl.formats import saving

    planned = model_output.plan(world, tokenizer.model, form, lossy=lossy)
    paths = planned.paths(target, form)
    model_output.check_paths(world, paths)
    saving.check_neighbours(planned.files, target, form)
    found = None
    if texts:
        found = _verify(world, tokenizer, planned.files, target, form, texts, lossy=lossy)
    saving.write(planned.files, target, form)
    why = formats.why_not_loadable(tokenizer.model) if form.name == "tokctl" else None
    if why:
        world.say(f"note: Hugging Face refuses this file: {printable(why)}")
        if _holds(tokenizer.model, "huggingface"):
            world.say("hint: --to huggingface writes one that it loads, with the same ids")
    for extra_file in paths if form.is_folder else paths[1:]:
        world.say(f"note: {'in it' if form.is_folder else 'with it'}: {printable(extra_file)}")
    if json:
        from tokctl.core import orjson

        facts = _facts(target, tokenizer, before) | {
            "format": form.name,
            "files": [model_output.json_path(one) for one in paths],
            "losses": [loss._asdict() for loss in planned.losses],
            "obstacle": why,
            "verified": found and found.to_dict(),
        }
        world.stdout.write(orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))
    elif not streams.is_same_file(world.stdout, target):
        world.stdout.write(os.fsencode(target) + b"\n")


def _facts(target: str, tokenizer: "Tokenizer", before: "Tokenizer") -> dict[str, Any]:
    from tokctl.analysis.explain.history import step_count

    origin = tokenizer.model.origin
    return {
        "path": model_output.json_path(target),
        "recipe": tokenizer.recipe.to_dict(),
        "vocab_size_before": before.vocab_size,
        "vocab_size": tokenizer.vocab_size,
        "merges": step_count(tokenizer) - len(tokenizer.model.supermerges),
        "format_before": before.format,
        "origin": origin and origin._asdict(),
    }


def _hints_of(pattern: str | None, special: Sequence[str] | None) -> "LoadOptions":
    """Return the load options that `--pattern` and `--special-token` give."""
    from tokctl.formats import LoadOptions

    ids: dict[str, int] = {}
    for entry in special or ():
        token, _, number = entry.rpartition("=")
        if not token or not (number.isascii() and number.isdigit() and len(number) < 10):
            raise BadOption(
                f"invalid value {entry!r} for --special-token",
                "name the token, then its id: '<|end|>=50256'",
                "bad-value",
            )
        if token in ids:
            raise BadOption(
                f"the special token {token!r} has two ids", "leave one of them out", "conflict"
            )
        ids[token] = int(number)
    return LoadOptions(pattern, ids or None)


# -- the target path ----------------------------------------------------------------------


def _target_of(model: str, form: "Format", prune: int | None) -> str:
    """Return the path of the new file without `-o`.

    The file goes into the current folder, and has the model's name with the format's suffix. If
    that is the model itself, the format's name is put before the suffix.

    Raises:
        TokctlError: another file has the name already.
    """
    size = "" if prune is None else f".{prune}"
    stem = f"{_stem(model)}{size}"
    target = f"{stem}{form.suffix}"
    if model_output.is_same(target, model):
        return f"{stem}.{form.name}{form.suffix}"
    # An existing file of this name is often the original model: never replace it unasked.
    if Path(target).exists():
        what = "folder" if form.is_folder else "file"
        raise BadOption(
            f"{target} exists already",
            f"choose another {what} with -o PATH, or replace this one: -o {target}",
            "output-taken",
        )
    return target


def _stem(model: str) -> str:
    from tokctl.formats import hub

    if hub.is_hub_name(model):
        return hub.parse_repository(model).name.rpartition("/")[2]
    path = Path(model)
    return path.resolve().name if path.is_dir() else path.stem


# -- verification -------------------------------------------------------------------------


def _holds(model: "Model", name: str) -> bool:
    """Return whether the format can hold everything that ids and texts depend on."""
    from tokctl import formats

    try:
        return all(loss.minor for loss in formats.losses(model, name))
    except formats.UnsupportedByFormat:
        return False


def _texts_of(world: Console, given: SourceOptions, verify: Sequence[str]) -> "list[Source]":
    """Open the texts of `--verify` and of lists; return none if nothing is to be verified."""
    if verify or given.lists:
        return given.open(world, verify)
    hint = "name one with --verify TEXT"
    if given.format != "auto":
        hint += "; the format of the new model is --to"
    given.check_needed(hint)
    return []


def _has_no_template(path: Path) -> bool:
    """Return whether the model at `path` adds no special tokens around texts."""
    from tokctl.tokenizer import Tokenizer

    try:
        return not Tokenizer.load(path).recipe.post_processors
    except TokctlError:
        return False  # `verify` meets the same error, and reports it


def _verify(
    world: Console,
    tokenizer: "Tokenizer",
    files: "Files",
    target: str,
    form: "Format",
    texts: "Sequence[Source]",
    *,
    lossy: bool,
) -> "Verification":
    """Write the files into a temporary folder, load them there, and compare ids and texts.

    With `lossy`, special tokens around texts are not compared if the written file adds no special
    tokens.

    Raises:
        TokctlError: with exit code 1, where something differs; the differences are on stderr.
    """
    from tokctl.analysis.verification import PEERS, verify
    from tokctl.formats import saving

    if not form.reads and form.name not in PEERS:
        raise BadOption(
            f"no program reads a model from {form.title}, so there is nothing to verify",
            "leave --verify out",
            "conflict",
        )
    with tempfile.TemporaryDirectory(prefix="tokctl.") as folder:
        path = Path(folder, _file_name(target, form))
        saving.write(files, path, form)
        around = not (lossy and tokenizer.recipe.post_processors and _has_no_template(path))
        found = verify(tokenizer, path, texts, format=form.name, around=around)
    if not found.lines and found.same:
        raise BadInput("can't verify with an empty text", "name another one")
    if not around:
        world.say("note: not compared: the special tokens around texts, which are left out")
    for reason in found.not_compared:
        world.say(f"note: not compared: {printable(reason)}")
    if found.left_out:
        lines = plural(found.left_out, "line")
        world.say(f"note: not compared: {lines} with a character that the model has no token for")
    if found.same and found.missing:
        raise Unsupported(
            f"{printable(form.title)} was not verified: {listed(found.missing)} would have to read "
            "it; nothing is written",
            f"pip install {' '.join(found.missing)}, or leave --verify out",
            "missing-package",
            exit_code=ExitCode.CONDITION_FAILED,
        )
    if found.same:
        world.say(str(found))
        return found
    for difference in found.differences:
        # The temporary folder means nothing to the user.
        world.say(printable(str(difference).replace(f"{folder}{os.sep}", "")))
        if difference.what == "ids":
            names = ("before", difference.reader)
            width = max(map(len, names)) + 2
            for name, tokens in zip(names, (difference.before, difference.found), strict=True):
                shown = "  ".join(f"{id_} {printable(token)!r}" for id_, token in tokens)
                world.say(f"  {name:<{width}}{shown}")
        elif difference.what == "text":
            before, after = map(repr, difference.said)
            world.say(f"  {before} became {after}")
    raise TokctlError(
        f"{printable(form.title)} would not be the same model for "
        f"{', '.join(one.reader for one in found.differences)}: nothing is written",
        "leave --verify out to write the model anyway",
        "condition-failed",
        exit_code=ExitCode.CONDITION_FAILED,
    )


def _file_name(target: str, form: "Format") -> str:
    """Return the file name of `target`, or a plain one if it is not UTF-8.

    Other libraries can't open a path that is not UTF-8.
    """
    name = Path(target).name
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        name = ""
    return name or f"model{form.suffix}"


# -- the list of formats -------------------------------------------------------------------


def table(width: int) -> str:
    """Return the table of formats, in lines of at most `width` columns.

    Each entry has the name, the title and, if tokctl does only one of the two, "read only" or
    "written only".
    """
    from tokctl.formats import FORMATS

    names = max(len(known.name) for known in FORMATS) + 2
    lines = []
    for known in FORMATS:
        only = "" if known.reads and known.writes else f", {_does(known.reads)} only"
        line = f"{known.name:<{names}}{known.title}{only}"
        lines.append(
            textwrap.fill(
                line, max(width, names + 20), subsequent_indent=" " * names, break_long_words=False
            )
        )
    return "\n".join(lines)


def _does(reads: bool) -> str:
    return "read" if reads else "written"


def _show_formats(world: Console, *, json: bool) -> None:
    """Write the formats: as JSON, as a table on a terminal, else as tab-separated lines.

    The fields of a line are name, title, and read and write (or `-`).
    """
    from tokctl.formats import FORMATS

    if json:
        from tokctl.core import orjson

        known_formats = [
            {
                "name": known.name,
                "title": known.title,
                "reads": known.reads,
                "writes": known.writes,
                "is_folder": known.is_folder,
                "suffix": known.suffix,
            }
            for known in FORMATS
        ]
        world.stdout.write(orjson.dumps(known_formats, option=orjson.OPT_APPEND_NEWLINE))
    elif world.stdout_is_terminal:
        world.stdout.write(f"{table(shutil.get_terminal_size().columns)}\n".encode())
    else:
        for known in FORMATS:
            does = ("read" if known.reads else "-", "write" if known.writes else "-")
            line = "\t".join((known.name, known.title, *does))
            world.stdout.write(f"{line}\n".encode())
