"""Usual command lines, read without Typer.

Importing Typer and building its parser takes longer than reading a model. A command line that is
surely right is read here, from the same declarations; every other, and whatever asks for help or
completion, is Typer's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any

from tokctl.cli import options
from tokctl.cli.declared import Argument, annotated
from tokctl.cli.world import World

#: The commands that are started often, in the modules of their names.
COMMANDS = ("encode", "decode")


class _UnusualError(Exception):
    """Not to be read here."""


def read(arguments: Sequence[str], world: World) -> Callable[[], int | None] | None:
    """What runs the command with these arguments; None where that is Typer's to find out."""
    if not arguments or arguments[0] not in COMMANDS or "_TOKCTL_COMPLETE" in world.environ:
        return None
    name = arguments[0]
    from importlib import import_module

    command: Callable[..., int | None] = getattr(import_module(f"tokctl.cli.{name}"), name)
    try:
        values = _values(command, arguments[1:])
    except _UnusualError:
        return None
    everywhere = {key: values.pop(key, default) for key, (_, default) in options.GLOBALS.items()}

    def run() -> int | None:
        options.apply(world, **everywhere)
        return command(world, **values)

    return run


def _values(command: Callable[..., Any], arguments: Sequence[str]) -> dict[str, Any]:
    """The values given, by the parameters' names."""
    named, positional = _declared(command)
    values: dict[str, Any] = {}
    rest = iter(arguments)
    for word in rest:
        if not word.startswith("-") or word == "-":
            values.setdefault(positional, []).append(word)
            continue
        option, is_joined, value = word.partition("=")
        if option not in named or (is_joined and not option.startswith("--")):
            raise _UnusualError
        name, kind, how, flag = named[option]
        if kind is bool:
            if is_joined or name in values:
                raise _UnusualError
            values[name] = flag
            continue
        if not is_joined:
            value = next(rest, "")
        if not value or (value.startswith("-") and value != "-"):
            raise _UnusualError  # forgotten, perhaps
        if kind == list[str]:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise _UnusualError
        else:
            values[name] = _converted(value, kind, how)
    return values


def _converted(value: str, kind: Any, how: Mapping[str, Any]) -> Any:
    if kind is str:
        return value
    digits = value.replace(".", "", 1) if kind is float else value
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 100):
        raise _UnusualError
    number = kind(value)
    if number < how.get("min", 0):
        raise _UnusualError
    return number


#: A parameter's name, its type, how it is declared, what a flag makes of it.
_Named = tuple[str, Any, Mapping[str, Any], bool]


def _declared(command: Callable[..., Any]) -> tuple[dict[str, _Named], str]:
    """The parameters by the spellings of their options; the name of what is no option."""
    named: dict[str, _Named] = {}
    positional = ""
    kinds = {name: annotated(command, kind) for name, kind in command.__annotations__.items()}
    kinds |= {name: kind for name, (kind, _) in options.GLOBALS.items()}
    for name, kind in kinds.items():
        said = getattr(kind, "__metadata__", (None,))[0]
        if said is None:
            continue  # the world, what is returned
        if isinstance(said, Argument):
            positional = name
            continue
        plain = kind.__origin__
        if isinstance(plain, UnionType):  # with None
            plain = next(one for one in plain.__args__ if one is not type(None))
        for spelling in said.names:
            on, _, off = spelling.partition("/")
            named[on] = (name, plain, said.how, True)
            if off:
                named[off] = (name, plain, said.how, False)
    return named, positional
