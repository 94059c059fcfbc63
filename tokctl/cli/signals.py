"""Signals that end a command: Ctrl-C and SIGTERM become exceptions, at safe moments."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from tokctl.core import systems

#: Native modules that crash the process if an exception is raised while they are imported: they
#: do not check that each name they look up was found.
_FRAGILE = ("orjson",)

#: Functions that Python itself calls. Python drops an exception from them with a message or, in
#: `__set_name__` before 3.12, turns the exception into a RuntimeError. `cb` is importlib's callback
#: that removes unused module locks.
_CALLED_BY_PYTHON = ("__set_name__", "__del__", "cb")

#: Seconds by which a signal at a bad moment is postponed.
_LATER = 0.005

#: Numbers of the postponed signals.
_postponed: list[int] = []


def handle_signals() -> None:
    """Turn SIGTERM into `SystemExit` and Ctrl-C into `KeyboardInterrupt`, at safe moments."""
    signal.signal(signal.SIGTERM, _ended)
    # Leave another handler in place: a shell ignores SIGINT for work in the background.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _ended)


def _ended(number: int, frame: FrameType | None) -> None:
    if _is_bad_moment(frame):
        _postponed.append(number)
        systems.later(_LATER, _again)
        return
    if number == signal.SIGINT:
        signal.default_int_handler(number, frame)
    raise SystemExit(128 + number)


def _again(_number: int, frame: FrameType | None) -> None:
    _ended(_postponed.pop(), frame)


def _is_bad_moment(frame: FrameType | None) -> bool:
    """Return whether an exception now would crash the process, get lost, or leave a nameless file.

    That is so while a fragile module is imported, while a function runs that Python itself calls,
    and while a temporary file is created whose name is not recorded yet.
    """
    if getattr(sys.modules.get("tokctl.core.files"), "is_making", False):
        return True
    while frame is not None:
        if frame.f_code.co_name in _CALLED_BY_PYTHON:
            return True
        frame = frame.f_back
    found = (sys.modules.get(name) for name in _FRAGILE)
    specs = (getattr(module, "__spec__", None) for module in found)
    return any(getattr(spec, "_initializing", False) for spec in specs)
