"""Inputs and outputs of commands: the model, the texts to read, and the data to write."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tokctl.cli.inputs import status_of
from tokctl.cli.world import Console
from tokctl.core.errors import BadInput, BadOption, TokctlError, printable

if TYPE_CHECKING:
    from tokctl.formats import LoadOptions
    from tokctl.sources import Document, ReadOptions, Source
    from tokctl.tokenizer import Tokenizer

#: Suffixes of model files.
_SUFFIXES = (".json", ".model", ".gguf", ".tiktoken")


def model_path(world: Console, path: str | None) -> str:
    """Return the path of `--model`, or else of `$TOKCTL_MODEL`, which becomes an input.

    Raises:
        TokctlError: neither names a model.
    """
    if not path and (path := world.environ.get("TOKCTL_MODEL")):
        world.inputs.name(path, "$TOKCTL_MODEL", whole_folder=True)
    if not path:
        raise BadOption(
            "no model is given",
            "name one first, with -m or in $TOKCTL_MODEL; to make one: tokctl train book.txt",
            "missing-option",
        )
    return path


def leading_models(
    world: Console, command: str, files: Sequence[str] | None, given: bool, form: str
) -> tuple[list[str], list[str]]:
    """Separate the models at the start of the arguments from the texts.

    If `-m` names a model, or `--format` is given, every argument is a text.

    Args:
        world: the environment.
        command: the name of the command, for the hint.
        files: the arguments.
        given: whether `-m` names a model.
        form: the value of `--format`.

    Returns:
        The models, and the other arguments.

    Raises:
        TokctlError: the first argument is a model, and `$TOKCTL_MODEL` names one as well.
    """
    names = list(files or ())
    if given or form != "auto" or not names:
        return [], names
    environ = world.environ.get("TOKCTL_MODEL")
    if environ and not names[0].endswith(_SUFFIXES):
        return [], names  # keep the start short: do not open the text to test it
    from tokctl import formats

    models = list(takewhile(formats.format_of, names))
    if models and environ:
        raise BadOption(
            f"{models[0]} is a model, and $TOKCTL_MODEL names {environ}",
            f"tokctl {command} -m {models[0]} … takes this one; tokctl {command} -m {environ} "
            f"{models[0]} reads it as text",
            "conflict",
        )
    return models, names[len(models) :]


def refuse_models(named: Sequence[str], sources: Sequence[Source], form: str) -> None:
    """Raise TokctlError if a text to train on is a model.

    Every named path is tested, and members of folders by their suffix. With `--format`, every
    path is a text.
    """
    from tokctl import formats

    inside = [source.name for source in sources if source.name.endswith(_SUFFIXES)]
    for name in dict.fromkeys([*named, *inside]) if form == "auto" else ():
        if found := formats.format_of(name):
            raise BadInput(
                f"{name} is a model ({found.title}), and training is on text",
                f"to continue training it: tokctl train --extend {name} TEXT; to train on the "
                f"file as text: tokctl train --format text {name}",
            )


def load_model(
    world: Console,
    path: str | None,
    hints: LoadOptions | None = None,
    *,
    cache_memory: int | None = None,
) -> Tokenizer:
    """Load the model of `--model`, or else of `$TOKCTL_MODEL`.

    Prints a note if the model drops bytes or characters that have no token.

    Args:
        world: the environment, and where the note goes.
        path: the path of `--model`; None: `$TOKCTL_MODEL`.
        hints: load options for formats that lack the pattern or the special tokens.
        cache_memory: the limit of the pre-token cache in bytes; None: the default.
    """
    from tokctl.tokenizer import Tokenizer

    path = model_path(world, path)
    if hints is None:
        tokenizer = Tokenizer.load(path, cache_memory=cache_memory)
    else:
        tokenizer = Tokenizer.load(path, pattern=hints.pattern, special_tokens=hints.special)
    if tokenizer.recipe.drops_unknown:
        what = "bytes" if tokenizer.recipe.is_byte_level else "characters"
        world.say(
            f"note: {what} without a token are left out of the ids: {printable(path)} drops them"
        )
    return tokenizer


def end_id(tokenizer: Tokenizer, eos: str) -> int:
    """Return the id of the token that `--eos` names.

    Raises:
        TokctlError: the model has no such token.
    """
    from tokctl.tokenizer import documents

    try:
        return documents.end_id(tokenizer, eos)
    except TokctlError as error:
        raise error.reworded(f"--eos: {error.message}") from None


def names(world: Console, files: Sequence[str] | None, *, ids: bool = False) -> list[str]:
    """Return the arguments, or `-` if there are none.

    Args:
        world: the streams.
        files: the arguments.
        ids: the arguments are files of ids, for the error message.

    Raises:
        TokctlError: nothing is named and stdin is a terminal, or stdin is named twice.
    """
    from tokctl import sources

    if not files and world.stdin_is_terminal:
        what, kind, file = (
            ("are no ids", "ids", "ids.txt") if ids else ("is no text", "text", "book.txt")
        )
        raise BadOption(
            f"there {what}: stdin is a terminal",
            f"name a file, or pipe {kind} in: cat {file} | tokctl …; - lets you type",
            "missing-option",
        )
    found = list(files or [sources.STDIN])
    if found.count(sources.STDIN) > 1:
        raise BadOption("stdin (-) is named twice", "it can be read only once", "conflict")
    return found


def documents(world: Console, files: Sequence[str] | None, *, raw: bool = False) -> list[Document]:
    """Open the texts that the arguments name, or stdin; `raw` does not decompress them."""
    from tokctl import sources

    return sources.documents(names(world, files), stdin=world.stdin, raw=raw)


def output_file(path: str | None) -> str | None:
    """Return the path of `-o` if it is a file, or None if the output goes to stdout."""
    return None if path == "-" else path


def check_output(world: Console, path: str) -> None:
    """Raise TokctlError if `path` surely can't be written, or is one of the files to read.

    Called before the work starts, so that nobody waits in vain. Leaves no file behind.
    """
    hint = "choose another place with -o PATH"
    if not path:
        raise BadOption("-o is empty", hint, "bad-value")
    try:
        target = Path(path).resolve()
        if target.is_dir():
            raise BadInput(f"can't write {path}: it is a folder", "name a file in it", "unreadable")
        if Path(path).exists() and not Path(path).is_file():
            return  # a device or a pipe
        if not target.parent.is_dir():
            # The path may be a link whose target lies in a missing folder.
            folder = Path(path).parent
            folder = target.parent if folder.is_dir() else folder
            raise BadInput(
                f"can't write {path}: there is no folder {folder}",
                f"make it first: mkdir -p {folder}",
                "unreadable",
            )
        world.inputs.check(path)
        # Permissions alone do not tell whether a file can be created, so create one.
        import tempfile

        with tempfile.TemporaryFile(dir=target.parent, prefix=f".{target.name}."[:80]):
            pass
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: a loop of links
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"can't write {path}: {reason}", hint, "unreadable") from None


@contextlib.contextmanager
def named(option: str) -> Iterator[None]:
    """Let errors in writing name `option`, which gave the path, instead of `-o`."""
    try:
        yield
    except TokctlError as error:
        hint = error.hint and error.hint.replace("-o PATH", f"{option} FILE")
        raise error.reworded(error.message.replace("-o", option, 1), hint) from None


def is_same_file(stream: BinaryIO, path: str) -> bool:
    """Return whether `path` is the file that the stream writes to, such as `/dev/stdout`."""
    status = status_of(stream)
    return status is not None and os.path.samestat(status, Path(path).stat())


@contextlib.contextmanager
def output(world: Console, path: str | None) -> Iterator[BinaryIO]:
    """Open the output: the file at `path`, or stdout if `path` is `-` or None.

    A file is complete or absent: it gets its name when the block ends without an error.
    """
    if (path := output_file(path)) is None:
        world.data_on_stdout = True
        yield world.stdout
        return
    from tokctl.core.files import whole_file

    with whole_file(path) as file:
        yield file


def text_or_bytes(data: bytes) -> str | dict[str, str]:
    """Return bytes for JSON: text if they are UTF-8, else `{"bytes": base64}`."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        from base64 import b64encode

        return {"bytes": b64encode(data).decode()}


def json_line(value: object) -> bytes:
    """Return a value as JSON on one line, without a line feed."""
    from tokctl.core import orjson

    return orjson.dumps(value)


class FlushingWriter:
    """Writer that flushes after every call, so that output keeps up with input.

    Attributes:
        stream: the output.
        line_is_open: whether the last line written has no line feed yet. The caller sets it.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.line_is_open = False

    def __call__(self, data: bytes) -> None:
        """Write and flush `data`, unless it is empty."""
        if data:
            self.stream.write(data)
            self.stream.flush()


def check_beside(folder: str, shard: str, texts: Sequence[str], reading: ReadOptions) -> None:
    """Raise TokctlError if shards in a folder would be read as texts by the next run.

    Args:
        folder: the folder for the shards.
        shard: the file name of a shard.
        texts: the paths of the texts.
        reading: which files of a folder are texts.
    """
    from tokctl.sources.folders import FileFilter

    chosen = FileFilter(reading)
    path = Path(os.path.realpath(folder), shard)
    for text in texts:
        if not os.path.isdir(text):  # noqa: PTH112
            continue
        read = os.path.realpath(text)
        if path.is_relative_to(read) and chosen.takes(path.relative_to(read).as_posix()):
            raise BadOption(
                f"can't write shards to {folder}: {text} is read with all that is in it",
                "choose another place with -o PATH, or leave it out with --exclude",
                "output-taken",
            )
