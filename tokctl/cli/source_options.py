"""The options that say which texts are read, and how: the same for every command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tokctl.cli import options
from tokctl.cli.world import World
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.sources import Reading, Source

_PANEL = "Where the text comes from"


@dataclass(frozen=True)
class Sources:
    """What was given; each command takes these options as one argument."""

    format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORM",
            help="text, jsonl, parquet, arrow, tsv (a text, a tab, how often it counts), tar, or "
            "raw (nothing is decompressed); auto goes by names and first bytes.",
            rich_help_panel=_PANEL,
        ),
    ] = "auto"
    text_field: Annotated[
        str | None,
        typer.Option(
            "--text-field",
            metavar="NAME",
            help="The field of JSON Lines, or the column, that holds the text; text without it.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    include: Annotated[
        list[str] | None,
        typer.Option(
            "--include",
            metavar="PATTERN",
            help="Of a folder, only files like this: '*.md'. Can be repeated.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude",
            metavar="PATTERN",
            help="Of a folder, no files like this. Can be repeated.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    files_from: Annotated[
        str | None,
        typer.Option(
            "--files-from",
            metavar="FILE",
            help="Read the names of texts from here, one on each line; - is stdin.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None
    files0_from: Annotated[
        str | None,
        typer.Option(
            "--files0-from",
            metavar="FILE",
            help="The same, with a NUL behind each name, as find -print0 writes them.",
            rich_help_panel=_PANEL,
            show_default=False,
        ),
    ] = None

    @property
    def reading(self) -> Reading:
        """How the sources are read."""
        from tokctl.sources.reading import FORMATS, Reading

        options.choose("--format", self.format, FORMATS)
        return Reading(
            self.format, self.text_field, tuple(self.include or ()), tuple(self.exclude or ())
        )

    def names(self, world: World, files: Sequence[str] | None) -> list[str]:
        """The arguments, and behind them what `--files-from` and `--files0-from` list."""
        del world
        return list(files or ())

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
            names = [sources.STDIN]
        return sources.open_sources(names, reading, stdin=world.stdin)


#: Where nothing is given.
NONE = Sources()
