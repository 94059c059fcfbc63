"""`tokctl`, and `python -m tokctl`."""

import contextlib
import gc
import os
import sys
from typing import NoReturn

#: Objects made before Python's collector looks for cycles. A command imports thousands of
#: objects that stay, and the default of 700 would walk them over and over.
_BETWEEN_COLLECTIONS = 100_000

#: As `tokctl.errors` has it, which is not imported yet where this is needed.
_INTERRUPTED = 130
#: From here on, exit codes are those of signals.
_SIGNALLED = 128


def main() -> None:
    """Runs the command line."""
    _read_arguments_as_utf8()
    gc.set_threshold(_BETWEEN_COLLECTIONS)
    try:
        try:
            _run()
        except KeyboardInterrupt:  # while it was being imported, or as the last was written
            _end_by(SystemExit(_INTERRUPTED))
        except SystemExit as end:
            _end_by(end)
    except KeyboardInterrupt:  # in the moment before `_end_by` expects it
        os._exit(_INTERRUPTED)


def _run() -> None:
    from tokctl.cli.signals import handle_signals

    handle_signals()
    from tokctl.cli.app import main as run

    run()


def _end_by(end: SystemExit) -> NoReturn:
    """Ends the process. A signal that comes meanwhile does so at once, as does a lack of memory:
    what there was to write is written."""
    try:
        _end(end)
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
    except MemoryError:
        if type(end.code) is not int:
            raise
        os._exit(end.code)
    except SystemExit as other:
        if other is end or type(other.code) is not int:
            raise
        os._exit(other.code)


def _read_arguments_as_utf8() -> None:
    """Starts Python anew where it takes the locale C at its word (`PYTHONUTF8=0`), and would know
    no character of an argument, nor of a file's name, beyond ASCII. A program that Python
    has read from stdin goes on as it is: it can't be read again."""
    anew = sys.executable and sys.argv[:1] != ["-"]
    if anew and sys.getfilesystemencoding() == "ascii":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _end(end: SystemExit) -> NoReturn:
    """Ends the process at once, when all is written: to take Python's modules and objects apart
    would take as long as to read a model. Where threads are left, or a debugger or a profiler
    watches, it ends as usual."""
    import atexit
    import threading

    if type(end.code) is int and end.code >= _SIGNALLED:
        _drop_output()
        # A signal can come between what a `with` does first and its block. What it does last is
        # done when nothing refers to it any more.
        end.__traceback__ = end.__context__ = None
        gc.collect()
    # CPython remembers a Ctrl-C that came while a string was executed, as dataclasses are made, and
    # would end by that signal, although it was caught. The next string makes it forget.
    with contextlib.suppress(MemoryError):
        exec("")
    watched = sys.gettrace() or sys.getprofile() or sys.flags.inspect
    if watched or threading.active_count() > 1 or type(end.code) is not int:
        raise end
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            raise end from None
    os._exit(end.code)


def _drop_output() -> None:
    """What stdout still holds goes nowhere: who reads it may have stopped doing so, and a write
    would wait for a second signal. It is a part of what was wanted in any case."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.__stdout__.fileno() if sys.__stdout__ else 1)
        os.close(null)


if __name__ == "__main__":
    main()
