"""Long answers on a terminal, page by page: `$PAGER`, or `less`, as git does it."""

from __future__ import annotations

import os
import shutil
from io import StringIO
from typing import TYPE_CHECKING

from tokctl import systems
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.cli.world import World
    from tokctl.render.document import Answer

#: What `less` is asked for where the environment does not say: leave at once what fits on one
#: screen, let colours through, keep the text on the screen; and output is UTF-8.
_MANNERS = {"LESS": "FRX", "LESSCHARSET": "utf-8", "LV": "-c"}


def form(**wanted: bool) -> str | None:
    """The form that was asked for, by the names of the options; None without any."""
    names = [name for name, is_wanted in wanted.items() if is_wanted]
    if len(names) > 1:
        raise TokctlError(f"--{names[0]} and --{names[1]} are two outputs", "choose one of them")
    return names[0] if names else None


def write(world: World, answer: Answer, form: str, *, pages: bool) -> None:
    """Writes an answer to stdout.

    Args:
        form: `json`, `markdown`, `latex`, `plain` (a tab between fields), or `text`, for people.
    """
    if form == "text":
        draw(world, answer, pages=pages)
    elif form == "json":
        world.stdout.write(answer.json())
    elif form == "plain":
        world.stdout.write(answer.plain().encode())
    elif form == "markdown":
        from tokctl.render.markdown import markdown

        world.stdout.write(markdown(answer).encode())
    else:
        from tokctl.render.latex import latex

        world.stdout.write(latex(answer).encode())
    world.stdout.flush()


def draw(world: World, answer: Answer, *, pages: bool) -> None:
    """Writes an answer to stdout for people, as wide and as coloured as stdout takes it; what is
    longer than a terminal's screen page by page, if `pages`."""
    from tokctl.render.terminal import console, show

    terminal = world.stdout_is_terminal
    stream = StringIO()
    on = console(stream, color=world.wants_color(terminal), is_terminal=terminal)
    show(answer, on)
    # Rich fills the rows of tables with spaces up to the width of the last column.
    lines = (line.rstrip() for line in stream.getvalue().split("\n"))
    text = "\n".join(lines).encode()
    if not (pages and page(world, text)):
        world.stdout.write(text)


def page(world: World, text: bytes) -> bool:
    """Shows a text in the pager. False if it is not wanted or does not work: stdout is not
    a terminal, or a dumb one; the text fits on the screen; `$PAGER` is empty or `cat`, or can't
    be started. Nothing has been written then."""
    pager = world.environ.get("PAGER", "less").strip()
    if pager in ("", "cat") or world.environ.get("TERM") == "dumb" or not _is_terminal(world):
        return False
    if text.count(b"\n") < shutil.get_terminal_size().lines:
        return False
    return _run(pager, text, {**_MANNERS, **world.environ})


def pipe(world: World, command: str, text: bytes) -> bool:
    """Gives a text to a program that shows it on the terminal. False if stdout is none, or
    the program is not there. Nothing has been written then."""
    there = shutil.which(command.split()[0], path=world.environ.get("PATH"))
    if there is None or world.environ.get("TERM") == "dumb" or not _is_terminal(world):
        return False
    return _run(command, text, {**_MANNERS, **world.environ})


def _is_terminal(world: World) -> bool:
    """Is stdout a terminal that another process can write to?"""
    try:
        return world.stdout_is_terminal and os.isatty(world.stdout.fileno())
    except (OSError, ValueError):  # no file is behind it
        return False


def _run(pager: str, text: bytes, environ: dict[str, str]) -> bool:
    import signal
    import subprocess

    # What nobody asked for is missed in silence; of another the shell says that it is not there.
    if pager == "less" and shutil.which(pager, path=environ.get("PATH")) is None:
        return False
    # Ctrl-C is the pager's: it ends a search there, say, and not the answer.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with subprocess.Popen(
            pager,
            shell=True,  # `$PAGER` is a command line, as for git and man
            stdin=subprocess.PIPE,
            env=environ,
            preexec_fn=_default_signals if os.name == "posix" else None,
        ) as process:
            # Whoever leaves before the end has read enough: `communicate` says nothing then.
            process.communicate(text)
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return process.returncode not in systems.NOT_STARTED


def _default_signals() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
