"""The `tokctl` command: its subcommands, and the boundary where every error becomes a message."""

import errno
import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer

from tokctl import __version__
from tokctl.cli.command import (
    COLORS,
    COMMANDS,
    Color,
    CommandGroup,
    Debug,
    PastTyper,
    Progress,
    Quiet,
    Verbose,
    apply,
    given_early,
)
from tokctl.cli.options.declaring import CliOption
from tokctl.cli.world import Console
from tokctl.core import systems
from tokctl.core.errors import BadInput, BadOption, ExitCode, OutOfMemoryError, TokctlError
from tokctl.core.files import prepare_crash_message
from tokctl.core.signals import unwrapped
from tokctl.core.values import limit_screen

#: Commands that process texts or models. Only these load the native core at the start, so that it
#: can report that memory ran out.
_WORKING = COMMANDS[:9]

EPILOG = """Examples:

  tokctl train --algo wordpiece --vocab 20000 book.txt
  tokctl encode book.wordpiece.json book.txt
  tokctl compare book.txt

tokctl COMMAND --help shows all options and more examples; tokctl man COMMAND shows the manual page.

Exit codes: 0 success; 1 a condition (--fail-if, --fail-on) or a verification (--verify) failed;
2 bad usage or input; 130 interrupted; 143 ended by SIGTERM.

Environment: TOKCTL_MODEL (the default for -m), TOKCTL_CACHE, TOKCTL_PROGRESS,
TOKCTL_SIMD, NO_COLOR, COLUMNS and PAGER; tokctl man explains them."""


def _version(value: bool) -> None:
    if value:
        typer.echo(f"tokctl {__version__}")
        raise typer.Exit


def _callback(
    context: typer.Context,
    color: Color = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
    progress: Progress = None,
    version: Annotated[  # noqa: ARG001
        bool, CliOption("--version", "Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Train, run, inspect and compare subword tokenizers."""
    apply(context.obj, color=color, quiet=quiet, verbose=verbose, debug=debug, progress=progress)


def build(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """Build the application with the commands in `names`."""
    app = typer.Typer(
        cls=CommandGroup,
        no_args_is_help=True,
        add_completion=False,  # Typer's starts Python at each Tab, and knows no values
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=EPILOG,
    )
    app.callback()(_callback)
    for name in names:
        module = import_module(f"tokctl.cli.{name.replace('-', '_')}")
        module.register(app)
    return app


@cache
def _command(names: tuple[str, ...]) -> Any:
    """Return the command tree for `names`, built once per process."""
    return typer.main.get_command(build(names))


def run(arguments: Sequence[str], world: Console) -> int:
    """Run one command line and return its exit code.

    Errors are written to the `world` as messages. Only a `SystemExit` of the process itself, such
    as SIGTERM, is raised again.
    """
    progress = given_early(arguments, "--progress")
    if (progress or world.environ.get("TOKCTL_PROGRESS")) == "json":
        world.speak_events()
    arguments = _as_options(arguments)
    world.arguments = arguments
    color = given_early(arguments, "--color")
    world.color = color if color in COLORS else world.color
    try:
        code = _command(_needed(arguments))(
            list(arguments),
            prog_name="tokctl",
            obj=world,
            standalone_mode=False,
            complete_var="",  # ignore the environment variable of Typer's completion
        )
        world.stdout.flush()
        return int(code or ExitCode.DONE)
    except typer.Exit as stop:
        return int(stop.exit_code)
    except BaseException as error:
        cause = unwrapped(error.error if isinstance(error, PastTyper) else error)
        if world.debug:
            import traceback

            traceback.print_exception(cause, file=world.stderr)
        return _report(cause, world, arguments)


def _as_options(arguments: Sequence[str]) -> Sequence[str]:
    """Replace `help COMMAND`, `version` and `-V` with the options that they stand for."""
    match list(arguments):
        case ["help", *command]:
            return [*command, "--help"]
        case ["version" | "-V"]:
            return ["--version"]
    return arguments


def _needed(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the commands to import.

    That is one command where `arguments` call one, and none for the version. Help, completion and
    unknown words need all.
    """
    if list(arguments) == ["--version"]:
        return ()
    for place, word in enumerate(arguments):
        if word in COMMANDS:
            return (word,)
        if word in ("-h", "--help") or not (
            word.startswith("-") or arguments[place - 1 : place] in (["--color"], ["--progress"])
        ):
            break
    return COMMANDS


def _report(error: BaseException, world: Console, arguments: Sequence[str]) -> int:
    if isinstance(error, OSError) and systems.is_closed_pipe(error):
        return ExitCode.DONE
    # An interrupted job that can be resumed says how in a note of its exception.
    hint = "; ".join(getattr(error, "__notes__", ()))
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        if world.speaks_events:
            world.report(TokctlError("interrupted", hint))
            return ExitCode.INTERRUPTED
        world.stderr.write("\n" if world.stderr_is_terminal else "")
        world.say("interrupted")
        if hint:
            world.say(f"hint: {hint}")
        return ExitCode.INTERRUPTED
    if isinstance(error, TokctlError):
        world.report(error)
        return error.exit_code
    # A usage error: its class is Typer's or Click's, depending on the version.
    if format_message := getattr(error, "format_message", None):
        if format_message():  # empty: no command was given, and the help has been shown
            from tokctl.cli import guesses

            command = next((word for word in arguments if word in COMMANDS), None)
            world.report(BadOption(*guesses.explained(error, command)))
        return ExitCode.BAD_INPUT
    if _lacks_memory(error):
        world.report(OutOfMemoryError())
        return ExitCode.BAD_INPUT
    if isinstance(error, OSError):
        world.report(_os_error(error))
        return ExitCode.BAD_INPUT
    if isinstance(error, SystemExit):
        if error.code == 1:  # Typer exits with 1 if the pipe closes while it shows the help
            return ExitCode.DONE
        if hint:
            world.say(f"hint: {hint}")
        raise error
    what = f"{type(error).__name__}: {error}"
    world.report(
        TokctlError(
            f"this should not have happened: {what}",
            "repeat the command with --debug, and report what it shows",
        )
    )
    return ExitCode.BAD_INPUT


#: Parts of error messages that mean "out of memory": starting a thread, loading a native module,
#: and inside Python itself.
_LACKS_MEMORY = (
    *("start new thread", "failed to map", "allocate memory", "static TLS block"),
    *("without setting an exception", "without exception set"),
)


def _lacks_memory(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    told = isinstance(error, (ImportError, RuntimeError, SystemError)) and str(error)
    return isinstance(error, MemoryError) or any(words in str(told) for words in _LACKS_MEMORY)


def _os_error(error: OSError) -> TokctlError:
    reason = error.strerror or str(error)
    if error.filename is not None:
        return BadInput(
            f"{error.filename!s}: {reason}", "check the file and its permissions", "unreadable"
        )
    # Errors of reading name the file where they occur, so an unnamed file is stdout.
    return BadInput(
        f"can't write to stdout: {reason}",
        "repeat the command: the output so far is incomplete",
        "unreadable",
    )


def main() -> NoReturn:
    """Run the `tokctl` script on `sys.argv`, and exit with its exit code."""
    limit_screen(os.environ)
    if isinstance(sys.stdout, TextIOWrapper):
        # Typer writes the help as text, and some encodings lack its characters.
        sys.stdout.reconfigure(errors="replace")
    if not set(_WORKING).isdisjoint(sys.argv):
        prepare_crash_message()
    world = Console.real()
    code = run(sys.argv[1:], world)
    try:
        if code != ExitCode.INTERRUPTED:  # flushing would wait for a reader that has stopped
            world.stdout.flush()
    except OSError:
        # The reader has closed the pipe. Python flushes again at exit, which must not fail.
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(int(code))
