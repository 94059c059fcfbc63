"""Results of a parity-aware training for each of its languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokctl.analysis.metrics import MetricValue, gini, ratio
from tokctl.model import ParityRecord


@dataclass(frozen=True)
class LanguageShare:
    """Language of a parity-aware training.

    Attributes:
        name: name of the language.
        merges: number of merges that the language chose.
        before: tokens of the measured text before the first merge.
        after: tokens of the measured text after the last merge.
        cost_before: `before` divided by the length of the text in the measure's unit; equal to
            `before` if the measure has no divisor.
        cost_after: `after` divided by the same length.
    """

    name: str
    merges: int
    before: int
    after: int
    cost_before: MetricValue
    cost_after: MetricValue


@dataclass(frozen=True)
class LanguageShares:
    """Languages of a parity-aware training, in the order given to the training.

    Attributes:
        record: record of the training in the model file.
        languages: results of each language.
        gini_before: Gini coefficient of the languages' costs before the first merge.
        gini_after: Gini coefficient of the languages' costs after the last merge.
    """

    record: ParityRecord
    languages: tuple[LanguageShare, ...]
    gini_before: MetricValue
    gini_after: MetricValue

    @property
    def measure(self) -> str:
        """Name of the measure; see `ParityRecord`."""
        return self.record.measure

    @property
    def together(self) -> int:
        """Number of merges that all languages chose together."""
        return self.record.global_merges


def language_shares(record: ParityRecord) -> LanguageShares:
    """Return the results of each language of a parity-aware training."""
    merges = record.merges_of()

    def costs(tokens: Sequence[int]) -> list[MetricValue]:
        pairs = zip(tokens, record.lengths, strict=True)
        return [ratio(count, length, "the text is empty") for count, length in pairs]

    before, after = costs(record.before), costs(record.after)
    columns = (record.languages, merges.values(), record.before, record.after, before, after)
    shares = tuple(LanguageShare(*row) for row in zip(*columns, strict=True))
    return LanguageShares(record, shares, gini(before), gini(after))
