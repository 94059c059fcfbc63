"""Signals that end a command, as exceptions: what was begun is cleared up."""

from __future__ import annotations

import signal
import sys
from types import FrameType

#: Native modules whose making an exception amid it ends with a crash of the process: while they
#: look up what they need, they take for granted that it is there.
_FRAGILE = ("orjson",)

#: Seconds after which a signal that came at a bad moment comes again.
_LATER = 0.005

#: The signal that is to come again.
_postponed: list[int] = []


def hear() -> None:
    """From now on SIGTERM is `SystemExit` and Ctrl-C `KeyboardInterrupt`, at good moments."""
    signal.signal(signal.SIGTERM, _ended)
    # Whoever ignores it, as a shell does for work in the background, has reasons.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _ended)


def _ended(number: int, frame: FrameType | None) -> None:
    if _is_bad_moment() and hasattr(signal, "setitimer"):
        _postponed.append(number)
        signal.signal(signal.SIGALRM, _again)
        signal.setitimer(signal.ITIMER_REAL, _LATER)
        return
    if number == signal.SIGINT:
        signal.default_int_handler(number, frame)
    raise SystemExit(128 + number)


def _again(_number: int, frame: FrameType | None) -> None:
    _ended(_postponed.pop(), frame)


def _is_bad_moment() -> bool:
    """Is a fragile module being imported, or a file made that could not be found again?"""
    if getattr(sys.modules.get("tokctl.files"), "is_making", False):
        return True
    found = (sys.modules.get(name) for name in _FRAGILE)
    specs = (getattr(module, "__spec__", None) for module in found)
    return any(getattr(spec, "_initializing", False) for spec in specs)
