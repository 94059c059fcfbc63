"""Ctrl-C and SIGTERM as exceptions, which `held` blocks postpone."""

from __future__ import annotations

import contextlib
import signal
import sys
from _thread import get_ident
from collections.abc import Iterator
from types import FrameType

from tokctl.core import systems

#: Seconds after which an exception is raised again that Python dropped.
_LATER = 0.005

#: Number of `held` blocks that the main thread is in, and the exceptions that wait for their end.
_depth = 0
_pending: list[BaseException] = []

#: The thread that runs the signal handlers; None: the process handles signals in its own way.
_main_thread: int | None = None


def handle_signals() -> None:
    """Turn SIGTERM into `SystemExit` and Ctrl-C into `KeyboardInterrupt`, outside `held` blocks.

    Call this only in a process that runs one command and nothing else.
    """
    global _main_thread
    _main_thread = get_ident()
    signal.signal(signal.SIGTERM, _end)
    # Leave another handler in place: a shell ignores SIGINT for work in the background.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    sys.unraisablehook = _raise_later


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Postpone the exceptions of signals until the block ends; the first one counts."""
    global _depth
    if get_ident() != _main_thread:  # exceptions of signals are raised in the main thread only
        yield
        return
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if _pending and not _depth:
            first = _pending[0]
            _pending.clear()
            raise first


def unwrapped(error: BaseException) -> BaseException:
    """Return the exception of a signal that Python put into another one, or `error`.

    Before 3.12, Python turns each exception of a `__set_name__` into a RuntimeError.
    """
    cause = error.__cause__
    is_signal = isinstance(error, RuntimeError) and isinstance(
        cause, KeyboardInterrupt | SystemExit
    )
    return cause if cause and is_signal else error


def _end(number: int, _frame: FrameType | None = None) -> None:
    _raise(KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number))


def _raise(error: BaseException) -> None:
    if not _depth:
        raise error
    _pending.append(error)


def _raise_later(dropped: sys.UnraisableHookArgs) -> None:
    """Raise the exception of a signal again if Python dropped it, as in a `__del__`."""
    error = dropped.exc_value
    if isinstance(error, KeyboardInterrupt | SystemExit):
        systems.later(_LATER, lambda *_: _raise(error.with_traceback(None)))
    else:
        sys.__unraisablehook__(dropped)
