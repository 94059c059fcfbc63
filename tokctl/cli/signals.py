"""The signals that end a command: Ctrl-C and SIGTERM become exceptions, at good moments."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from tokctl import systems

#: Native modules whose making an exception amid it ends with a crash of the process: while they
#: look up what they need, they take for granted that it is there.
_FRAGILE = ("orjson",)

#: Functions that Python calls by itself. What is raised in them it drops with a message, or, in
#: `__set_name__` before 3.12, makes a RuntimeError of. `cb` is what importlib does with locks
#: that nobody needs any more.
_CALLED_BY_PYTHON = ("__set_name__", "__del__", "cb")

#: Seconds after which a signal that came at a bad moment comes again.
_LATER = 0.005

#: The signal that is to come again.
_postponed: list[int] = []


def handle_signals() -> None:
    """From now on SIGTERM is `SystemExit` and Ctrl-C `KeyboardInterrupt`, at good moments."""
    signal.signal(signal.SIGTERM, _ended)
    # Whoever ignores it, as a shell does for work in the background, has reasons.
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
    """Is a fragile module being imported, a file made that could not be found again, or a
    function at work that Python has called by itself?"""
    if getattr(sys.modules.get("tokctl.files"), "is_making", False):
        return True
    while frame is not None:
        if frame.f_code.co_name in _CALLED_BY_PYTHON:
            return True
        frame = frame.f_back
    found = (sys.modules.get(name) for name in _FRAGILE)
    specs = (getattr(module, "__spec__", None) for module in found)
    return any(getattr(spec, "_initializing", False) for spec in specs)
