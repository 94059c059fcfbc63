"""Options that say how texts are read, and the texts that a command reads."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated

from tokctl.cli.options import values
from tokctl.cli.options.declaring import TEXTS, CliOption, OptionGroup, choose
from tokctl.cli.world import Console
from tokctl.core.errors import BadInput, BadOption, printable

if TYPE_CHECKING:
    from tokctl.sources import ReadOptions, Source

_STDIN = "-"
#: Formats of `--format` without fields, so that `--text-field` means nothing.
_WITHOUT_FIELDS = ("text", "tsv", "raw")

_source = partial(CliOption, panel="Where the text comes from")


@dataclass(eq=False, repr=False)
class SourceOptions(OptionGroup):
    """Texts that the arguments of a command name, and how they are read.

    Attributes:
        columns: see `tokctl.sources.ReadOptions`.
    """

    format: Annotated[
        str,
        _source(
            "--format FORM",
            "The format of the texts: text, jsonl, parquet, arrow, tsv (a text, a tab and its "
            "count), tar, or raw (nothing is decompressed). auto recognizes JSON Lines by the file "
            "name and the others, except tsv, by their first bytes. gzip, zstd, xz and bz2 are "
            "decompressed.",
            values=values.sources,
        ),
    ] = "auto"
    text_field: Annotated[
        str | None,
        _source(
            "--text-field NAME",
            "The JSON Lines field, or the column, that holds the text; by default text. "
            "a.b is field b inside a. If you give it, stdin is read as JSON Lines, unless it is "
            "a table.",
        ),
    ] = None
    include: Annotated[
        list[str] | None,
        _source(
            "--include PATTERN",
            "In folders, read only the files that match: '*.md' by name, 'docs/**/*.md' by path. "
            "Can be repeated.",
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        _source(
            "--exclude PATTERN", "In folders, skip files and folders that match. Can be repeated."
        ),
    ] = None
    columns: tuple[str, ...] = ()

    files_from: str | None = field(default=None, init=False)
    files0_from: str | None = field(default=None, init=False)
    _listed: list[str] | None = field(default=None, init=False)

    @property
    def lists(self) -> list[str]:
        """The files that list texts: the values of `--files-from` and `--files0-from`."""
        return [path for path in (self.files_from, self.files0_from) if path is not None]

    def check_needed(self, hint: str) -> None:
        """Raise TokctlError if an option says how texts are read, in a command without texts."""
        for option in self.given:
            raise BadOption(
                f"{option} says how texts are read, and there is none", hint, "conflict"
            )

    def without_lists(self) -> "SourceOptions":
        """Return the settings for other texts, which no list names."""
        return SourceOptions(self.format, self.text_field, self.include, self.exclude)

    @property
    def reading(self) -> "ReadOptions":
        """The settings for reading; TokctlError if options conflict."""
        from tokctl.sources.document import FORMATS, ReadOptions

        choose("--format", self.format, FORMATS)
        if self.text_field is not None:
            if self.format in _WITHOUT_FIELDS:
                raise BadOption(
                    f"--text-field can't be used with --format {self.format}, which has no fields",
                    "leave it out, or take --format jsonl, parquet or arrow",
                    "conflict",
                )
            if not self.text_field:
                raise BadOption(
                    "--text-field is empty", "name the field that holds the text", "bad-value"
                )
        include, exclude = tuple(self.include or ()), tuple(self.exclude or ())
        for option, patterns in (("--include", include), ("--exclude", exclude)):
            if "" in patterns:
                raise BadOption(
                    f"a pattern of {option} is empty", "spell it like '*.md'", "bad-value"
                )
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

    def open(self, world: Console, files: Sequence[str] | None) -> "list[Source]":
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


@dataclass(eq=False, repr=False)
class ListedTexts(SourceOptions):
    """Texts that arguments and lists name, and how they are read."""

    files_from: Annotated[
        str | None,
        _source(
            "--files-from FILE",
            "Read the names of the texts from this file, one per line, taken literally; - is "
            "stdin.",
            reads=TEXTS,
        ),
    ] = None
    files0_from: Annotated[
        str | None,
        _source(
            "--files0-from FILE",
            "The same, with a NUL after each name, as find -print0 writes them.",
            reads=TEXTS,
        ),
    ] = None


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
