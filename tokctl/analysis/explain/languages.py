"""What a parity-aware training came to in each of its languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokctl.analysis.metrics import Figure, gini, ratio
from tokctl.model import ParityRecord


@dataclass(frozen=True)
class LanguageShare:
    """A language of a parity-aware training.

    Attributes:
        merges: those that it chose.
        before, after: tokens of the text that was measured, before the first merge and after the
            last.
        cost_before, cost_after: these divided by the text's length in what the measure counts; in
            tokens where it divides by nothing.
    """

    name: str
    merges: int
    before: int
    after: int
    cost_before: Figure
    cost_after: Figure


@dataclass(frozen=True)
class LanguageShares:
    """All of them, in the order given.

    Attributes:
        record: what the model's file says.
        gini_before, gini_after: Gini coefficient of the languages' costs.
    """

    record: ParityRecord
    languages: tuple[LanguageShare, ...]
    gini_before: Figure
    gini_after: Figure

    @property
    def measure(self) -> str:
        """See `ParityRecord`."""
        return self.record.measure

    @property
    def together(self) -> int:
        """Merges that all languages chose together."""
        return self.record.global_merges


def language_shares(record: ParityRecord) -> LanguageShares:
    """What the record says of each language."""
    merges = record.merges_of()

    def costs(tokens: Sequence[int]) -> list[Figure]:
        pairs = zip(tokens, record.lengths, strict=True)
        return [ratio(count, length, "the text is empty") for count, length in pairs]

    before, after = costs(record.before), costs(record.after)
    columns = (record.languages, merges.values(), record.before, record.after, before, after)
    shares = tuple(LanguageShare(*row) for row in zip(*columns, strict=True))
    return LanguageShares(record, shares, gini(before), gini(after))
