"""Inputs and outputs of commands: the model, the texts to read, and the data to write."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tokctl.cli.inputs import status_of
from tokctl.cli.options import choose
from tokctl.cli.world import Console
from tokctl.core.errors import BadInput, BadOption, TokctlError, printable

if TYPE_CHECKING:
    from tokctl.formats import LoadOptions
    from tokctl.sources import Document, ReadOptions, Source
    from tokctl.tokenizer import Tokenizer

_STDIN = "-"
#: Suffixes of model files.
_SUFFIXES = (".json", ".model", ".gguf", ".tiktoken")
#: Formats of `--format` without fields, so that `--text-field` means nothing.
_WITHOUT_FIELDS = ("text", "tsv", "raw")


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

    models = list(takewhile(formats.recognized, names))
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
        if found := formats.recognized(name):
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


class Sources:
    """Texts that a command reads: the options from `--format` to `--files0-from`.

    Attributes:
        format: the format of every text, or `auto`.
        columns: see `tokctl.sources.ReadOptions`.
        text_field: the field or column with the text; None: the default.
        include: patterns of the files to read in folders; empty: all.
        exclude: patterns of the files to leave out.
        files_from: a file that lists texts, one a line; None: none.
        files0_from: a file that lists texts, each ended by a NUL; None: none.
    """

    def __init__(
        self,
        format: str = "auto",  # noqa: A002
        text_field: str | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        files_from: str | None = None,
        files0_from: str | None = None,
        columns: tuple[str, ...] = (),
    ) -> None:
        """Store the options as they are given; None is an option that is not given."""
        self.format = format
        self.columns = columns
        self.text_field = text_field
        self.include = include or ()
        self.exclude = exclude or ()
        self.files_from = files_from
        self.files0_from = files0_from
        self._listed: list[str] | None = None

    @property
    def given(self) -> str | None:
        """The first of the options that was given; None: none was."""
        values = {
            "--format": self.format != "auto",
            "--text-field": self.text_field is not None,
            "--include": self.include,
            "--exclude": self.exclude,
            "--files-from": self.files_from is not None,
            "--files0-from": self.files0_from is not None,
        }
        return next((option for option, value in values.items() if value), None)

    @property
    def lists(self) -> list[str]:
        """The files that list texts: the values of `--files-from` and `--files0-from`."""
        return [path for path in (self.files_from, self.files0_from) if path is not None]

    def check_needed(self, hint: str) -> None:
        """Raise TokctlError if an option says how texts are read, in a command without texts."""
        if self.given is not None:
            raise BadOption(
                f"{self.given} says how texts are read, and there is none", hint, "conflict"
            )

    @property
    def reading(self) -> ReadOptions:
        """The settings for reading; TokctlError if options conflict."""
        from tokctl.sources.document import FORMATS, ReadOptions

        choose("--format", self.format, FORMATS)
        if self.text_field is not None:
            if self.format in _WITHOUT_FIELDS:
                raise BadOption(
                    f"--text-field does not go with --format {self.format}, which has no fields",
                    "leave it out, or take --format jsonl, parquet or arrow",
                    "conflict",
                )
            if not self.text_field:
                raise BadOption(
                    "--text-field is empty", "name the field that holds the text", "bad-value"
                )
        for option, patterns in (("--include", self.include), ("--exclude", self.exclude)):
            if "" in patterns:
                raise BadOption(
                    f"a pattern of {option} is empty", "spell it like '*.md'", "bad-value"
                )
        include, exclude = tuple(self.include), tuple(self.exclude)
        return ReadOptions(self.format, self.text_field, include, exclude, self.columns)

    def names(self, world: Console, files: Sequence[str] | None) -> list[str]:
        """Return the arguments, followed by the entries of `--files-from` and `--files0-from`.

        The lists are read at the first call only, since stdin can't be read twice.
        """
        if self._listed is None:
            self._listed = self._read_lists(world, files or ())
        return [*(files or ()), *self._listed]

    def _read_lists(self, world: Console, files: Sequence[str]) -> list[str]:
        lists = [(self.files_from, b"\n"), (self.files0_from, b"\0")]
        given = [(name, end) for name, end in lists if name is not None]
        from_stdin = sum(name == _STDIN for name, _ in given)
        if from_stdin > 1:
            raise BadOption(
                "stdin (-) is named twice", "it can be only one of the lists", "conflict"
            )
        listed: list[str] = []
        for name, end in given:
            option = "--files-from" if end == b"\n" else "--files0-from"
            for path in _listed(world, name, end):
                world.inputs.name(path, option)
                listed.append(path)
        if from_stdin and _STDIN in (*files, *listed):
            raise BadOption(
                "stdin can't be both a list of texts and a text", "leave the text - out", "conflict"
            )
        return listed

    def open(self, world: Console, files: Sequence[str] | None) -> list[Source]:
        """Open the texts that arguments and lists name, or stdin if nothing is named.

        Raises:
            TokctlError: a text can't be opened, options conflict, or stdin is a terminal.
        """
        from tokctl import sources

        reading = self.reading
        names = self.names(world, files)
        if not names and not self.lists:
            if world.stdin_is_terminal:
                raise BadOption(
                    "there is no text: stdin is a terminal",
                    "name a file, or pipe text in: cat book.txt | tokctl …; - lets you type",
                    "missing-option",
                )
            names = [_STDIN]
        opened = sources.open_sources(names, reading, stdin=world.stdin)
        for source in opened:
            if note := getattr(source, "note", ""):
                world.say(f"note: {printable(note)}")
        return opened


def _listed(world: Console, name: str, end: bytes) -> list[str]:
    """Return the names in a list, after checking that each one exists.

    Patterns are not expanded. A folder is an error, since `find` lists its files as well.

    Args:
        world: where a list from stdin is read.
        name: the path of the list; `-` is stdin.
        end: the byte that ends each name, a line feed or NUL.
    """
    from tokctl import sources
    from tokctl.sources import folders, remote

    (text,) = sources.documents([name], stdin=world.stdin)
    unit = "line" if end == b"\n" else "name"
    names: list[str] = []
    for number, entry in enumerate(b"".join(text.blocks()).split(end), 1):
        if not entry:
            continue
        listed = os.fsdecode(entry)
        if listed != _STDIN and not remote.is_address(listed):
            place = f"{text.name}, {unit} {number}"
            try:
                status = os.stat(listed)  # noqa: PTH116  (lists are long, and Path is slow)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                hint = "names are taken literally and are relative to the current folder"
                if end == b"\0" and b"\n" in entry:
                    hint = "a NUL ends a name here, as of find -print0; --files-from takes lines"
                raise BadInput(
                    f"{place}: can't read {listed}: {reason}", hint, "unreadable"
                ) from None
            if stat.S_ISDIR(status.st_mode) and not folders.is_saved_dataset(listed):
                raise BadInput(
                    f"{place}: {listed} is a folder",
                    "list the files in it (find … -type f), or give it as an argument",
                    "unreadable",
                )
        names.append(listed)
    return names


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
    if path is None or path == "-":
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
