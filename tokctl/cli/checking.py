"""`tokctl inspect --check`: the health of a model, and whether a script may go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokctl.errors import ExitCode, TokctlError

if TYPE_CHECKING:
    from tokctl.analysis.health import Health
    from tokctl.sources import Source
    from tokctl.tokenizer import Tokenizer


def check_options(question: str | None, fail_on: str | None) -> None:
    """TokctlError where `--fail-on` stands alone or says what is no severity."""
    if fail_on is None:
        return
    if question != "--check":
        raise TokctlError("--fail-on goes with --check", "leave it out, or add --check")


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
