"""What a health check says: plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

#: From bad to harmless.
SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True)
class Example:
    """One of the things that a finding counts.

    Attributes:
        id: None where it has none: a byte without a token, for instance.
        token: as the vocabulary spells it.
        data: its bytes, markers included.
        note: what is to be said of it: what it is equal to, its step, its count.
    """

    id: int | None
    token: str
    data: bytes
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """What one check has found.

    Attributes:
        name: one of `tokctl.analysis.health.CHECKS`.
        severity: `error`, `warning` or `info`: what a finding of this name is worth.
        count: how many are affected.
        of: how many were looked at.
        things: what is counted: `tokens`, `merges`, `bytes`, ….
        examples: the first of them, as many as were asked for.
        what: what it is, in one sentence.
        why: why it matters, and what to do.
        detail: what else this model's finding has to say; often empty.
        undecided: how many the check could not decide; they are not in `count`.
    """

    name: str
    severity: str
    count: int
    of: int
    things: str
    examples: tuple[Example, ...]
    what: str
    why: str
    detail: str = ""
    undecided: int = 0


@dataclass(frozen=True)
class NotMade:
    """A check that says nothing of this model, or of no text, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class TextFacts:
    """The texts that a model was checked on.

    Attributes:
        names: of the files.
        documents: in them, each as often as it counts.
        bytes: their size.
        tokens: ids that they were encoded to.
    """

    names: tuple[str, ...]
    documents: int
    bytes: int
    tokens: int


@dataclass(frozen=True)
class Health:
    """The health of a model.

    Attributes:
        vocab_size: everything that has an id.
        texts: None without a text.
        findings: what was found, the worst first.
        passed: checks that were made and found nothing.
        not_made: checks that can't be made of this model, or that need a text.
    """

    vocab_size: int
    texts: TextFacts | None
    findings: tuple[Finding, ...]
    passed: tuple[Finding, ...]
    not_made: tuple[NotMade, ...]

    @property
    def verdict(self) -> str:
        """The worst severity that was found; `passed` where nothing was."""
        return self.findings[0].severity if self.findings else "passed"

    def at_least(self, severity: str) -> tuple[Finding, ...]:
        """The findings of that severity or worse."""
        worst = SEVERITIES[: SEVERITIES.index(severity) + 1]
        return tuple(finding for finding in self.findings if finding.severity in worst)

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it: bytes in hexadecimal digits."""
        found: dict[str, Any] = {
            "verdict": self.verdict,
            "vocab_size": self.vocab_size,
            "texts": None if self.texts is None else asdict(self.texts),
            "findings": [_plain(finding) for finding in self.findings],
            "passed": [_plain(finding) for finding in self.passed],
            "not_made": [asdict(check) for check in self.not_made],
        }
        return found


def _plain(finding: Finding) -> dict[str, Any]:
    data = asdict(finding)
    data["examples"] = [
        {"id": one.id, "token": one.token, "bytes": one.data.hex(), "note": one.note}
        for one in finding.examples
    ]
    return data
