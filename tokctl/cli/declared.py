"""Options and arguments as the commands declare them: for Typer, which explains and completes
them, and for `plain`, which reads usual command lines without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    import inspect


class Declared:
    """What is said of a parameter, in the terms of `typer.Option` and `typer.Argument`."""

    def __init__(self, *names: str, **how: Any) -> None:
        self.names = names
        self.how = how


class Option(Declared):
    """See `typer.Option`."""


class Argument(Declared):
    """See `typer.Argument`."""


def annotated(function: Callable[..., Any], annotation: Any) -> Any:
    """What an annotation of a function's stands for; it may be the text of one."""
    if isinstance(annotation, str):
        return eval(annotation, function.__globals__)
    return annotation


def for_typer(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter as Typer wants it declared."""
    import typer

    said = getattr(parameter.annotation, "__metadata__", ())
    if not said or not isinstance(said[0], Declared):
        return parameter
    make = typer.Option if isinstance(said[0], Option) else typer.Argument
    info = make(*said[0].names, **said[0].how)
    kind = parameter.annotation.__origin__
    return parameter.replace(annotation=Annotated[kind, info])
