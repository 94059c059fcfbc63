"""Options that every command has, taken before and after its name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

import typer

from tokctl.cli.world import World
from tokctl.errors import TokctlError

_PANEL = "Everywhere"

Color = Annotated[
    str | None,
    typer.Option(
        "--color",
        metavar="auto|always|never",
        help="Colour; auto is on for a terminal, and NO_COLOR is honoured.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No progress, no summary.", rich_help_panel=_PANEL),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="More about what was done.", rich_help_panel=_PANEL),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=_PANEL),
]

Progress = Annotated[
    str | None,
    typer.Option(
        "--progress",
        metavar="auto|bar|log|json|none",
        help="Of long work: a bar, a line now and then, or JSON, an object on each line of "
        "stderr. auto is a bar on a terminal, else lines; $TOKCTL_PROGRESS is the default.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]

_GLOBALS = {"color": (Color, None), "quiet": (Quiet, False), "verbose": (Verbose, False)}
_GLOBALS |= {"debug": (Debug, False), "progress": (Progress, None)}

COLORS = ("auto", "always", "never")
PROGRESS = ("auto", "bar", "log", "json", "none")


def apply(
    world: World,
    *,
    color: str | None,
    quiet: bool,
    verbose: bool,
    debug: bool,
    progress: str | None,
) -> None:
    """Puts what was given into the world; what was not given changes nothing."""
    if color is not None:
        if color not in COLORS:
            raise TokctlError(f"--color can't be {color!r}", "choose auto, always or never")
        world.color = color
    world.quiet |= quiet
    world.verbose |= verbose
    world.debug |= debug
    name = "--progress"
    if progress is None and not world.progress:
        name, progress = "$TOKCTL_PROGRESS", world.environ.get("TOKCTL_PROGRESS") or "auto"
    if progress is not None:
        world.progress = choose(name, progress, PROGRESS)
    if world.progress == "json":
        world.speak_events()


def wants_events(arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Does the command line ask for `--progress json`? For errors in the command line itself,
    which are found before `apply` is called."""
    asked = environ.get("TOKCTL_PROGRESS")
    for place, word in enumerate(arguments):
        if word == "--":
            break
        if word == "--progress":
            asked = "".join(arguments[place + 1 : place + 2])
        elif word.startswith("--progress="):
            asked = word.removeprefix("--progress=")
    return asked == "json"


class PastTyper(BaseException):
    """Carries an error past Typer, which would end the process in its own way."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class Group:
    """Options that a command takes as one argument: annotated names, each with its default.

    No dataclass: what one compiles would be waited for at every start.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        """In the order of the class, or by their names; the others have their defaults."""
        values = dict(zip(self.__annotations__, given, strict=False)) | named
        if len(given) + len(named) > len(values) or values.keys() - self.__annotations__:
            raise TypeError(
                f"{type(self).__name__} has the options {', '.join(self.__annotations__)}"
            )
        self.__dict__.update(values)

    def _values(self) -> list[Any]:
        return [getattr(self, name) for name in self.__annotations__]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    __hash__ = None  # type: ignore[assignment]


def choose(option: str, value: str, allowed: Sequence[str]) -> str:
    """The value; TokctlError where the option does not take it."""
    if value not in allowed:
        raise TokctlError(f"{option} can't be {value!r}", f"choose one of: {', '.join(allowed)}")
    return value


def with_globals(command: Callable[..., int | None]) -> Callable[..., int | None]:
    """The command with the options above added. It is called with the world first.

    A parameter whose type is a `Group` stands for its options.
    """
    signature = inspect.signature(command, eval_str=True)
    groups = {name: p.annotation for name, p in signature.parameters.items() if _is_group(p)}
    parameters = [
        parameter
        for name, p in signature.parameters.items()
        for parameter in (_fields(p.annotation) if name in groups else [p])
        if name != "world"
    ]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in _GLOBALS.items()
    ]
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

    @functools.wraps(command)
    def wrapped(*, context: typer.Context, **values: Any) -> int | None:
        world: World = context.obj
        apply(world, **{name: values.pop(name) for name in _GLOBALS})
        for name, group in groups.items():
            values[name] = group(**{option: values.pop(option) for option in group.__annotations__})
        try:
            return command(world, **values)
        except (KeyboardInterrupt, EOFError, OSError) as error:
            raise PastTyper(error) from error

    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    wrapped.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[context, *keyword_only, *added]
    )
    wrapped.__annotations__ = {p.name: p.annotation for p in [context, *keyword_only, *added]}
    return wrapped


def _is_group(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Group)


def _fields(group: type[Group]) -> list[inspect.Parameter]:
    """The options of a group."""
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=getattr(group, name),
            annotation=kind,
        )
        for name, kind in get_type_hints(group, include_extras=True).items()
    ]
