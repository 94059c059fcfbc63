"""The exception that a person sees, and the exit codes of the command line."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """What the process returns to the shell."""

    DONE = 0
    CONDITION_FAILED = 1
    BAD_INPUT = 2
    INTERRUPTED = 130


#: The hint of errors in a file that tokctl has written.
AGAIN = "train it again, or copy it again from where it came"


def printable(text: str) -> str:
    """Return the text with control characters and lone surrogates escaped: a name or a token can
    hold anything, and a terminal obeys some of it."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


class TokctlError(Exception):
    """An error that the user can put right.

    Args:
        message: what is wrong, naming the file and the place; no final full stop.
        hint: what to do about it.
        exit_code: what the command line returns.
    """

    def __init__(self, message: str, hint: str, exit_code: int = ExitCode.BAD_INPUT) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code: int = int(exit_code)

    def __str__(self) -> str:
        hint = f"\nhint: {printable(self.hint)}" if self.hint else ""
        return printable(self.message) + hint

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process needs what a person sees; a subclass would ask for more.
        return TokctlError, (self.message, self.hint, self.exit_code)


class OutOfMemoryError(TokctlError, MemoryError):
    """The system has no memory for what an input needs. The native core raises it, too."""

    def __init__(self) -> None:
        super().__init__("out of memory", "give it less text at a time")


_CORE_HINTS = {
    "too-large": "give it less text at a time: shorter lines, or smaller files with --whole",
    "invalid": "this text and the model's patterns do not go together; --debug shows where",
}


_ANY_CORE_HINT = "check that the text or the ids and the model belong together"


class CoreError(TokctlError):
    """An error of the native core, which raises it.

    Args:
        kind: `invalid`, `too-large`, `no-id`, `unknown-id` and others; callers tell by it what they
            know better.
        details: the figures of the error, for the kinds that have some.
    """

    def __init__(self, message: str, kind: str, details: tuple[int, int, int]) -> None:
        super().__init__(message, _CORE_HINTS.get(kind, _ANY_CORE_HINT))
        self.kind = kind
        self.details = details
