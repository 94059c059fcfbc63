"""From samples to what is printed: is the result right, and how long did it take beside ours?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tests.tools.bench.driver import Samples
from tests.tools.bench.job import Sample
from tests.tools.bench.rows import TOKCTL, Contender, Row

#: tokctl's own result is not the right one.
WRONG = "wrong"
RIGHT = "same"
REFERENCE = "reference"
UNCHECKED = "not compared"
#: A peer's is not, by section; else it is another output.
OTHER = {
    "training": "other merges",
    "scale": "other ids",
    "encoding": "other ids",
    "growth": "other ids or merges",
    "odd": "other ids",
    "decoding": "other text",
}


@dataclass(frozen=True)
class Line:
    """One contender in one row.

    Attributes:
        pass_: `first` or `again`.
        seconds: by the clock, the least of the rounds: other work on the machine only adds to
            them. None where nothing was measured.
        ratio: the processors' time that it takes over tokctl's in the same rounds: of the least,
            and the lowest and highest of a round. None where either result is wrong or missing:
            a wrong result has no speed.
        cpu: the least of the processors' seconds.
        memory: median of the peaks, in bytes.
        verdict: `same`, `reference`, `wrong`, `other ids`, `not compared`, what own rules
            came to, or why there is nothing.
        wrong: whether it is the result that is wrong, ours or a peer's.
        exact: whether its result must be ours.
        bits: per character of the text, of a Unigram model; see `likelihood`.
        overlap: of its trained vocabulary with ours, the least of all rounds.
    """

    row: Row
    contender: str
    pass_: str
    seconds: float | None
    ratio: tuple[float, float, float] | None
    memory: int | None
    digest: str
    verdict: str
    wrong: bool = False
    exact: bool = True
    bits: float | None = None
    overlap: float | None = None
    cpu: float | None = None


def judge(row: Row, samples: Samples, expected: str | None = None) -> list[Line]:
    """The lines of a row; `expected` is the right digest where it is known beforehand."""
    good = {
        name: all(not s.error for s in found) and found != [] for name, found in samples.items()
    }
    umpire, right = ("", expected) if expected else _reference(row, samples, good)
    verdicts = {c.name: _verdict(row, c, samples, good, umpire, right) for c in row.contenders}
    lines = []
    for pass_ in row.passes:
        ours = None
        if good.get(TOKCTL) and not verdicts[TOKCTL][1]:
            ours = [_cpu(sample, pass_) for sample in samples[TOKCTL]]
        for contender in row.contenders:
            name, (verdict, wrong) = contender.name, verdicts[contender.name]
            exact = not contender.own_rules
            if not good[name]:
                nothing = Line(row, name, pass_, None, None, None, "", verdict, exact=exact)
                lines.append(nothing)
                continue
            found = samples[name]
            times = [_cpu(sample, pass_) for sample in found]
            lines.append(
                Line(
                    row,
                    name,
                    pass_,
                    min(_seconds(sample, pass_) for sample in found),
                    # A slow one has fewer rounds: the first ones, beside ours in the same.
                    _ratio(times, ours) if ours and not wrong else None,
                    int(median(sample.memory for sample in found)),
                    _shown_digest(_digests(found), right),
                    verdict,
                    wrong,
                    exact,
                    next((sample.bits for sample in found if sample.bits is not None), None),
                    _least_overlap(samples[TOKCTL], found) if good.get(TOKCTL) else None,
                    min(times),
                )
            )
        if (said := row.reported) and ours:
            ratio = _ratio([said.seconds] * len(ours), ours) if said.same_work else None
            line = Line(row, said.source, pass_, said.seconds, ratio, None, "", said.about)
            lines.append(line)
    return lines


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """The Jaccard index of two vocabularies."""
    union = one | other
    return len(one & other) / len(union) if union else 1.0


def _ratio(times: Sequence[float], ours: Sequence[float]) -> tuple[float, float, float]:
    ratios = [theirs / own for theirs, own in zip(times, ours, strict=False)]
    return min(times[: len(ours)]) / min(ours[: len(times)]), min(ratios), max(ratios)


def _seconds(sample: Sample, pass_: str) -> float:
    return sample.first if pass_ == "first" or not sample.again else median(sample.again)


def _cpu(sample: Sample, pass_: str) -> float:
    first, *again = sample.cpu
    return first if pass_ == "first" or not again else median(again)


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
    row: Row,
    contender: Contender,
    samples: Samples,
    good: dict[str, bool],
    umpire: str,
    right: str | None,
) -> tuple[str, bool]:
    """What to say of a contender, and whether its result is wrong."""
    found = samples[contender.name]
    if not good[contender.name]:
        return (f"not measured: {found[-1].error}" if found else "not measured"), False
    digests = _digests(found)
    equal = digests == [right]
    if contender.own_rules and (not equal or right == ""):
        return _own_rules(contender, samples, good), False
    if not equal:
        if contender.ours:
            return WRONG, True
        other = OTHER.get(row.section, "other output")
        return (f"{other}, not the same twice" if len(digests) > 1 else other), True
    if umpire and sum(good.values()) == 1:
        return UNCHECKED, False
    return (REFERENCE if contender.name == umpire else RIGHT), False


def _own_rules(contender: Contender, samples: Samples, good: dict[str, bool]) -> str:
    """How much of the vocabulary is ours, over all rounds."""
    if contender.name == TOKCTL or not good.get(TOKCTL):
        return "own rules"
    theirs = [sample.tokens or frozenset() for sample in samples[contender.name]]
    shares = _overlaps(samples[TOKCTL], samples[contender.name])
    if not shares:
        return "own rules"
    low, high = (_percent(share) for share in (min(shares), max(shares)))
    text = f"own rules: vocabulary overlap {low if low == high else f'{low} to {high}'}"
    if len(set(theirs)) > 1:
        text += f" ({_percent(min(overlap(theirs[0], other) for other in theirs))} with itself)"
    return text


def _overlaps(ours: Sequence[Sample], theirs: Sequence[Sample]) -> list[float]:
    """Of the two vocabularies in each round; empty where there are none."""
    pairs = [(one.tokens, other.tokens) for one, other in zip(ours, theirs, strict=False)]
    return [overlap(one, other) for one, other in pairs if one and other]


def _least_overlap(ours: Sequence[Sample], theirs: Sequence[Sample]) -> float | None:
    return min(_overlaps(ours, theirs), default=None)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
