"""How options and arguments are declared, alone and in groups.

A command is a function whose parameters are arguments, options, or groups of options:
`def train(context: typer.Context, files: TrainFiles = None, recipe: RecipeOptions = …)`. Each
option is declared once, as the annotation of a parameter or of a group's field. The help, the
manual page, the completion and the refusals of `Command` follow from that.

Modules that declare options do without `from __future__ import annotations`: each annotation would
be compiled four times at every start.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from typer.models import ArgumentInfo, OptionInfo

from tokctl.core.errors import BadOption
from tokctl.core.values import did_you_mean

#: Function that returns the possible values of an option. It is called only when they are needed.
Values = Callable[[], Iterable[str]]


class Reads(NamedTuple):
    """How the value of an option or argument names a path that the command reads.

    Attributes:
        path: returns the path within the value.
        whole_folder: if the path is a folder, every file directly in it counts as read.
    """

    path: Callable[[str], str] = str
    whole_folder: bool = False


class Writes(NamedTuple):
    """How the value of an option names a path that the command writes.

    Attributes:
        stdout: without a value, or with the value `-`, the output goes to stdout.
    """

    stdout: bool = False


#: Path of texts; in a folder, only the chosen files are read.
TEXTS = Reads()

#: Path of a model, weights or shards; every file in their folder counts as read.
FOLDER = Reads(whole_folder=True)

#: Path after the name of a language or a model: `fi=fi.txt`.
NAMED = Reads(lambda value: value.partition("=")[2])

NAMED_FOLDER = NAMED._replace(whole_folder=True)

#: Path before a number: `fi.txt=2.0`.
WEIGHTED = Reads(lambda value: value.rpartition("=")[0])

FILE = Writes()

FILE_OR_STDOUT = Writes(stdout=True)


class CliOption(OptionInfo):
    """An option of the catalogue.

    Attributes:
        reads: how the value names a path to read; None: the value names no such path.
        writes: how the value names a path to write; None: the value names no such path.
        values: returns the possible values, which also serve as the metavar if none is given.
            None: the alternatives of a metavar like `strict|replace`, or any value.
        closed: whether other values are an error; None: whether the metavar lists the values.
        short: the option's few words on the screen of `-h`; None: `-h` leaves the option out.
        former: an earlier name of the option, which still works, and which no help shows.
        needs: the usages of other options (`--sample SHARE`), of which this one needs at least one.
        conflicts: the options that this one can't be used with, and why.
    """

    def __init__(
        self,
        usage: str,
        help: str,  # noqa: A002
        *,
        short: str | None = None,
        former: str | None = None,
        panel: str | None = None,
        values: Values | None = None,
        closed: bool | None = None,
        reads: Reads | None = None,
        writes: Writes | None = None,
        needs: Sequence[str] = (),
        conflicts: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        """Declare an option by its usage and its help.

        `usage` has the names and the metavar of the value, as in `--output -o PATH`; a flag has no
        metavar. `panel` is the heading in the help, and `settings` go to `typer.Option`. The other
        parameters are described under the attributes.
        """
        words = usage.split(" ")
        names = [word for word in words if word.startswith("-")]
        super().__init__(
            default=...,
            param_decls=names,
            metavar=" ".join(words[len(names) :]),
            help=help,
            rich_help_panel=panel,
            **settings,
        )
        self.values = values
        self.closed = closed
        self.reads = reads
        self.writes = writes
        self.short = short
        self.former = former
        self.needs = needs
        self.conflicts = conflicts or {}


class CliArgument(ArgumentInfo):
    """An argument of the catalogue, with the attributes of `CliOption` that fit arguments."""

    def __init__(
        self,
        metavar: str,
        help: str,  # noqa: A002
        *,
        values: Values | None = None,
        closed: bool | None = None,
        reads: Reads | None = None,
    ) -> None:
        super().__init__(default=..., metavar=metavar, help=help, show_default=False)
        self.values = values
        self.closed = closed
        self.reads = reads
        self.writes: Writes | None = None
        self.needs: Sequence[str] = ()
        self.conflicts: Mapping[str, str] = {}


def choose(option: str, value: str, allowed: Sequence[str]) -> str:
    """Return `value` if it is one of the allowed values of the option.

    Raises:
        TokctlError: another value is given; the hint names the nearest allowed one.
    """
    if value not in allowed:
        hint = f"{did_you_mean(value, allowed)}choose one of: {', '.join(allowed)}"
        raise BadOption(f"invalid value {value!r} for {option}", hint, "bad-value")
    return value


class OptionGroup:
    """Base of the groups: dataclasses whose annotated fields are options of a command.

    Example:
        @dataclass
        class WindowOptions(OptionGroup):
            stride: Annotated[int | None, CliOption("--stride N", "Overlap of windows.")] = None
    """

    @property
    def given(self) -> dict[str, Any]:
        """The values of the options that are given, by option, such as `--stride`."""
        return given_options(self)


def given_options(group: Any) -> dict[str, Any]:
    """Return the values of the options of a group that are given, by option."""
    return {
        spelling_of(get_args(each.annotation)[1]): value
        for name, each in parameters_of(group.__class__).items()
        if is_given(value := getattr(group, name), each.default)
    }


def is_given(value: Any, default: Any) -> bool:
    """Return whether the value of an option shows that the option is given."""
    # 0 is a value, although it equals False.
    absent = value is None or value is False or value in ((), [])
    return not absent and value != default


def spelling_of(option: CliOption) -> str:
    """Return the long spelling of an option, such as `--stride`."""
    return str((option.param_decls or ("",))[0]).split("/")[0]


@cache
def parameters_of(group: type) -> Mapping[str, inspect.Parameter]:
    """Return the options of a group as parameters of a function, by the names of the fields.

    A field is an option if its annotation has a `CliOption`, or if its metadata has an `Option`.
    """
    kind = inspect.Parameter.KEYWORD_ONLY
    found: dict[str, inspect.Parameter] = {}
    for field in fields(group):
        default, annotation = field.default, field.type
        if (declared := field.metadata.get("option")) and declared.usage:
            option = CliOption(declared.usage, declared.help, **declared.settings)
            annotation = Annotated[declared.kind, option]
            default = None if default == () else default
        if get_origin(annotation) is Annotated:
            found[field.name] = inspect.Parameter(
                field.name, kind, default=default, annotation=annotation
            )
    return found


def _make_group(group: type, values: dict[str, Any]) -> Any:
    """Return a group with the values of a command line, from which it removes its own."""
    given = {name: values.pop(name) for name in parameters_of(group)}
    for field in fields(group):
        declared = field.metadata.get("option")
        if declared and field.name in given:
            value = given.pop(field.name)
            if value is not None:
                option = declared.usage.split(" ")[0]
                given[field.name] = declared.parse(option, value) if declared.parse else value
    return group(**given)


def with_groups(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command as Typer takes it: each option of a group is a parameter of its own."""
    groups: dict[str, type] = {}
    parameters: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        kind = parameter.annotation
        if is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            parameters.update(parameters_of(kind))
        else:
            parameters[name] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)

    def call(**values: Any) -> Any:
        for name, group in groups.items():
            values[name] = _make_group(group, values)
        return command(**values)

    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__module__ = command.__module__
    call.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    call.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    return call
