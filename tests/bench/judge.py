"""From samples to what is printed: is the result right, and how long did it take beside ours?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tests.bench.driver import Samples
from tests.bench.job import Sample
from tests.bench.rows import TOKCTL, Contender, Row

WRONG = "wrong"
RIGHT = "same"
REFERENCE = "reference"
UNCHECKED = "not compared"


@dataclass(frozen=True)
class Line:
    """One contender in one row.

    Attributes:
        pass_: `first` or `again`.
        seconds: median over the rounds; None where nothing was measured.
        ratio: its time over tokctl's in the same round: median, lowest, highest. None
            where either result is wrong or missing: a wrong result has no speed.
        memory: median of the peaks, in bytes.
        verdict: `same`, `reference`, `wrong`, `not compared`, what own rules came to, or
            why there is nothing.
    """

    row: Row
    contender: str
    pass_: str
    seconds: float | None
    ratio: tuple[float, float, float] | None
    memory: int | None
    digest: str
    verdict: str


def judge(row: Row, samples: Samples, expected: str | None = None) -> list[Line]:
    """The lines of a row; `expected` is the right digest where it is known beforehand."""
    good = {
        name: all(not s.error for s in found) and found != [] for name, found in samples.items()
    }
    umpire, right = ("", expected) if expected else _reference(row, samples, good)
    verdicts = {c.name: _verdict(c, samples, good, umpire, right) for c in row.contenders}
    lines = []
    for pass_ in row.passes:
        ours = None
        if good.get(TOKCTL) and verdicts[TOKCTL] != WRONG:
            ours = [_seconds(sample, pass_) for sample in samples[TOKCTL]]
        for contender in row.contenders:
            name = contender.name
            if not good[name]:
                lines.append(Line(row, name, pass_, None, None, None, "", verdicts[name]))
                continue
            found = samples[name]
            times = [_seconds(sample, pass_) for sample in found]
            ratio = None
            if ours and verdicts[name] != WRONG:
                ratios = [theirs / own for theirs, own in zip(times, ours, strict=True)]
                ratio = (median(ratios), min(ratios), max(ratios))
            memory = int(median(sample.memory for sample in found))
            digest = _shown_digest(_digests(found), right)
            verdict = verdicts[name]
            lines.append(Line(row, name, pass_, median(times), ratio, memory, digest, verdict))
        if row.document is not None and ours:
            ratios = [row.document / own for own in ours]
            ratio = (median(ratios), min(ratios), max(ratios))
            name = "in the document"
            lines.append(Line(row, name, pass_, row.document, ratio, None, "", "another machine"))
    return lines


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """The Jaccard index of two vocabularies."""
    union = one | other
    return len(one & other) / len(union) if union else 1.0


def _seconds(sample: Sample, pass_: str) -> float:
    return sample.first if pass_ == "first" or not sample.again else median(sample.again)


def _digests(samples: Sequence[Sample]) -> list[str]:
    """The different digests, in the order met."""
    return list(dict.fromkeys(digest for sample in samples for digest in sample.digests))


def _reference(row: Row, samples: Samples, good: dict[str, bool]) -> tuple[str, str | None]:
    """Whose digest is the right one, and that digest. One that changes can't be right."""
    for name in (row.reference, TOKCTL):
        if good.get(name) and len(found := _digests(samples[name])) == 1:
            return name, found[0]
    return "", None


def _shown_digest(digests: list[str], right: str | None) -> str:
    # Of several, one that is wrong: a result that changes is.
    return next((digest for digest in digests if digest != right), right or "")


def _verdict(
    contender: Contender,
    samples: Samples,
    good: dict[str, bool],
    umpire: str,
    right: str | None,
) -> str:
    found = samples[contender.name]
    if not good[contender.name]:
        return f"not measured: {found[-1].error}" if found else "not measured"
    equal = _digests(found) == [right]
    if contender.own_rules and (not equal or right == ""):
        return _own_rules(contender, samples, good)
    if not equal:
        return WRONG
    if umpire and sum(good.values()) == 1:
        return UNCHECKED
    return REFERENCE if contender.name == umpire else RIGHT


def _own_rules(contender: Contender, samples: Samples, good: dict[str, bool]) -> str:
    """How much of the vocabulary is ours, over all rounds."""
    if contender.name == TOKCTL or not good.get(TOKCTL):
        return "own rules"
    ours = [sample.tokens or frozenset() for sample in samples[TOKCTL]]
    theirs = [sample.tokens or frozenset() for sample in samples[contender.name]]
    shares = [overlap(one, other) for one, other in zip(ours, theirs, strict=True)]
    low, high = (_percent(share) for share in (min(shares), max(shares)))
    text = f"own rules: vocabulary overlap {low if low == high else f'{low} to {high}'}"
    if len(set(theirs)) > 1:
        text += f" ({_percent(min(overlap(theirs[0], other) for other in theirs))} with itself)"
    return text


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
