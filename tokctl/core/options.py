"""Options as data: a field of a dataclass, with its check and its form on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from types import UnionType
from typing import Any

from tokctl.core.errors import BadOption

#: Function that raises TokctlError if an option, named by its field, can't have a value.
Check = Callable[[str, Any], object]


@dataclass(frozen=True)
class Option:
    """Declaration of an option, kept in the metadata of a dataclass field.

    Attributes:
        usage: names on the command line, and the metavar, as in `--min-count N`; empty: the command
            line lacks the option, or declares it itself.
        help: the option's sentences in the help and in the manual page.
        kind: type of the value as the command line reads it.
        parse: turns this value into the field's; called with the option's name and the value.
        check: checks the field's value, from the command line or from Python.
        recorded: turns the value into the one that a model file records; None: it is not recorded.
        told: what a summary of a model says of a recorded value, with `{}` for the value; empty:
            nothing, or the summary says it elsewhere.
        settings: further settings of the command line, such as `panel`, `min` and `needs`.
    """

    usage: str
    help: str
    kind: type | UnionType
    parse: Callable[[str, Any], Any] | None
    check: Check | None
    recorded: Callable[[Any], Any] | None
    told: str
    settings: dict[str, Any]


def option(
    default: Any = MISSING,
    usage: str = "",
    help: str = "",  # noqa: A002
    *,
    kind: type | UnionType = str,
    parse: Callable[[str, Any], Any] | None = None,
    check: Check | None = None,
    recorded: Callable[[Any], Any] | None = None,
    told: str = "",
    factory: Any = MISSING,
    **settings: Any,
) -> Any:
    """Return a dataclass field that is an option; see `Option` for the arguments.

    Instead of `default`, `factory` makes a default that can be changed.

    Example:
        @dataclass
        class Limits:
            least: int = option(1, "--least N", "Drop rarer words.", kind=int, min=1)
    """
    declared = Option(usage, help, kind, parse, check, recorded, told, settings)
    return field(default=default, default_factory=factory, metadata={"option": declared})


def options_of(group: Any) -> dict[str, Option]:
    """Return the options that the fields of a dataclass, or of its instance, declare, by name."""
    return {one.name: one.metadata["option"] for one in fields(group) if "option" in one.metadata}


def check_options(group: Any) -> None:
    """Check each value of a dataclass whose fields are options.

    Raises:
        TokctlError: a value can't be; the message names it.
    """
    for name, declared in options_of(group).items():
        if declared.check is not None:
            declared.check(name, getattr(group, name))


def number(what: str, least: int = 1, bits: int = 63) -> Check:
    """Return a check for whole numbers from `least` to 2^`bits` - 1; None passes it, too.

    Args:
        what: the option in messages, such as `the least count`.
        least: the least number.
        bits: the number of bits of the greatest number.
    """

    def check(_name: str, value: Any) -> None:
        if value is not None and not (type(value) is int and least <= value < 1 << bits):
            raise BadOption(
                f"invalid value {value!r} for {what}",
                f"give a whole number from {least} to 2^{bits} - 1",
                "bad-value",
            )

    return check
