"""The class of all commands: their values are read and checked here, and their help is shown.

The class adds the options that every command has (`SHARED`, such as `--color`).
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from tokctl.cli.numbers import whole_number, without_separators
from tokctl.cli.options.declaring import CliOption, choose, is_given, with_groups
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption
from tokctl.core.files import watched
from tokctl.core.humanize import listed

#: Command names in the order of the help; each lives in the module of its name, with `_` for `-`.
COMMANDS = (
    *("train", "encode", "decode", "inspect", "compare", "recommend", "convert", "adapt"),
    *("bench", "check", "corpora", "check-exercise", "completion", "man"),
)

COLORS = ("auto", "always", "never")
PROGRESS = ("auto", "bar", "log", "json", "none")

_everywhere = partial(CliOption, panel="Everywhere")


Color = Annotated[
    str | None,
    _everywhere(
        "--color auto|always|never",
        "When to use colour; auto: on a terminal, unless NO_COLOR is set.",
    ),
]
Quiet = Annotated[bool, _everywhere("--quiet -q", "Show no progress and no summary.")]
Verbose = Annotated[bool, _everywhere("--verbose", "Say more about what was done.")]
Debug = Annotated[bool, _everywhere("--debug", "Show the traceback of an error.")]
Progress = Annotated[
    str | None,
    _everywhere(
        "--progress auto|bar|log|json|none",
        "How to show the progress of long work on stderr: a bar, occasional lines, or one JSON "
        "object per line. auto: a bar on a terminal, lines elsewhere. The default is "
        "$TOKCTL_PROGRESS, or auto.",
    ),
]

#: Options of `tokctl` itself that every command also takes after its own name.
SHARED = ("color", "quiet", "verbose", "debug", "progress")

#: Numeric types of parameters, by annotation.
_NUMBERS: dict[Any, type] = {int: int, int | None: int, float | None: float}


class Command(TyperCommand):
    """A command whose parameters are in the catalogue; its context object is the `Console`."""

    def __init__(self, name: str | None, **settings: Any) -> None:
        super().__init__(name, **settings)
        _read_values_here(self)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the `--help` flag, which needs no value to be parsed."""
        return _help_option(super().get_help_option(ctx), has_screen=bool(_often(self)))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help: all of it for `--help`, one screen for `-h`.

        Values that the code knows, such as presets, are looked up only here. Like Typer's own help,
        the text goes to stdout and not into `formatter`.
        """
        for parameter in self.params:
            parameter.metavar = metavar_of(parameter)
        often = _often(self)
        if "--help" in ctx.obj.arguments or not often:
            super().format_help(ctx, formatter)
        else:
            rows = [(_usage_of(option), option.declared.short) for option in often]
            options = [each for each in self.params if each.param_type_name == "option"]
            number = len(options) + len(SHARED)
            more = f"{ctx.command_path} --help has all {number} options, and more examples."
            typer.echo(_screen(self, ctx, rows, more))

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's own parameters, the shared options, and `--help`."""
        *own, help_option = super().get_params(ctx)
        return [*own, *(p for p in ctx.find_root().command.params if p.name in SHARED), help_option]

    def make_parser(self, ctx: Any) -> Any:
        """Return Typer's parser, which also accepts the former names of options."""
        parser = super().make_parser(ctx)
        for parameter in self.params:
            declared = getattr(parameter, "declared", None)
            if former := getattr(declared, "former", None):
                now, parameter.opts = parameter.opts, [former]
                parameter.add_to_parser(parser, ctx)
                parameter.opts = now
        return parser

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises:
            PastTyper: carries a Ctrl-C, or an error of the system, out of the command.
            TokctlError: the command failed.
        """
        apply(ctx.obj, **{name: ctx.params.pop(name) for name in SHARED})
        try:
            for parameter in self.params:
                _check(parameter, ctx.params[parameter.name])
            with watched(ctx.obj.inputs):
                ctx.obj.inputs.declare(self.params, ctx.params)
                _check_together(self.params, ctx.params)
                return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError, OSError) as error:
            raise PastTyper(error) from error


def add_command(
    app: typer.Typer, command: Callable[..., Any], *, epilog: str, short_help: str
) -> None:
    """Add a command to `app` by the name of its function, with `-` for `_`.

    Args:
        app: the application.
        command: the function; options of its groups become options of the command.
        epilog: examples and further text of the help.
        short_help: one line for the list of commands.
    """
    name = command.__name__.replace("_", "-")
    app.command(name, cls=Command, epilog=epilog, short_help=short_help)(with_groups(command))


class CommandGroup(TyperGroup):
    """A group of commands: `tokctl` itself, or `tokctl corpora`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        _read_values_here(self)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the `--help` flag, as `Command` does."""
        return _help_option(super().get_help_option(ctx), has_screen=True)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help: all of it for `--help`, one screen with the commands for `-h`."""
        if "--help" in ctx.obj.arguments:
            super().format_help(ctx, formatter)
        else:
            rows = [
                (name, command.short_help or command.help or "")
                for name, command in self.commands.items()
            ]
            more = f"{ctx.command_path} COMMAND -h shows its options, and --help everything."
            typer.echo(_screen(self, ctx, rows, more))


def _often(command: Any) -> list[Any]:
    """Return the options of a command that `-h` shows."""
    return [each for each in command.params if getattr(each.declared, "short", None)]


def _usage_of(option: Any) -> str:
    """Return the usage of an option, as in `-o, --output PATH`."""
    long, *short = option.opts
    value = "" if option.is_flag else option.declared.metavar or option.name.upper()
    return f"{short[0] + ',' if short else '':3} {long} {value}".rstrip()


def _screen(command: Any, context: Any, rows: Sequence[tuple[str, str]], more: str) -> str:
    """Return the screen of `-h`: usage, three examples, and `rows` of options or commands."""
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    examples = re.findall(r"^  \S.*", command.epilog, re.MULTILINE)[:3]
    width = max(len(written) for written, _ in rows)
    lines = [
        # From 14 rows on, the screen has no room for this empty line.
        *(
            f"Usage: {usage}",
            *([""] if len(rows) < 14 else []),
            command.short_help or command.help,
            "",
        ),
        *(*examples, ""),
        *(f"  {written:{width}}  {text}" for written, text in rows),
        *("", more),
    ]
    return "\n".join(lines)


def _help_option(flag: Any, *, has_screen: bool) -> Any:
    """Return the flag without a type in the help, and with the default False.

    Typer would parse the default None as a value.
    """
    flag.metavar, flag.default = "", False
    if has_screen:
        flag.help = "Show this message and exit; -h shows one screen."
    return flag


class PastTyper(BaseException):
    """Carrier of an error past Typer, which would end the process in its own way."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def _read_values_here(command: Any) -> None:
    """Parse text and number values by `_read` instead of Typer.

    From 0.29 on, Typer imports pydantic for that, which takes twice as long as the rest of a start;
    and its messages about wrong numbers differ between versions. Each parameter gets the attributes
    `declared`, its entry in the catalogue, and `number`, its numeric type or None.
    """
    if command.callback is None:
        return
    hints = inspect.get_annotations(inspect.unwrap(command.callback), eval_str=True)
    for parameter in command.params:
        kind, parameter.declared = get_args(hints[parameter.name])
        parameter.number = _NUMBERS.get(kind)
        # Typer 0.29 adds brackets, also around a metavar that has them.
        if (parameter.metavar or "").startswith("["):
            parameter.get_usage_pieces = partial(_usage, parameter.metavar)
        if parameter.callback is None:
            parameter.process_value = partial(_read, parameter, parameter.process_value)


def _usage(metavar: str, _context: Any) -> list[str]:
    return [metavar]


def _read(parameter: Any, by_typer: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return the value of a parameter from the command line, or its default.

    Raises:
        typer.BadParameter: the value is not a number, or is below the minimum.
    """
    if parameter.multiple or parameter.nargs == -1:
        return tuple(_as_listed(parameter, one) for one in value or ())
    if value is None:
        return by_typer(context, None) if parameter.required else None
    number = parameter.number
    if number is None:
        return _as_listed(parameter, value)
    if isinstance(value, number):
        return value
    least = parameter.declared.min
    try:
        found = whole_number(value) if number is int else number(without_separators(value))
    except ValueError:
        wrong = f"{value!r} is not a {'whole ' if number is int else ''}number."
    else:
        if least is None or found >= least:
            return found
        wrong = f"{found} is less than {least}."
    raise typer.BadParameter(wrong, context, parameter, [*parameter.opts])


def _as_listed(parameter: Any, value: Any) -> Any:
    """Return a value as the catalogue spells it, if the two differ only in the case of letters.

    In a list with commas, each word is looked up, up to the first word with an argument of its own
    (`replace:a`) or JSON.
    """
    if not isinstance(value, str) or value == value.lower():
        return value
    known = values_of(parameter)
    names = {name.casefold(): name for name in known}
    words = value.split(",") if parameter.multiple else [value]
    for place, word in enumerate(words):
        if ":" in word or word.startswith("{"):
            break
        if word not in known:
            words[place] = names.get(word.casefold(), word)
    return ",".join(words)


def values_of(parameter: Any) -> tuple[str, ...]:
    """Return all possible values of a parameter, or nothing if any value is possible."""
    declared = parameter.declared
    if declared.values is not None:
        return tuple(declared.values())
    alternatives = tuple((declared.metavar or "").split("|"))
    words = all(word.replace("-", "").isalnum() and word.islower() for word in alternatives)
    return alternatives if len(alternatives) > 1 and words else ()


def metavar_of(parameter: Any) -> str:
    """Return the metavar of a parameter's value, or an empty text for a flag."""
    return parameter.metavar or "|".join(values_of(parameter))


def _check(parameter: Any, value: Any) -> None:
    """Raise TokctlError if the catalogue lists all values of a parameter, but not `value`."""
    if _is_closed(parameter) and value is not None and value != parameter.default:
        name = parameter.opts[0] if parameter.param_type_name == "option" else "the shell"
        choose(name, value, values_of(parameter))


def _check_together(parameters: Sequence[Any], values: Mapping[str, Any]) -> None:
    """Raise TokctlError for a given option that needs another one, or conflicts with one."""
    given = {
        parameter.opts[0]: parameter
        for parameter in parameters
        if is_given(values[parameter.name], parameter.default)
    }
    for option, parameter in given.items():
        needs = parameter.declared.needs
        names = [usage.split(" ")[0] for usage in needs]
        if names and not any(name in given for name in names):
            raise BadOption(
                f"{option} needs {listed(names, 'or')}",
                f"add {listed(needs, 'or')}, or leave {option} out",
                "missing-option",
            )
        for other, why in parameter.declared.conflicts.items():
            if other in given:
                raise BadOption(
                    f"{option} can't be used with {other}: {why}",
                    "leave one of them out",
                    "conflict",
                )


def _is_closed(parameter: Any) -> bool:
    """Return whether a value outside the catalogue is an error.

    By default it is one if the metavar lists the values.
    """
    declared = parameter.declared
    if declared.closed is None:
        return declared.values is None and not parameter.multiple and bool(values_of(parameter))
    return bool(declared.closed)


def apply(
    world: Console,
    *,
    color: str | None,
    quiet: bool,
    verbose: bool,
    debug: bool,
    progress: str | None,
) -> None:
    """Store the shared options in the world; None and False change nothing."""
    if color is not None:
        world.color = choose("--color", color, COLORS)
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


def given_early(arguments: Sequence[str], option: str) -> str | None:
    """Return the last value that the command line gives to an option, before it is parsed.

    Errors in the command line are reported before `apply` is called, and need these values.
    """
    value = None
    for place, word in enumerate(arguments):
        if word == "--":
            break
        if word == option:
            value = "".join(arguments[place + 1 : place + 2])
        elif word.startswith(f"{option}="):
            value = word.removeprefix(f"{option}=")
    return value
