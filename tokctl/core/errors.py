"""The errors that tokctl reports to its users, and the exit codes of the command line."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    DONE = 0
    CONDITION_FAILED = 1
    BAD_INPUT = 2
    INTERRUPTED = 130


#: The hint of errors about damaged files that tokctl has written.
AGAIN = "train the model again, or copy the file again from its source"


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


#: The codes of errors, which do not change when a message is reworded.
CODES = {
    "error": "an error that belongs to none of the four subclasses",
    "condition-failed": "a condition that was asked for does not hold",
    # BadOption
    "bad-option": "an option or an argument is wrong",
    "bad-value": "the value of an option or argument is malformed or out of range",
    "unknown-name": "no algorithm, preset, metric, token, command or the like has this name",
    "conflict": "two options do not go together, or an option does not fit the model or the form",
    "missing-option": "a required option or argument is missing",
    "output-taken": "an output exists, is an input, or is given twice",
    # BadInput
    "bad-input": "a text, a list of ids, a table or another input is wrong",
    "unreadable": "a file, folder or address cannot be opened, read or written",
    "not-utf8": "a text is not UTF-8, and the model needs characters",
    "bad-record": "a line, record, row or field of an input is malformed",
    "bad-ids": "ids are malformed, or no token has them",
    "damaged": "a file other than a text or a model is cut off, changed, or has a wrong field",
    "no-id": "a character of a text has no id, and no token stands for it",
    "too-large": "an input exceeds a limit",
    # BadModel
    "bad-model": "a model file is wrong",
    "not-a-model": "a file is not a model in a format that tokctl reads",
    "damaged-model": "a model file is cut off or contradicts itself",
    # Unsupported
    "unsupported": "tokctl, a format or a library cannot do what was asked",
    "missing-package": "an optional package is not installed",
    "out-of-memory": "the system has too little memory",
}


class TokctlError(Exception):
    """An error that the user can correct.

    Args:
        message: what is wrong, with the file and the position in it; without a final full stop.
        hint: what to do about the error.
        code: one of `CODES`; None: the general code of the class.
        exit_code: the exit code of the command line.

    Example:
        try:
            Tokenizer.load("missing.json")
        except TokctlError as error:
            print(error.code, error.message, error.hint, sep="; ")
    """

    #: The code of errors that are raised without one.
    general_code: ClassVar[str] = "error"

    def __init__(
        self,
        message: str,
        hint: str,
        code: str | None = None,
        *,
        exit_code: int = ExitCode.BAD_INPUT,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.general_code
        self.exit_code: int = int(exit_code)

    def __str__(self) -> str:
        hint = f"\nhint: {printable(self.hint)}" if self.hint else ""
        return printable(self.message) + hint

    def reworded(self, message: str | None = None, hint: str | None = None) -> TokctlError:
        """Return an error of the same kind and code with another message or hint."""
        return _restored(
            self.plain_kind,
            self.message if message is None else message,
            self.hint if hint is None else hint,
            self.code,
            self.exit_code,
        )

    @property
    def plain_kind(self) -> type[TokctlError]:
        """The kind among the four, or TokctlError; further subclasses have other constructors."""
        return next(kind for kind in type(self).__mro__ if kind in _PLAIN)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.plain_kind, self.message, self.hint, self.code, self.exit_code)


class BadOption(TokctlError):
    """An option, an argument or a combination of them is wrong."""

    general_code = "bad-option"


class BadInput(TokctlError):
    """A text, ids, a table or another input cannot be read, or is wrong."""

    general_code = "bad-input"


class BadModel(TokctlError):
    """A model file cannot be read, or is wrong."""

    general_code = "bad-model"


class Unsupported(TokctlError):
    """The request is correct, but tokctl, a format or an installed library cannot fulfil it."""

    general_code = "unsupported"


_PLAIN = (BadOption, BadInput, BadModel, Unsupported, TokctlError)


def _restored(
    kind: type[TokctlError], message: str, hint: str, code: str, exit_code: int
) -> TokctlError:
    return kind(message, hint, code, exit_code=exit_code)


class UnsupportedByFormat(Exception):
    """The format can't express something with the same ids; the message says why."""


class OutOfMemoryError(Unsupported, MemoryError):
    """The system has too little memory for an input; the native core raises this, too."""

    def __init__(self) -> None:
        super().__init__("out of memory", "give less text at a time", "out-of-memory")


_CORE_HINTS = {
    "too-large": "give less text at a time: shorter lines, or smaller files with --whole",
    "invalid": "the model's patterns fail on this text; --debug shows where",
}


_CORE_CODES = {
    "too-large": "too-large",
    "no-id": "no-id",
    "unknown-id": "bad-ids",
    "id-outside": "bad-ids",
    "not-an-id": "bad-ids",
}

_ANY_CORE_HINT = "check that the text or the ids belong to this model"


class CoreError(BadInput):
    """An error that the native core raises.

    Args:
        message: what is wrong.
        kind: `invalid`, `too-large`, `no-id`, `unknown-id` and others. Callers use it to raise a
            more specific error.
        details: the numbers of the error, such as an id or a position; 0 where a kind has fewer.
    """

    def __init__(self, message: str, kind: str, details: tuple[int, int, int]) -> None:
        code = _CORE_CODES.get(kind)
        super().__init__(message, _CORE_HINTS.get(kind, _ANY_CORE_HINT), code)
        self.kind = kind
        self.details = details
