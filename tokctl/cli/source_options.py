"""The options that say which texts are read, and how: the same for every command."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokctl.cli.options import Group, choose
from tokctl.cli.world import World
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.sources import Reading, Source

_PANEL = "Where the text comes from"
_STDIN = "-"
#: Forms of which a text is no field.
_WITHOUT_FIELDS = ("text", "tsv", "raw")

Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORM",
        help="text, jsonl, parquet, arrow, tsv (a text, a tab, how often it counts), tar, or "
        "raw (nothing is decompressed). auto knows JSON Lines by the name, the others but "
        "tsv by their first bytes; gzip, zstd, xz and bz2 are decompressed.",
        rich_help_panel=_PANEL,
    ),
]
TextField = Annotated[
    str | None,
    typer.Option(
        "--text-field",
        metavar="NAME",
        help="The field of JSON Lines, or the column, that holds the text; text without it. "
        "a.b is the field b in a. With it, stdin is JSON Lines, unless it is a table.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="PATTERN",
        help="Of a folder, only files like this: '*.md' by name, 'docs/**/*.md' by path. "
        "Can be repeated.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="PATTERN",
        help="Of a folder, no files and no folders like this. Can be repeated.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
FilesFrom = Annotated[
    str | None,
    typer.Option(
        "--files-from",
        metavar="FILE",
        help="Read the names of texts from here, one on each line, each as it stands; - is stdin.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Files0From = Annotated[
    str | None,
    typer.Option(
        "--files0-from",
        metavar="FILE",
        help="The same, with a NUL behind each name, as find -print0 writes them.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]


class Sources(Group):
    """What was given; each command takes these options as one argument."""

    format: Format = "auto"
    text_field: TextField = None
    include: Include = None
    exclude: Exclude = None
    files_from: FilesFrom = None
    files0_from: Files0From = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._listed: list[str] | None = None

    @property
    def reading(self) -> Reading:
        """How the sources are read; TokctlError where options do not go together."""
        from tokctl.sources.reading import FORMATS, Reading

        choose("--format", self.format, FORMATS)
        if self.text_field is not None:
            if self.format in _WITHOUT_FIELDS:
                raise TokctlError(
                    f"--text-field does not go with --format {self.format}, which has no fields",
                    "leave it out, or take --format jsonl, parquet or arrow",
                )
            if not self.text_field:
                raise TokctlError("--text-field is empty", "name the field that holds the text")
        for option, patterns in (("--include", self.include), ("--exclude", self.exclude)):
            if "" in (patterns or ()):
                raise TokctlError(f"a pattern of {option} is empty", "spell it like '*.md'")
        return Reading(
            self.format, self.text_field, tuple(self.include or ()), tuple(self.exclude or ())
        )

    def names(self, world: World, files: Sequence[str] | None) -> list[str]:
        """The arguments, and behind them what `--files-from` and `--files0-from` list.

        A list is read once, however often this is asked for: stdin can't be read again.
        """
        if self._listed is None:
            self._listed = self._read_lists(world, files or ())
        return [*(files or ()), *self._listed]

    def _read_lists(self, world: World, files: Sequence[str]) -> list[str]:
        lists = [(self.files_from, b"\n"), (self.files0_from, b"\0")]
        given = [(name, end) for name, end in lists if name is not None]
        from_stdin = sum(name == _STDIN for name, _ in given)
        if from_stdin > 1:
            raise TokctlError("stdin (-) is named twice", "it can be only one of the lists")
        listed: list[str] = []
        for name, end in given:
            listed += _listed(world, name, end)
        if from_stdin and _STDIN in (*files, *listed):
            raise TokctlError(
                "stdin can't be both a list of texts and a text", "leave the text - out"
            )
        return listed

    def open(self, world: World, files: Sequence[str] | None) -> list[Source]:
        """The texts that arguments and lists name, checked; stdin where nothing names any."""
        from tokctl import sources

        reading = self.reading
        names = self.names(world, files)
        listed = self.files_from is not None or self.files0_from is not None
        if not names and not listed:
            if world.stdin_is_terminal:
                raise TokctlError(
                    "there is no text: stdin is a terminal",
                    "name a file, or pipe text in: cat book.txt | tokctl …; - lets you type",
                )
            names = [_STDIN]
        return sources.open_sources(names, reading, stdin=world.stdin)


def _listed(world: World, name: str, end: bytes) -> list[str]:
    """The names of a list, each of something that is there: patterns are not expanded, and a
    folder's files are to be listed themselves, since `find` lists both."""
    from tokctl import sources
    from tokctl.sources import remote, saved_datasets

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
                hint = "each name is taken as it stands, from the folder you are in"
                if end == b"\0" and b"\n" in entry:
                    hint = "a NUL ends a name here, as of find -print0; --files-from takes lines"
                raise TokctlError(f"{place}: can't read {listed}: {reason}", hint) from None
            if stat.S_ISDIR(status.st_mode) and not saved_datasets.is_one(listed):
                raise TokctlError(
                    f"{place}: {listed} is a folder",
                    "list the files in it (find … -type f), or give it as an argument",
                )
        names.append(listed)
    return names


#: Where nothing is given.
NONE = Sources()
