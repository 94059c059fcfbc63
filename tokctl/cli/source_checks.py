"""What was said of the sources of a command's texts, where texts are not all that it takes."""

from __future__ import annotations

from tokctl.cli.source_options import Sources
from tokctl.errors import TokctlError


def is_listed(given: Sources) -> bool:
    """Are texts named by a list, `--files-from` or `--files0-from`?"""
    return bool(lists(given))


def lists(given: Sources) -> list[str]:
    """The files that name texts."""
    return [path for path in (given.files_from, given.files0_from) if path is not None]


def takes_stdin(given: Sources, texts: list[str]) -> bool:
    """Does a text or a list come from stdin by name?"""
    return "-" in [*texts, *lists(given)]


def check_needed(given: Sources, hint: str) -> None:
    """TokctlError where an option says how texts are read, though there are none."""
    for option in Sources.__annotations__:
        value = getattr(given, option)
        if value is not None and value != [] and value != getattr(Sources, option):
            name = f"--{option.replace('_', '-')}"
            raise TokctlError(f"{name} says how texts are read, and there is none", hint)
