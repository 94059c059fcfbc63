"""Options that every command has."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from tokctl.cli.options.declaring import CliOption, choose
from tokctl.cli.world import Console

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
