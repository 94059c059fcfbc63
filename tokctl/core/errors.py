"""The errors that tokctl reports to its users, and the exit codes of the command line."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    DONE = 0
    CONDITION_FAILED = 1
    BAD_INPUT = 2
    INTERRUPTED = 130


#: The hint of errors about damaged files that tokctl has written.
AGAIN = "train it again, or copy it again from where it came"


def printable(text: str) -> str:
    """Return `text` with unprintable characters (controls, lone surrogates) escaped.

    File names and tokens can contain control characters, which a terminal would obey.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


class TokctlError(Exception):
    """An error that the user can correct.

    Args:
        message: what is wrong, with the file and the position in it; without a final full stop.
        hint: what to do about the error.
        exit_code: the exit code of the command line.

    Example:
        try:
            Tokenizer.load("missing.json")
        except TokctlError as error:
            print(error.message, error.hint, sep="; ")
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
        # Another process needs only the message and the hint. Subclasses have other constructors.
        return TokctlError, (self.message, self.hint, self.exit_code)


class OutOfMemoryError(TokctlError, MemoryError):
    """The system has too little memory for an input; the native core raises this, too."""

    def __init__(self) -> None:
        super().__init__("out of memory", "give it less text at a time")


_CORE_HINTS = {
    "too-large": "give it less text at a time: shorter lines, or smaller files with --whole",
    "invalid": "this text and the model's patterns do not go together; --debug shows where",
}


_ANY_CORE_HINT = "check that the text or the ids and the model belong together"


class CoreError(TokctlError):
    """An error that the native core raises.

    Args:
        message: what is wrong.
        kind: `invalid`, `too-large`, `no-id`, `unknown-id` and others. Callers use it to raise a
            more specific error.
        details: the numbers of the error, such as an id or a position; 0 where a kind has fewer.
    """

    def __init__(self, message: str, kind: str, details: tuple[int, int, int]) -> None:
        super().__init__(message, _CORE_HINTS.get(kind, _ANY_CORE_HINT))
        self.kind = kind
        self.details = details
