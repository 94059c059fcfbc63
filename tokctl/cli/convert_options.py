"""The options of `convert`, each with its help; the table of formats."""

from __future__ import annotations

import shutil
import textwrap
from typing import Annotated

import typer

from tokctl.cli.world import World

_LEFT_OPEN = "What a file leaves open"

Model = Annotated[
    str | None,
    typer.Argument(
        metavar="[MODEL]",
        help="The model: a file or a folder of a format that tokctl reads, or hf:ORG/NAME; "
        "without it, the one that $TOKCTL_MODEL names.",
        show_default=False,
    ),
]


To = Annotated[
    str | None,
    typer.Option(
        "--to",
        "-t",
        metavar="FORMAT",
        help="The format to write, as the list below has it; tokctl by default.",
        show_default=False,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="PATH",
        help="The new file, or folder where the format is one; by default it is called as the "
        "model, with the ending of the format, here.",
        show_default=False,
    ),
]
Lossy = Annotated[
    bool,
    typer.Option("--lossy", help="Write what the format can hold, and leave out the rest."),
]
Verify = Annotated[
    list[str] | None,
    typer.Option(
        "--verify",
        metavar="TEXT",
        help="Before the new file is put in its place, read it with tokctl and with the library "
        "that defines its format, and compare ids and decoded text on this text; - is stdin. "
        "Can be repeated.",
        show_default=False,
    ),
]
Prune = Annotated[
    int | None,
    typer.Option(
        "--prune",
        min=1,
        metavar="N",
        help="Keep N ids, the most useful ones.",
        show_default=False,
    ),
]
Pattern = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="SPLIT",
        help="How text is split: as train --pretokenize takes it, cl100k or 'regex:…'.",
        rich_help_panel=_LEFT_OPEN,
        show_default=False,
    ),
]
Special = Annotated[
    list[str] | None,
    typer.Option(
        "--special",
        metavar="TOKEN=ID",
        help="A special token and its id. Can be repeated.",
        rich_help_panel=_LEFT_OPEN,
        show_default=False,
    ),
]
ListFormats = Annotated[
    bool, typer.Option("--list-formats", help="Show every format, and what tokctl does with it.")
]
Json = Annotated[bool, typer.Option("--json", help="On stdout, facts as JSON instead of the path.")]


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
