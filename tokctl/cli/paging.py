"""Output of answers: long ones go through `$PAGER` or `less` on a terminal, as with git."""

from __future__ import annotations

import os
import shutil
from collections.abc import Container
from io import StringIO
from typing import TYPE_CHECKING

from tokctl.core import systems
from tokctl.core.errors import BadOption

if TYPE_CHECKING:
    from tokctl.cli.world import Console
    from tokctl.report.document import Report

#: Settings of the pager unless the environment sets them. `less` quits at once if the text fits
#: on one screen, passes colours through and leaves the text on the screen; output is UTF-8.
_MANNERS = {"LESS": "FRX", "LESSCHARSET": "utf-8", "LV": "-c"}


def form(given: Container[str]) -> str | None:
    """Return the name of the requested output form, or None if no form is requested.

    Args:
        given: the options that are given.

    Raises:
        TokctlError: two forms are requested.
    """
    names = [name for name in ("json", "csv", "markdown", "latex") if f"--{name}" in given]
    if len(names) > 1:
        raise BadOption(
            f"--{names[0]} and --{names[1]} are two outputs", "choose one of them", "conflict"
        )
    return names[0] if names else None


def write(world: Console, answer: Report, form: str, *, pages: bool) -> None:
    """Write an answer to stdout.

    Args:
        world: the streams.
        answer: the answer to write.
        form: `json`, `csv`, `markdown`, `latex`, or `text`, for people.
        pages: show `text` that is longer than the screen in the pager.
    """
    if form == "text":
        draw(world, answer, pages=pages)
    elif form == "json":
        world.stdout.write(answer.json())
    elif form == "csv":
        from tokctl.report.spreadsheet import spreadsheet

        world.stdout.write(spreadsheet(answer).encode())
    elif form == "markdown":
        from tokctl.report.markdown import markdown

        world.stdout.write(markdown(answer).encode())
    else:
        from tokctl.report.latex import latex

        world.stdout.write(latex(answer).encode())
    world.stdout.flush()


def draw(world: Console, answer: Report, *, pages: bool) -> None:
    """Write an answer to stdout for people; a pipe gets a terminal's layout without frames.

    Args:
        world: the streams.
        answer: the answer to write.
        pages: show an answer that is longer than the screen in the pager.
    """
    from tokctl.report.terminal import console, show

    terminal = world.stdout_is_terminal
    stream = StringIO()
    on = console(stream, color=world.wants_color(terminal), is_terminal=terminal)
    show(answer, on, framed=terminal)
    # Rich fills the rows of tables with spaces up to the width of the last column.
    lines = (line.rstrip() for line in stream.getvalue().split("\n"))
    text = "\n".join(lines).encode()
    if not (pages and page(world, text)):
        world.stdout.write(text)


def page(world: Console, text: bytes) -> bool:
    """Show a text in the pager, and return whether it was shown.

    If not, nothing has been written: stdout is not a terminal or is a dumb one, the text fits on
    the screen, or `$PAGER` is empty, is `cat` or can't be started.
    """
    pager = world.environ.get("PAGER", "less").strip()
    if pager in ("", "cat") or world.environ.get("TERM") == "dumb" or not _is_terminal(world):
        return False
    if text.count(b"\n") < shutil.get_terminal_size().lines:
        return False
    return _run(pager, text, {**_MANNERS, **world.environ})


def pipe(world: Console, command: str, text: bytes) -> bool:
    """Show a text on the terminal with `command`, and return whether it was shown.

    If not, nothing has been written: stdout is not a terminal, or the program is not installed.
    """
    there = shutil.which(command.split()[0], path=world.environ.get("PATH"))
    if there is None or world.environ.get("TERM") == "dumb" or not _is_terminal(world):
        return False
    return _run(command, text, {**_MANNERS, **world.environ})


def _is_terminal(world: Console) -> bool:
    """Return whether stdout is a terminal that another process can write to."""
    try:
        return world.stdout_is_terminal and os.isatty(world.stdout.fileno())
    except (OSError, ValueError):  # a stream in memory
        return False


def _run(pager: str, text: bytes, environ: dict[str, str]) -> bool:
    import signal
    import subprocess

    # A missing `less` is ignored, since nobody asked for it; a missing `$PAGER` the shell reports.
    if pager == "less" and shutil.which(pager, path=environ.get("PATH")) is None:
        return False
    # Ctrl-C belongs to the pager, where it ends a search, for example; tokctl goes on.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with subprocess.Popen(
            pager,
            shell=True,  # `$PAGER` is a command line, as for git and man
            stdin=subprocess.PIPE,
            env=environ,
            preexec_fn=_default_signals if os.name == "posix" else None,
        ) as process:
            # If the user quits the pager early, `communicate` ignores the closed pipe.
            process.communicate(text)
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return process.returncode not in systems.NOT_STARTED


def _default_signals() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
