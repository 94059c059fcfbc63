"""`tokctl inspect --check`: the health of a model, and whether a script may go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tokctl.errors import ExitCode, TokctlError

if TYPE_CHECKING:
    from tokctl.analysis.health import Health
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer

_SEVERITIES = ("info", "warning", "error")

Check = Annotated[
    bool,
    typer.Option(
        "--check",
        help="The health of the model: unreachable tokens, missing bytes, special tokens that "
        "text can write, and more; with TEXT also what the text never uses. docs/health.md "
        "explains each check.",
        rich_help_panel="Questions (one at a time)",
    ),
]
FailOn = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        metavar="info|warning|error",
        help="With --check: exit with 1 if anything of that severity or worse is found.",
        rich_help_panel="How it answers",
        show_default=False,
    ),
]


def check_options(question: str | None, fail_on: str | None) -> None:
    """TokctlError where `--fail-on` stands alone or says what is no severity."""
    if fail_on is None:
        return
    if question != "--check":
        raise TokctlError("--fail-on goes with --check", "leave it out, or add --check")
    if fail_on not in _SEVERITIES:
        raise TokctlError(
            f"--fail-on can't be {fail_on!r}", f"choose one of: {', '.join(_SEVERITIES)}"
        )


def health_of(
    tokenizer: Tokenizer, texts: Sequence[Source] | None, errors: str, limit: int | None
) -> Health:
    """The health of a model, on the texts if any are named."""
    from tokctl.analysis.health import EXAMPLES, check_health

    return check_health(tokenizer, texts, limit=EXAMPLES if limit is None else limit, errors=errors)


def fail_if_asked(health: Health, fail_on: str | None) -> None:
    """TokctlError, exit code 1, where a finding is as bad as `--fail-on` says, or worse."""
    if fail_on is None or not (found := health.at_least(fail_on)):
        return
    names = ", ".join(f"{one.severity} {one.name} ({one.count:,})" for one in found)
    raise TokctlError(f"--fail-on {fail_on}: {names}", exit_code=ExitCode.CONDITION_FAILED)
