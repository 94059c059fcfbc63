"""The targets, and whether a run reached them: computed from its lines alone.

A ratio is a peer's time over tokctl's in the same rounds, so "0.5x the time of the fastest
peer" is a ratio of 2. What is wrong has no ratio, so a wrong result never reaches a target. Of
many targets, and of many places of one, the worst come first: they decide. Times are the
processors'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import median

from tests.tools.bench.judge import Line
from tests.tools.bench.results import Measured
from tests.tools.bench.rows import (
    BOTH,
    BYTES,
    CONVERSION,
    GIGATOKEN,
    HF,
    IN_MEMORY,
    ONE_THREAD,
    PIECES,
    SENTENCEPIECE,
    TOKCTL,
)
from tests.tools.bench.work import scale

REACHED, MISSED, ABSENT = "reached", "missed", "not measured"
#: The fastest of the peers, whoever that is in a row.
FASTEST = ""
#: Places that are named: of many, the worst.
NAMED = 3


@dataclass(frozen=True)
class Finding:
    """One place where a target was looked at: what was found there, and is it enough?
    enough is None where nothing was measured. margin: how much of what is wanted, to sort by;
    1 is just enough."""

    place: str
    found: str
    enough: bool | None
    margin: float = 0.0


Check = Callable[[Sequence[Measured]], list[Finding]]
#: From the lines of one pass of a row to what was found, and its margin; None without a figure.
Look = Callable[[Sequence[Line]], tuple[str, float] | None]


@dataclass(frozen=True)
class Target:
    work: str
    wanted: str
    check: Check


@dataclass(frozen=True)
class Outcome:
    """findings: the worst first."""

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
    def margin(self) -> float:
        """That of the worst place with a figure."""
        known = [finding.margin for finding in self.findings if finding.enough is not None]
        return min(known, default=inf)

    @property
    def found(self) -> str:
        said = [f"{finding.place} {finding.found}".strip() for finding in self.findings]
        rest = len(said) - NAMED
        return "; ".join(said if rest <= 1 else [*said[:NAMED], f"better in {rest} more"])


def outcomes(measured: Sequence[Measured]) -> list[Outcome]:
    """Of all targets, the one first that is farthest from being reached, and what was not
    measured last."""
    found = [outcome(target, measured) for target in TARGETS]
    return sorted(found, key=lambda each: (each.verdict == ABSENT, each.margin))


def outcome(target: Target, measured: Sequence[Measured]) -> Outcome:
    findings = sorted(target.check(measured), key=lambda finding: finding.margin)
    return Outcome(target, tuple(findings))


def each(keys: str | Sequence[str], look: Look, passes: Sequence[str] = ("first",)) -> Check:
    """Looks at each pass of each row with one of these keys."""

    def check(measured: Sequence[Measured]) -> list[Finding]:
        findings = []
        for place, lines in _rows(measured, keys, passes):
            seen = look(lines)
            if seen is None:
                findings.append(Finding(place, _why(lines), _wrong_or_absent(lines)))
            else:
                findings.append(Finding(place, seen[0], seen[1] >= 1, seen[1]))
        return findings

    return check


def beside(lines: Sequence[Line], peer: str, exact: bool = False) -> tuple[float, str] | None:
    """The ratio of a peer, or of the fastest."""
    rivals = [line for line in lines if _is_rival(line, exact)]
    if peer != FASTEST:
        rivals = [line for line in lines if line.contender == peer]
    return min(((line.ratio[0], line.contender) for line in rivals if line.ratio), default=None)


def ratio(
    least: float,
    keys: str | Sequence[str],
    peer: str = FASTEST,
    passes: Sequence[str] = ("first",),
    *,
    exact: bool = False,
) -> Check:
    """The peer takes at least `least` times as long as tokctl, in every row of that key."""

    def look(lines: Sequence[Line]) -> tuple[str, float] | None:
        if (found := beside(lines, peer, exact)) is None:
            return None
        named = f" ({found[1]})" if peer == FASTEST else ""
        return f"{figure(found[0])}x{named}", found[0] / least

    return each(keys, look, passes)


def typical(least: float, keys: Sequence[str], peer: str, pass_: str) -> Check:
    """The same for the median of all rows."""

    def check(measured: Sequence[Measured]) -> list[Finding]:
        seen = [beside(lines, peer) for _, lines in _rows(measured, keys, (pass_,))]
        if not seen or None in seen:
            return [Finding("", ABSENT, None)] if seen else []
        middle = median(found[0] for found in seen if found)
        margin = middle / least
        return [Finding(f"of {len(seen)} cells", f"{figure(middle)}x", margin >= 1, margin)]

    return check


def own(most: float, key: str, pass_: str = "first", what: str = "cpu", unit: float = 1) -> Check:
    """tokctl's own seconds or bytes are at most so many, printed in `unit`s."""

    def look(lines: Sequence[Line]) -> tuple[str, float] | None:
        ours = _ours(lines)
        value = getattr(ours, what) if ours and not ours.wrong else None
        if value is None:
            return None
        name = "MB" if what == "memory" else "s"
        return f"{figure(value / unit)} {name}", most / value

    return each(key, look, (pass_,))


def processors(most: float, keys: str | Sequence[str], passes: Sequence[str]) -> Check:
    """All threads together take at most `most` times what one takes of the processors."""

    def look(lines: Sequence[Line]) -> tuple[str, float] | None:
        found = _processors(lines, TOKCTL, ONE_THREAD)
        if found is None:
            return None
        return f"{figure(found[0] / found[1])}x", most * found[1] / found[0]

    return each(keys, look, passes)


def from_str(most: float, keys: Sequence[str], kind: str) -> Check:
    """`str` takes at most `most` times as long as `bytes`, and what CPython's conversion takes."""

    def look(lines: Sequence[Line]) -> tuple[str, float] | None:
        found = _processors(lines, TOKCTL, BYTES, CONVERSION)
        if found is None:
            return None
        ours, plain, conversion = found
        share = max(ours - conversion, 0.0) / plain
        return f"{figure(share)}x", most / share if share else most

    def check(measured: Sequence[Measured]) -> list[Finding]:
        wanted = [part for part in measured if part.row.text.startswith(kind)]
        return each(keys, look, BOTH)(wanted)

    return check


def rate(least: float, key: str) -> Check:
    """tokctl's own speed is at least so many MB/s."""

    def check(measured: Sequence[Measured]) -> list[Finding]:
        found = []
        for part in measured:
            if part.row.key != key:
                continue
            ours = _ours(part.lines)
            if ours is None or not ours.cpu or ours.wrong:
                absent = _wrong_or_absent(part.lines)
                found.append(Finding(part.row.title, _why(part.lines), absent))
                continue
            speed = part.size / 1e6 / ours.cpu
            margin = speed / least
            found.append(Finding(part.row.title, f"{figure(speed)} MB/s", margin >= 1, margin))
        return found

    return check


def growth(most: float, keys: Sequence[str], pass_: str) -> Check:
    """A byte of a gigabyte takes at most `most` times as long as one of 10 MB."""

    def check(measured: Sequence[Measured]) -> list[Finding]:
        found: dict[tuple[str, str], dict[int, float]] = {}
        for part in measured:
            if part.row.key in keys:
                ours = _ours([line for line in part.lines if line.pass_ == pass_])
                kind, title = part.row.text.split("-")[0], part.row.title
                times = found.setdefault((kind, title), {})
                if ours and ours.cpu and not ours.wrong:
                    times[part.row.at] = ours.cpu / part.size
        findings = []
        for (kind, title), times in found.items():
            if GROWTH.keys() <= times.keys():
                grown = times[max(GROWTH)] / times[min(GROWTH)]
                said = f"{figure(grown)}x"
                findings.append(Finding(f"{kind}, {title}", said, grown <= most, most / grown))
            else:
                findings.append(Finding(f"{kind}, {title}", ABSENT, None))
        return findings

    return check


def leanest(*keys: str) -> Check:
    """Our peak memory is no higher than that of the leanest peer."""

    def look(lines: Sequence[Line]) -> tuple[str, float] | None:
        ours = _ours(lines)
        rivals = [
            (line.memory, line.contender)
            for line in lines
            if _is_rival(line, False) and line.memory is not None and not line.wrong
        ]
        if ours is None or ours.memory is None or not rivals:
            return None
        least, name = min(rivals)
        said = f"{ours.memory / 1e6:.0f} MB, {name} {least / 1e6:.0f} MB"
        return said, least / ours.memory

    return each(keys, look)


def likelihood(key: str, peer: str) -> Check:
    """Our model needs no more bits for the text than the peer's."""

    def look(lines: Sequence[Line]) -> tuple[str, float] | None:
        bits = {line.contender: line.bits for line in lines}
        one, other = bits.get(TOKCTL), bits.get(peer)
        if one is None or other is None:
            return None
        return f"{one:.5f} bits a character, {peer} {other:.5f}", other / one

    return each(key, look)


def same_vocabulary(key: str, peer: str, least: float) -> Check:
    def look(lines: Sequence[Line]) -> tuple[str, float] | None:
        share = next((line.overlap for line in lines if line.contender == peer), None)
        return None if share is None else (f"{100 * share:.2f} %", share / least)

    return each(key, look)


@dataclass(frozen=True)
class Worst:
    """The cell where tokctl does worst beside the fastest peer with the right ids.

    cells: of how many; slower: in how many of these the peer is faster. place: its row, text and
    pass. ratio: the peer's time, ours = 1; clock: the same by the clock on the wall.
    """

    section: str
    threads: int
    cells: int
    slower: int
    place: str
    peer: str
    ratio: float
    clock: float


def worst_cells(measured: Sequence[Measured]) -> list[Worst]:
    """One for each section and number of threads with peers whose ids or merges are right, the
    worst first."""
    found: dict[tuple[str, int], list[Worst]] = {}
    for part in measured:
        section, threads = part.row.section, part.row.threads
        for pass_ in part.row.passes:
            lines = [line for line in part.lines if line.pass_ == pass_]
            if (seen := beside(lines, FASTEST, exact=True)) is None:
                continue
            place = f"{part.row.title}, {part.row.text}, {pass_}"
            times = {line.contender: line.seconds or 0.0 for line in lines}
            clock = times[seen[1]] / times[TOKCTL]
            cell = Worst(section, threads, 1, int(seen[0] < 1), place, seen[1], seen[0], clock)
            found.setdefault((section, threads), []).append(cell)
    worst = [
        replace(
            min(cells, key=lambda cell: cell.ratio),
            cells=len(cells),
            slower=sum(cell.slower for cell in cells),
        )
        for cells in found.values()
    ]
    return sorted(worst, key=lambda cell: cell.ratio)


def figure(value: float) -> str:
    """Three significant digits, or all of a whole number from a thousand up."""
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"


def _rows(
    measured: Sequence[Measured], keys: str | Sequence[str], passes: Sequence[str]
) -> Iterable[tuple[str, list[Line]]]:
    """Each pass of each row with one of these keys: what tells it from the others, its lines."""
    keys = [keys] if isinstance(keys, str) else keys
    found = [part for part in measured if part.row.key in keys]
    titles, texts = {part.row.title for part in found}, {part.row.text for part in found}
    for part in found:
        named = [part.row.text] if len(texts) > 1 or len(titles) == 1 else []
        named += [part.row.title] if len(titles) > 1 else []
        for pass_ in passes:
            lines = [line for line in part.lines if line.pass_ == pass_]
            yield ", ".join([*named, pass_] if len(passes) > 1 else named), lines


def _processors(lines: Sequence[Line], *names: str) -> list[float] | None:
    """The processors' seconds of these contenders; None where one has none, or is wrong."""
    times = {line.contender: line.cpu for line in lines if not line.wrong and line.cpu}
    found = [times.get(name) for name in names]
    return None if None in found else [time for time in found if time]


def _ours(lines: Sequence[Line]) -> Line | None:
    return next((line for line in lines if line.contender == TOKCTL), None)


def _is_rival(line: Line, exact: bool) -> bool:
    peers = {contender.name for contender in line.row.contenders if not contender.ours}
    return line.contender in peers and not line.wrong and (line.exact or not exact)


def _why(lines: Sequence[Line]) -> str:
    ours = _ours(lines)
    return f"tokctl is {ours.verdict}" if ours and ours.wrong else ABSENT


def _wrong_or_absent(lines: Sequence[Line]) -> bool | None:
    ours = _ours(lines)
    return False if ours and ours.wrong else None


def _scale(*forms: tuple[str, int]) -> list[str]:
    return [scale.key(model, *form) for model in scale.VOCABULARIES for form in forms]


#: The two sizes between which time may not grow faster than the text.
GROWTH = {10**7: "10 MB", 10**9: "1 GB"}
_ONE, _TWO = _scale(("bytes", 1), ("str", 1)), _scale(("bytes", 2), ("str", 2))
_FIRST, _AGAIN = ("first",), ("again",)
_ENCODED, _TRAIN = "byte-level BPE encoded", "BPE trained, with Hugging Face's merges"
_FILES, _THREADS = "from file to file", "2 threads, processors' time"
#: What it is, how many times our time the peer takes, in which rows and passes.
_RATIOS = (
    (f"{_ENCODED}, first pass, every cell", 1.15, GIGATOKEN, _ONE + _TWO, _FIRST),
    (f"{_ENCODED}, again, every cell", 1.15, GIGATOKEN, _ONE + _TWO, _AGAIN),
    ("load, then one letter", 1, GIGATOKEN, ["load"], _FIRST),
    (f"{_FILES}: ids, bin, npy, --count", 0.7, IN_MEMORY, ["file", "file-count"], _FIRST),
    ("texts of 100 bytes encoded", 1 / 1.5, PIECES, ["short"], BOTH),
    ("texts of 100 bytes compared", 1 / 1.5, PIECES, ["compare"], _FIRST),
    ("SentencePiece's models encoded", 5, SENTENCEPIECE, ["encode-sentencepiece"], _FIRST),
    ("WordPiece encoded", 4, FASTEST, ["encode-wordpiece"], BOTH),
    ("decoded from an array", 3, GIGATOKEN, ["decode-array"], BOTH),
    ("decoded from a list", 3, GIGATOKEN, ["decode-list"], BOTH),
    (f"{_TRAIN}, by size", 1 / 0.3, FASTEST, ["train-size"], _FIRST),
    (f"{_TRAIN}, 1 thread", 1 / 0.3, FASTEST, ["train-bpe"], _FIRST),
    (f"{_TRAIN}, 2 threads", 1 / 0.3, FASTEST, ["train-bpe-2", "train-code"], _FIRST),
    ("WordPiece by count trained", 1 / 0.15, HF, ["train-wordpiece"], _FIRST),
    ("Unigram trained", 1 / 0.12, SENTENCEPIECE, ["train-unigram"], _FIRST),
)
_TRAININGS = ("train-bpe", "train-bpe-2", "train-code", "train-wordpiece", "train-unigram")
TARGETS = (
    *(
        Target(f"{_ENCODED}, {said}, the median cell", f"1.3x {GIGATOKEN}", check)
        for said, check in (
            ("first pass", typical(1.3, _ONE + _TWO, GIGATOKEN, "first")),
            ("again", typical(1.3, _ONE + _TWO, GIGATOKEN, "again")),
        )
    ),
    *(
        Target(
            work,
            f"{figure(least)}x {peer or 'the fastest peer'}",
            ratio(least, keys, peer, passes),
        )
        for work, least, peer, keys, passes in _RATIOS
    ),
    Target(
        "`str` that is not ASCII, without CPython's conversion",
        "1.15x the time of `bytes`",
        from_str(1.15, _scale(("str", 1)), "scripts"),
    ),
    Target(f"{_THREADS}: one text", "1.1x one's", processors(1.1, _TWO, BOTH)),
    Target(f"{_THREADS}: many texts", "1.1x one's", processors(1.1, "encode-many-2", BOTH)),
    Target(f"{_THREADS}: counting", "1.1x one's", processors(1.1, "count", _FIRST)),
    Target(f"{_FILES}: jsonl, tokens", "100 MB/s", rate(100, "form")),
    Target(
        "WordPiece by count: the same vocabulary",
        f"99.5 % of {HF}'s (ties differ in itself)",
        same_vocabulary("train-wordpiece", HF, 0.995),
    ),
    Target(
        "Unigram: likelihood of the text",
        f"no more bits than {SENTENCEPIECE}'s",
        likelihood("train-unigram", SENTENCEPIECE),
    ),
    Target("memory of trainings", "at most the leanest peer's", leanest("train-size", *_TRAININGS)),
    *(
        Target(f"growth, 1 GB beside 10 MB: {said}", "1.2x the seconds per MB", growth(1.2, *of))
        for said, of in (
            ("encoding, first pass", (_scale(("bytes", 1)), "first")),
            ("encoding, again", (_scale(("bytes", 1)), "again")),
            ("training", (["train-size"], "first")),
        )
    ),
    *(
        Target(
            work, f"{figure(most / unit)} {'MB' if unit > 1 else 's'}", own(most, *of, unit=unit)
        )
        for work, most, of, unit in (
            ("one line from `tokctl encode`, GPT-2's file", 0.09, ("process-line", "again"), 1),
            ("one line from `tokctl encode`, o200k", 0.15, ("process-line-o200k", "again"), 1),
            ("`encode --count` of 1 GB", 512e6, ("file-count", "first", "memory"), 1e6),
            ("WordPiece by likelihood, Treasure Island", 0.5, ("train-notebook-wordpiece",), 1),
            ("the notebook's BPE, Treasure Island", 0.05, ("train-notebook-bpe",), 1),
            ("letters without a space: time", 3, ("train-dna",), 1),
            ("letters without a space: memory", 500e6, ("train-dna", "first", "memory"), 1e6),
        )
    ),
)
