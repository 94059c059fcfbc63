"""The entry point of `tokctl` and `python -m tokctl`."""

import contextlib
import gc
import os
import sys
from typing import NoReturn

#: New objects between two runs of Python's garbage collector. A command imports thousands of
#: objects that stay, and with the default of 700 the collector would walk them over and over.
_BETWEEN_COLLECTIONS = 100_000

#: Equals `ExitCode.INTERRUPTED`. `tokctl.core.errors` may not be imported yet when this is needed.
_INTERRUPTED = 130
#: Exit codes from 128 on stand for signals.
_SIGNALLED = 128


def main() -> None:
    """Run the command line."""
    _read_arguments_as_utf8()
    gc.set_threshold(_BETWEEN_COLLECTIONS)
    try:
        try:
            _run()
        except KeyboardInterrupt:  # during an import, or the last writes
            _end_by(SystemExit(_INTERRUPTED))
        except SystemExit as end:
            _end_by(end)
    except KeyboardInterrupt:  # before `_end_by` has entered its `try`
        os._exit(_INTERRUPTED)


def _run() -> None:
    from tokctl.core.signals import handle_signals, unwrapped

    handle_signals()
    try:
        from tokctl.cli.app import main as run
    except RuntimeError as error:
        raise unwrapped(error) from None
    run()


def _end_by(end: SystemExit) -> NoReturn:
    """End the process with the exit code of `end`.

    A signal or a lack of memory meanwhile ends the process at once, because all output is written.
    """
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
    """Restart Python in UTF-8 mode if the encoding of arguments and file names is ASCII.

    The locale C with `PYTHONUTF8=0` sets that encoding. A program that Python reads from stdin is
    not restarted, because stdin can't be read again.
    """
    anew = sys.executable and sys.argv[:1] != ["-"]
    if anew and sys.getfilesystemencoding() == "ascii":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _end(end: SystemExit) -> NoReturn:
    """End the process as soon as all output is written.

    Python's usual clean-up of modules and objects would take as long as reading a model. A debugger
    or profiler needs it, and so do other threads, unless a signal ended the command. After Ctrl-C,
    it could end the process by SIGINT: CPython remembers a KeyboardInterrupt in code that it
    executes from a string, as dataclasses do, although the exception was caught.
    """
    import atexit
    import threading

    is_signalled = type(end.code) is int and end.code >= _SIGNALLED
    if is_signalled:
        _drop_output()
        # A signal can arrive after `__enter__` and before the block of a `with`, so that `__exit__`
        # does not run. The clean-up then happens when the object is collected.
        end.__traceback__ = end.__context__ = None
        gc.collect()
    if sys.gettrace() or sys.getprofile() or sys.flags.inspect or type(end.code) is not int:
        raise end
    if not is_signalled and threading.active_count() > 1:
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
    """Discard the output that stdout still buffers.

    The reader may have stopped reading, and then a write would block until a second signal. The
    output of an interrupted command is incomplete in any case.
    """
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.__stdout__.fileno() if sys.__stdout__ else 1)
        os.close(null)


if __name__ == "__main__":
    main()
