"""The targets, and whether a run reached them: computed from its lines alone.

A ratio is a peer's time over tokctl's in the same rounds, so "0.5x the time of the fastest
peer" is a ratio of 2. What is wrong has no ratio, so a wrong result never reaches a target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.bench.judge import DOCUMENT, Line
from tests.bench.results import Measured
from tests.bench.rows import GIGATOKEN, HF, ONE_THREAD, SENTENCEPIECE, TIKTOKEN, TOKCTL

REACHED, MISSED, ABSENT = "reached", "missed", "not measured"
#: The fastest of the peers, whoever that is in a row.
FASTEST = ""


@dataclass(frozen=True)
class Finding:
    """One place where a target was looked at: what was found there, and is it enough?
    enough is None where nothing was measured."""

    place: str
    found: str
    enough: bool | None


Check = Callable[[Sequence[Measured]], list[Finding]]


@dataclass(frozen=True)
class Target:
    work: str
    wanted: str
    check: Check


@dataclass(frozen=True)
class Outcome:
    target: Target
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """Reached where every place has enough; a place without a figure is not reached."""
        known = [finding.enough for finding in self.findings if finding.enough is not None]
        if not known:
            return ABSENT
        return REACHED if all(known) and len(known) == len(self.findings) else MISSED

    @property
    def found(self) -> str:
        return "; ".join(f"{finding.place} {finding.found}".strip() for finding in self.findings)


def outcomes(measured: Sequence[Measured]) -> list[Outcome]:
    return [Outcome(target, tuple(target.check(measured))) for target in TARGETS]


def ratio(
    least: float, key: str, peer: str = FASTEST, pass_: str = "first", *, exact: bool = False
) -> Check:
    """The peer takes at least `least` times as long as tokctl, in every row of that key."""

    def check(measured: Sequence[Measured]) -> list[Finding]:
        findings = []
        for place, lines in _rows(measured, key, pass_):
            rivals = [line for line in lines if _is_rival(line, exact)]
            if peer != FASTEST:
                rivals = [line for line in lines if line.contender == peer]
            known = [(line.ratio[0], line.contender) for line in rivals if line.ratio]
            if not known:
                findings.append(Finding(place, _why(lines), _wrong_or_absent(lines)))
                continue
            value, name = min(known)
            said = f"{figure(value)}x" + (f" ({name})" if peer == FASTEST else "")
            findings.append(Finding(place, said, value >= least))
        return findings

    return check


def own(
    most: float, key: str, pass_: str = "first", what: str = "seconds", unit: float = 1
) -> Check:
    """tokctl's own seconds or bytes are at most so many, printed in `unit`s."""

    def check(measured: Sequence[Measured]) -> list[Finding]:
        findings = []
        for place, lines in _rows(measured, key, pass_):
            ours = _ours(lines)
            value = getattr(ours, what) if ours and not ours.wrong else None
            if value is None:
                findings.append(Finding(place, _why(lines), _wrong_or_absent(lines)))
                continue
            name = "s" if what == "seconds" else "MB"
            findings.append(Finding(place, f"{figure(value / unit)} {name}", value <= most))
        return findings

    return check


def leanest(*keys: str) -> Check:
    """Our peak memory is no higher than that of the leanest peer."""

    def check(measured: Sequence[Measured]) -> list[Finding]:
        findings = []
        for key in keys:
            for _, lines in _rows(measured, key, "first"):
                ours, place = _ours(lines), lines[0].row.title
                rivals = [
                    (line.memory, line.contender)
                    for line in lines
                    if _is_rival(line, False) and line.memory is not None and not line.wrong
                ]
                if ours is None or ours.memory is None or not rivals:
                    findings.append(Finding(place, ABSENT, None))
                    continue
                least, name = min(rivals)
                said = f"{ours.memory / 1e6:.0f} MB, {name} {least / 1e6:.0f} MB"
                findings.append(Finding(place, said, ours.memory <= least))
        return findings

    return check


def likelihood(key: str, peer: str) -> Check:
    """Our model needs no more bits for the text than the peer's."""

    def check(measured: Sequence[Measured]) -> list[Finding]:
        findings = []
        for place, lines in _rows(measured, key, "first"):
            bits = {line.contender: line.bits for line in lines}
            one, other = bits.get(TOKCTL), bits.get(peer)
            if one is None or other is None:
                findings.append(Finding(place, ABSENT, None))
            else:
                said = f"{one:.5f} bits a character, {peer} {other:.5f}"
                findings.append(Finding(place, said, one <= other))
        return findings

    return check


def same_vocabulary(key: str, peer: str, least: float) -> Check:
    def check(measured: Sequence[Measured]) -> list[Finding]:
        findings = []
        for place, lines in _rows(measured, key, "first"):
            shares = [line.overlap for line in lines if line.contender == peer]
            if not shares or shares[0] is None:
                findings.append(Finding(place, ABSENT, None))
            else:
                findings.append(Finding(place, f"{100 * shares[0]:.2f} %", shares[0] >= least))
        return findings

    return check


def figure(value: float) -> str:
    """Three significant digits, or all of a whole number from a thousand up."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"


def _rows(measured: Sequence[Measured], key: str, pass_: str) -> Iterable[tuple[str, list[Line]]]:
    found = [part for part in measured if part.row.key == key]
    titles = {part.row.title for part in found}
    for part in found:
        lines = [line for line in part.lines if line.pass_ == pass_]
        # What tells the rows of one key apart: their text or their title.
        yield (part.row.title if len(titles) > 1 else part.row.text), lines


def _ours(lines: Sequence[Line]) -> Line | None:
    return next((line for line in lines if line.contender == TOKCTL), None)


def _is_rival(line: Line, exact: bool) -> bool:
    if line.contender == DOCUMENT or line.wrong:
        return False
    peers = {contender.name for contender in line.row.contenders if not contender.ours}
    return line.contender in peers and (line.exact or not exact)


def _why(lines: Sequence[Line]) -> str:
    ours = _ours(lines)
    return f"tokctl is {ours.verdict}" if ours and ours.wrong else ABSENT


def _wrong_or_absent(lines: Sequence[Line]) -> bool | None:
    ours = _ours(lines)
    return False if ours and ours.wrong else None


_TRAIN = "BPE trained, with Hugging Face's merges"
TARGETS = (
    *(
        Target(f"byte-level BPE encoded, {name}", f"{least:g}x {peer}", check)
        for name, least, peer, check in (
            ("first pass", 1.3, GIGATOKEN, ratio(1.3, "encode-gpt2", GIGATOKEN)),
            ("again", 1.0, GIGATOKEN, ratio(1.0, "encode-gpt2", GIGATOKEN, "again")),
            ("first pass", 10.0, TIKTOKEN, ratio(10, "encode-gpt2", TIKTOKEN)),
            ("again", 10.0, TIKTOKEN, ratio(10, "encode-gpt2", TIKTOKEN, "again")),
            ("first pass", 80.0, HF, ratio(80, "encode-gpt2", HF)),
            ("again", 80.0, HF, ratio(80, "encode-gpt2", HF, "again")),
        )
    ),
    Target("WordPiece encoded, first pass", "4x the fastest peer", ratio(4, "encode-wordpiece")),
    Target(
        "WordPiece encoded, again",
        "4x the fastest peer",
        ratio(4, "encode-wordpiece", pass_="again"),
    ),
    Target(
        "Unigram encoded, first pass",
        "4x the fastest exact peer",
        ratio(4, "encode-unigram", exact=True),
    ),
    Target(
        "Unigram encoded, again",
        "4x the fastest exact peer",
        ratio(4, "encode-unigram", pass_="again", exact=True),
    ),
    Target("decoded from an array", "2x gigatoken", ratio(2, "decode-array", GIGATOKEN)),
    Target(
        "decoded from an array, again",
        "2x gigatoken",
        ratio(2, "decode-array", GIGATOKEN, "again"),
    ),
    Target("decoded from a list", "2x gigatoken", ratio(2, "decode-list", GIGATOKEN)),
    Target(
        "decoded from a list, again",
        "2x gigatoken",
        ratio(2, "decode-list", GIGATOKEN, "again"),
    ),
    Target(f"{_TRAIN}, 1 thread", "2x the fastest peer", ratio(2, "train-bpe")),
    Target(f"{_TRAIN}, 2 threads", "2x the fastest peer", ratio(2, "train-bpe-2")),
    Target(f"{_TRAIN}, code, 2 threads", "2x the fastest peer", ratio(2, "train-code")),
    Target("WordPiece by count trained", f"6.67x {HF}", ratio(1 / 0.15, "train-wordpiece", HF)),
    Target(
        "WordPiece by count: the same vocabulary",
        f"99.5 % of {HF}'s (ties differ in itself)",
        same_vocabulary("train-wordpiece", HF, 0.995),
    ),
    Target("Unigram trained", "5x sentencepiece", ratio(5, "train-unigram", SENTENCEPIECE)),
    Target(
        "Unigram: likelihood of the text",
        "no more bits than sentencepiece's",
        likelihood("train-unigram", SENTENCEPIECE),
    ),
    Target(
        "memory of trainings",
        "at most the leanest peer's",
        leanest("train-bpe", "train-bpe-2", "train-code", "train-wordpiece", "train-unigram"),
    ),
    Target(
        "WordPiece by likelihood, Treasure Island",
        "0.5 s",
        own(0.5, "train-notebook-wordpiece"),
    ),
    Target("the notebook's BPE, Treasure Island", "0.05 s", own(0.05, "train-notebook-bpe")),
    Target("letters without a space: time", "3 s", own(3, "train-dna")),
    Target(
        "letters without a space: memory",
        "500 MB",
        own(500e6, "train-dna", what="memory", unit=1e6),
    ),
    Target("`tokctl encode` of one line", "0.1 s", own(0.1, "process-line", "again")),
    Target("2 threads, counting", "1.8x one", ratio(1.8, "count", ONE_THREAD)),
    Target("2 threads, one text encoded", "1.8x one", ratio(1.8, "encode-one-2", ONE_THREAD)),
    Target("2 threads, many texts encoded", "1.8x one", ratio(1.8, "encode-many-2", ONE_THREAD)),
)
