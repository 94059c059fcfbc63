"""`tokctl convert`: a model file of another format, or of a smaller vocabulary."""

import os
import shutil
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from tokctl.cli import options, streams
from tokctl.cli.streams import Sources
from tokctl.cli.world import World, visible
from tokctl.errors import ExitCode, TokctlError
from tokctl.wording import listed, plural

if TYPE_CHECKING:
    from tokctl.analysis.verification import Verification
    from tokctl.formats import Files, Format, Hints, Loss
    from tokctl.model import FilledRecipe
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
#: Columns of the examples.
WIDTH = 56


def register(app: typer.Typer) -> None:
    lines = table(WIDTH - 2).splitlines()
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
    """Convert a model from any format that tokctl reads to any that it writes, with its whole
    vocabulary or only the most useful part of it.
    """
    world: World = context.obj
    sources = streams.Sources(format, text_field, include, exclude, files_from, files0_from)
    if list_formats:
        _show_formats(world, json=json)
        return
    path = model or world.environ.get("TOKCTL_MODEL")
    if not path:
        raise TokctlError("no model is given", "name one: tokctl convert spiece.model")
    if output == "-":
        raise TokctlError("the model can't go to stdout", "name a file: -o PATH")
    form = _form_of(to, output)
    target = _target_of(path, form, prune) if output is None else output
    inputs = [path, *(verify or []), *sources.lists]
    _check_target(world, target, form, inputs)
    texts = _texts_of(world, sources, verify or [])
    inputs += [text.name for text in texts]
    before = streams.load_model(world, path, _hints_of(pattern, special))
    tokenizer = before
    if prune is not None:
        from tokctl.tokenizer import Tokenizer
        from tokctl.training.resizing import prune as pruned

        tokenizer = Tokenizer(pruned(before.model, prune))
    from tokctl import formats
    from tokctl.formats import saving

    planned = _plan(world, tokenizer.model, form, lossy=lossy)
    paths = planned.paths(target, form)
    _check_paths(world, paths, inputs)
    saving.check_neighbours(planned.files, target, form)
    found = None
    if texts:
        found = _verify(world, tokenizer, planned.files, target, form, texts, lossy=lossy)
    saving.write(planned.files, target, form)
    why = formats.obstacle(tokenizer.model) if form.name == "tokctl" else None
    if why:
        world.say(f"note: Hugging Face refuses this file: {visible(why)}")
        if _holds(tokenizer.model, "huggingface"):
            world.say("hint: --to huggingface writes one that it loads, with the same ids")
    for companion in paths if form.is_folder else paths[1:]:
        world.say(f"note: {'in it' if form.is_folder else 'with it'}: {visible(companion)}")
    if json:
        import orjson

        facts = _facts(target, tokenizer, before) | {
            "format": form.name,
            "files": [_json_path(one) for one in paths],
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
        "path": _json_path(target),
        "recipe": tokenizer.recipe.to_dict(),
        "vocab_size_before": before.vocab_size,
        "vocab_size": tokenizer.vocab_size,
        "merges": len(tokenizer.merges),
        "format_before": before.format,
        "origin": origin and origin._asdict(),
    }


def _json_path(path: str) -> str | dict[str, str]:
    from tokctl.cli.streams import text_or_bytes

    return text_or_bytes(os.fsencode(path))


_HINT = "choose another place with -o PATH"


class ConversionPlan(NamedTuple):
    """Files to write, and what they leave out."""

    files: "Files"
    losses: "list[Loss]"

    def paths(self, target: str, form: "Format") -> list[str]:
        """Where they go; the file that names the others comes first."""
        if form.is_folder:
            return [os.path.join(target, name) for name in self.files]  # noqa: PTH118
        return [f"{target}{suffix}" for suffix in sorted(self.files)]


def _form_of(name: str | None, output: str | None) -> "Format":
    """The format of `--to`; without it tokctl's, unless the output is named as another's."""
    from tokctl.formats import FORMATS, named

    form = named(name or "tokctl")
    if name is None and output is not None and not output.endswith(form.suffix):
        others = [one for one in FORMATS if one.suffix and output.endswith(one.suffix)]
        if others:
            raise TokctlError(
                f"{output} is named as {others[0].title}, and without --to it would be a "
                f"{form.title}",
                f"say which it is to be: --to {others[0].name}, or --to {form.name}",
            )
    if not form.writes:
        names = ", ".join(one.name for one in FORMATS if one.writes)
        raise TokctlError(
            f"tokctl reads {form.title}, and does not write it", f"choose one of: {names}"
        )
    return form


def _hints_of(pattern: str | None, special: Sequence[str] | None) -> "Hints":
    """`--pattern` and `--special-token`."""
    from tokctl.formats import Hints

    ids: dict[str, int] = {}
    for entry in special or ():
        token, _, number = entry.rpartition("=")
        if not token or not (number.isascii() and number.isdigit() and len(number) < 10):
            raise TokctlError(
                f"--special-token can't be {entry!r}",
                "name the token, then its id: '<|end|>=50256'",
            )
        if token in ids:
            raise TokctlError(f"the special token {token!r} has two ids", "leave one of them out")
        ids[token] = int(number)
    return Hints(pattern, ids or None)


# -- the place ----------------------------------------------------------------------------


def _target_of(model: str, form: "Format", prune: int | None) -> str:
    """The place of the new file without `-o`: here, called as the model, with the format's
    ending. Where that is the model itself, the format's name stands before the ending."""
    size = "" if prune is None else f".{prune}"
    stem = f"{_stem(model)}{size}"
    target = f"{stem}{form.suffix}"
    if _is_same(target, model):
        return f"{stem}.{form.name}{form.suffix}"
    # Beside a file of another format stands, as often as not, the model that it was made of.
    if Path(target).exists():
        what = "folder" if form.is_folder else "file"
        raise TokctlError(
            f"{target} exists already", f"name a new {what}, or this one, with -o: -o {target}"
        )
    return target


def _stem(model: str) -> str:
    from tokctl.formats import hub

    if hub.is_name(model):
        return hub.repository(model).name.rpartition("/")[2]
    path = Path(model)
    return path.resolve().name if path.is_dir() else path.stem


def _is_same(first: str, second: str) -> bool:
    try:
        return Path(first).samefile(second)
    except (OSError, ValueError):
        return False


def _check_target(world: World, target: str, form: "Format", inputs: Sequence[str]) -> None:
    """TokctlError where the place surely can't be written, or is one of the inputs."""
    if not form.is_folder and target.endswith("/"):
        raise TokctlError(f"can't write {form.title} to {target}: it is a folder", "name a file")
    if not form.is_folder:
        streams.check_output(world, target, inputs)
        return
    path = Path(target)
    if not target:
        raise TokctlError("-o is empty", _HINT)
    if path.exists() and not path.is_dir():
        raise TokctlError(
            f"can't write the folder {target}: a file has that name", "name a new folder"
        )
    if any(_is_same(target, name) for name in inputs):
        raise TokctlError(f"can't write {target}: it is the model to read", _HINT)
    # As a file in it, or in the folder where it will stand.
    probe = path / ".tokctl" if path.is_dir() else path
    streams.check_output(world, str(probe), inputs)


def _check_paths(world: World, paths: Sequence[str], inputs: Sequence[str]) -> None:
    """TokctlError where one of the files would take the place of an input, or has none."""
    for path in paths:
        if Path(path).parent.is_dir():  # else it is in a folder that will be made
            streams.check_output(world, path, inputs)


# -- what is left out ---------------------------------------------------------------------


def _plan(world: World, model: "FilledRecipe", form: "Format", *, lossy: bool) -> ConversionPlan:
    """The files of the format. What they can't hold is said on stderr.

    Raises:
        TokctlError: ids or texts would change without it, and it is not `lossy`; or the
            format has nothing like the model.
    """
    from tokctl.formats import saving

    losses = saving.losses(model, form.name)
    major = [loss.what for loss in losses if not loss.minor]
    for loss in losses:
        if loss.minor:
            world.say(f"note: {form.title} can't hold {visible(loss.what)}")
        elif lossy:
            world.say(f"warning: {form.title} can't hold {visible(loss.what)}: it is left out")
    if major and not lossy:
        raise TokctlError(
            f"{form.title} can't hold {'; '.join(major)}",
            f"--lossy writes it without {'that' if len(major) == 1 else 'them'}, and then ids "
            "or texts can differ",
        )
    return ConversionPlan(saving.what_it_holds(model, form.name), losses)


# -- what is read back --------------------------------------------------------------------


def _holds(model: "FilledRecipe", name: str) -> bool:
    """Does the format hold all of the model that ids and texts depend on?"""
    from tokctl import formats

    try:
        return all(loss.minor for loss in formats.losses(model, name))
    except formats.InexpressibleError:
        return False


def _texts_of(world: World, given: Sources, verify: Sequence[str]) -> "list[Source]":
    """The texts of `--verify`, and those that lists name; none where nothing is to be verified."""
    if verify or given.lists:
        return given.open(world, verify)
    hint = "name one with --verify TEXT"
    if given.format != "auto":
        hint += "; the format of the new model is --to"
    given.check_needed(hint)
    return []


def _has_no_template(path: Path) -> bool:
    """Does the model there put no special tokens around texts?"""
    from tokctl.tokenizer import Tokenizer

    try:
        return not Tokenizer.load(path).recipe.post_processors
    except TokctlError:
        return False  # the same error comes again, where it is reported


def _verify(
    world: World,
    tokenizer: "Tokenizer",
    files: "Files",
    target: str,
    form: "Format",
    texts: "Sequence[Source]",
    *,
    lossy: bool,
) -> "Verification":
    """Writes the files into a folder that does not stay, reads them there and compares.

    lossy: what is put around texts may be lost, which no text should be blamed for.

    Raises:
        TokctlError: with exit code 1, where something differs; it is said on stderr.
    """
    from tokctl.analysis.verification import PEERS, verify
    from tokctl.formats import saving

    if not form.reads and form.name not in PEERS:
        raise TokctlError(
            f"no program reads a model from {form.title}, so there is nothing to verify",
            "leave --verify out",
        )
    with tempfile.TemporaryDirectory(prefix="tokctl.") as folder:
        path = Path(folder, _file_name(target, form))
        saving.write(files, path, form)
        around = not (lossy and tokenizer.recipe.post_processors and _has_no_template(path))
        found = verify(tokenizer, path, texts, format=form.name, around=around)
    if not found.lines and found.same:
        raise TokctlError("there is nothing to verify with: the text is empty", "name another one")
    if not around:
        world.say("note: not compared: the special tokens around texts, which are left out")
    for reason in found.not_compared:
        world.say(f"note: not compared: {visible(reason)}")
    if found.left_out:
        lines = plural(found.left_out, "line")
        world.say(f"note: not compared: {lines} with a character that the model has no token for")
    if found.same and found.missing:
        raise TokctlError(
            f"{visible(form.title)} was not verified: {listed(found.missing)} would have to read "
            "it; nothing is written",
            f"pip install {' '.join(found.missing)}, or leave --verify out",
            exit_code=ExitCode.CONDITION_FAILED,
        )
    if found.same:
        world.say(str(found))
        return found
    for difference in found.differences:
        # Nobody knows the folder that it was read in.
        world.say(visible(str(difference).replace(f"{folder}{os.sep}", "")))
        if difference.what == "ids":
            names = ("before", difference.reader)
            width = max(map(len, names)) + 2
            for name, tokens in zip(names, (difference.before, difference.found), strict=True):
                shown = "  ".join(f"{id_} {visible(token)!r}" for id_, token in tokens)
                world.say(f"  {name:<{width}}{shown}")
        elif difference.what == "text":
            before, after = map(repr, difference.said)
            world.say(f"  {before} became {after}")
    raise TokctlError(
        f"{visible(form.title)} would not be the same model for "
        f"{', '.join(one.reader for one in found.differences)}: nothing is written",
        "leave --verify out to write it all the same",
        exit_code=ExitCode.CONDITION_FAILED,
    )


def _file_name(target: str, form: "Format") -> str:
    """The file's own name; another where it is not UTF-8, which other libraries can't open."""
    name = Path(target).name
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        name = ""
    return name or f"model{form.suffix}"


# -- the formats that there are ------------------------------------------------------------


def table(width: int) -> str:
    """The formats, one a line: name, what it is, and what tokctl does with it."""
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


def _show_formats(world: World, *, json: bool) -> None:
    """The formats: on a terminal a table; in a pipe name, title, read and write with a tab
    between; or as JSON."""
    from tokctl.formats import FORMATS

    if json:
        import orjson

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
