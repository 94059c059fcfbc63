"""The commands and their options as plain data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer

from tokctl.cli.options import values_of


@dataclass(frozen=True)
class Option:
    """An option, or an argument.

    Attributes:
        names: as they are written, long ones first; `--no-…` is one of them. Of an argument its
            name in the usage alone.
        help: as the help has it.
        panel: the heading it stands under.
        metavar: what its value is called; empty: it takes none.
        values: all that it can be; empty where there are others.
        default: what it is when it is not given, in words; empty where the help says it.
        files: its value can be the name of a file.
        repeated: it can be given more than once.
    """

    names: tuple[str, ...]
    help: str
    panel: str
    metavar: str
    values: tuple[str, ...]
    default: str
    files: bool
    repeated: bool

    @property
    def long(self) -> tuple[str, ...]:
        """Names like `--model`."""
        return tuple(name for name in self.names if name.startswith("--"))

    @property
    def short(self) -> tuple[str, ...]:
        """Names like `-m`."""
        return tuple(name for name in self.names if not name.startswith("--"))


@dataclass(frozen=True)
class Command:
    """A command, or a group of them.

    Attributes:
        path: the words that call it: `("tokctl", "corpora", "list")`.
        short, help, epilog: one line, a paragraph, and what stands below the options.
        commands: those of a group.
    """

    path: tuple[str, ...]
    short: str
    help: str
    epilog: str
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]
    commands: tuple[Command, ...] = ()

    @property
    def key(self) -> str:
        """The words behind `tokctl`."""
        return " ".join(self.path[1:])

    def every(self) -> Iterator[Command]:
        """It, and all below it."""
        yield self
        for command in self.commands:
            yield from command.every()


def whole() -> Command:
    """The tree of `tokctl`, with all its commands."""
    from tokctl.cli.app import build

    return _command(typer.main.get_command(build()), ("tokctl",), None)


def _command(command: Any, path: tuple[str, ...], parent: Any) -> Command:
    settings = command.context_settings  # the names of the option for help are among them
    context = typer.Context(command, info_name=path[-1], parent=parent, **settings)
    given = command.get_params(context)
    parameters = [_parameter(each) for each in given]
    arguments = [each.param_type_name == "argument" for each in given]
    help_ = _plain(command.help)
    return Command(
        path=path,
        short=_plain(command.short_help) or _one_line(help_),
        help=help_,
        epilog=_plain(command.epilog, lines=True),
        options=tuple(p for p, is_one in zip(parameters, arguments, strict=True) if not is_one),
        arguments=tuple(p for p, is_one in zip(parameters, arguments, strict=True) if is_one),
        commands=tuple(
            _command(below, (*path, name), context)
            for name, below in getattr(command, "commands", {}).items()
            if not below.hidden
        ),
    )


def _parameter(given: Any) -> Option:
    flag = bool(getattr(given, "is_flag", False))
    argument = given.param_type_name == "argument"
    metavar = "" if flag else (given.metavar or given.name.upper())
    names = (metavar,) if argument else (*given.opts, *given.secondary_opts)
    closed = () if flag else values_of(given)
    number = not flag and given.number is not None
    default = getattr(given, "show_default", False) and not flag and given.default
    return Option(
        names=tuple(sorted(names, key=lambda name: not name.startswith("--"))),
        help=_plain(getattr(given, "help", None)),
        panel=_plain(getattr(given, "rich_help_panel", None)),
        metavar=metavar,
        values=closed,
        default=str(default) if default else "",
        files=not (flag or closed or number),
        repeated=bool(getattr(given, "multiple", False)) or given.nargs == -1,
    )


def _plain(text: str | None, *, lines: bool = False) -> str:
    """Help without Rich's escapes; its line ends are those of the source, and mean nothing but
    where they separate `lines`."""
    text = (text or "").replace("\\[", "[")
    if lines:
        return text.strip("\n")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n")).strip()


def _one_line(text: str) -> str:
    """The first sentence."""
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]
