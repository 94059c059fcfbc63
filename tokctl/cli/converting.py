"""What `convert` decides before it writes: the format, the place, what may be left out."""

from __future__ import annotations

import os
import shutil
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tokctl.cli import streams
from tokctl.cli.streams import Sources
from tokctl.cli.world import World, visible
from tokctl.errors import ExitCode, TokctlError
from tokctl.wording import plural

if TYPE_CHECKING:
    from tokctl.analysis.verification import Verification
    from tokctl.formats import Files, Format, Hints, Loss
    from tokctl.model import FilledRecipe
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer

_HINT = "choose another place with -o PATH"


class Plan(NamedTuple):
    """Files to write, and what they leave out."""

    files: Files
    losses: list[Loss]

    def paths(self, target: str, form: Format) -> list[str]:
        """Where they go; the file that names the others comes first."""
        if form.is_folder:
            return [os.path.join(target, name) for name in self.files]  # noqa: PTH118
        return [f"{target}{suffix}" for suffix in sorted(self.files)]


def form_of(name: str | None, output: str | None) -> Format:
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


def hints_of(pattern: str | None, special: Sequence[str] | None) -> Hints:
    """`--pattern` and `--special`."""
    from tokctl.formats import Hints

    ids: dict[str, int] = {}
    for entry in special or ():
        token, _, number = entry.rpartition("=")
        if not token or not (number.isascii() and number.isdigit() and len(number) < 10):
            raise TokctlError(
                f"--special can't be {entry!r}", "name the token, then its id: '<|end|>=50256'"
            )
        if token in ids:
            raise TokctlError(f"the special token {token!r} has two ids", "leave one of them out")
        ids[token] = int(number)
    return Hints(pattern, ids or None)


# -- the place ----------------------------------------------------------------------------


def target_of(model: str, form: Format, prune: int | None) -> str:
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


def check_target(world: World, target: str, form: Format, inputs: Sequence[str]) -> None:
    """TokctlError where the place surely can't be written, or is one of the inputs."""
    if not form.is_folder and target.endswith("/"):
        raise TokctlError(f"{target} is a folder, and a {form.title} is a file", "name a file")
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


def check_paths(world: World, paths: Sequence[str], inputs: Sequence[str]) -> None:
    """TokctlError where one of the files would take the place of an input, or has none."""
    for path in paths:
        if Path(path).parent.is_dir():  # else it is in a folder that will be made
            streams.check_output(world, path, inputs)


# -- what is left out ---------------------------------------------------------------------


def plan(world: World, model: FilledRecipe, form: Format, *, lossy: bool) -> Plan:
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
    return Plan(saving.what_it_holds(model, form.name), losses)


# -- what is read back --------------------------------------------------------------------


def holds(model: FilledRecipe, name: str) -> bool:
    """Does the format hold all of the model that ids and texts depend on?"""
    from tokctl import formats

    try:
        return all(loss.minor for loss in formats.losses(model, name))
    except formats.InexpressibleError:
        return False


def texts_of(world: World, given: Sources, verify: Sequence[str]) -> list[Source]:
    """The texts of `--verify`, and those that lists name; none where nothing is to be verified."""
    if verify or given.lists:
        return given.open(world, verify)
    hint = "name one with --verify TEXT"
    if given.format != "auto":
        hint += "; the format of the new model is --to"
    given.check_needed(hint)
    return []


def _puts_nothing(path: Path) -> bool:
    """Does the model there put no special tokens around texts?"""
    from tokctl.tokenizer import Tokenizer

    try:
        return not Tokenizer.load(path).recipe.post_processors
    except TokctlError:
        return False  # which is found out again, and told


def verified(
    world: World,
    tokenizer: Tokenizer,
    files: Files,
    target: str,
    form: Format,
    texts: Sequence[Source],
    *,
    lossy: bool,
) -> Verification:
    """Writes the files into a folder that does not stay, reads them there and compares.

    lossy: what is put around texts may be lost, which no text should be blamed for.

    Raises:
        TokctlError: with exit code 1, where something differs; it is said on stderr.
    """
    from tokctl.analysis.verification import PEERS, verify
    from tokctl.formats import saving

    if not form.reads and form.name not in PEERS:
        raise TokctlError(
            f"nobody reads a model from {form.title}, so there is nothing to verify",
            "leave --verify out",
        )
    with tempfile.TemporaryDirectory(prefix="tokctl.") as folder:
        path = Path(folder, _name(target, form))
        saving.write(files, path, form)
        around = not (lossy and tokenizer.recipe.post_processors and _puts_nothing(path))
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


def _name(target: str, form: Format) -> str:
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


def list_formats(world: World, *, json: bool) -> None:
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
