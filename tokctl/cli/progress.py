"""Progress on stderr: a bar on a terminal, occasional lines in a log, or events for programs.

`--progress` chooses the form; see `docs/shell.md`.
"""

from __future__ import annotations

import math
import os
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from tokctl.cli.world import event_line
from tokctl.core.values import ProgressCount, screen_size

if TYPE_CHECKING:
    from typing import Self

    from tokctl.cli.world import Console

#: Seconds until the first drawing, by form; shorter work shows nothing.
_FIRST = {"bar": 0.2, "log": 5.0, "json": 0.0}
#: Seconds between drawings, by form.
_NEXT = {"bar": 0.1, "log": 5.0, "json": 0.5}
#: Seconds between lines of a log after the first minute.
_LATER = 30.0
_MINUTE = 60.0


class ProgressDisplay:
    """Display of the progress of long work, phase by phase; a `tokctl.training.Progress`.

    Calls may be frequent: one that draws nothing only reads the clock. A phase is timed from the
    end of the phase before. Its rate is measured from its first call on, so that earlier results
    (an alphabet, shards that a resumed run need not write) do not inflate the rate.

    Leaving the `with` block removes the bar, even after an error.
    """

    def __init__(self, world: Console, *, rounds: bool = False) -> None:
        """Choose the form for the world's terminal and settings.

        Args:
            world: the streams and the settings.
            rounds: the phase `merge` reports the pieces that a Unigram training still has. Each
                round keeps three quarters of them, and the display counts rounds.
        """
        self._world = world
        self._rounds = rounds
        self._sizes: list[int] = []
        self._form = _form(world)
        self._phase: str | None = None
        self._done = 0
        self._total: int | None = None
        self._first = (0.0, 0)
        self._shown: ShownPhase | None = None
        self._begin()

    def __enter__(self) -> Self:
        self._begin()
        return self

    def _begin(self) -> None:
        self._began = self._start = monotonic()
        self._next = self._began + _FIRST.get(self._form, math.inf)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end(monotonic(), finished=kind is None)

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        """Show that `done` of `total` units of a phase are done.

        Args:
            phase: a name of `PHASES`; another phase is shown by its name.
            done: units that are done, in the unit of the phase.
            total: all units; None: not known.
        """
        if self._form == "none":
            return
        if phase == "merge" and self._rounds and total:
            phase, done, total = self._round(done, total)
        now = monotonic()
        if phase != self._phase:
            self._end(now, finished=True)
            self._phase, self._first = phase, (now, done)
            if self._form != "log":  # lines of a log keep their distance across phases
                self._next = now + _FIRST[self._form]
        self._done, self._total = done, total
        if now >= self._next:
            self._show(now)
            late = self._form == "log" and now - self._began >= _MINUTE
            self._next = now + (_LATER if late else _NEXT[self._form])

    def _show(self, now: float) -> None:
        if self._shown is None:
            assert self._phase is not None
            kind = _FORMS[self._form]
            self._shown = kind(self._world, self._phase, self._start, self._first)
        self._shown.show(now, self._done, self._total)

    def _end(self, now: float, *, finished: bool) -> None:
        if self._shown is not None:
            self._shown.end(now, self._done, self._total, finished=finished)
        self._shown = self._phase = None
        self._start = now

    def _round(self, pieces: int, wanted: int) -> tuple[str, int, int | None]:
        """Return the phase of a Unigram training, the rounds done, and the expected rounds."""
        if pieces <= wanted and not self._sizes:
            return "seed", 0, None
        if not self._sizes or (len(self._sizes) == 1 and pieces < self._sizes[0]):
            self._sizes.append(pieces)

        def left(pieces: int) -> int:
            # EM rounds end at 1.1 times the wanted size; the last pruning counts as one more.
            return (
                max(0, math.ceil(math.log(max(pieces, 1) / (wanted * 1.1)) / math.log(4 / 3))) + 1
            )

        # The first round also drops the seeds that are never used, often many, so the forecast
        # starts from the pieces that the first round leaves.
        total = left(self._sizes[-1]) + len(self._sizes) - 1
        return "rounds", total - min(left(pieces), total), total


def _form(world: Console) -> str:
    """Return how progress is shown: `bar`, `log`, `json` or `none`."""
    if world.quiet:
        return "none"
    if world.progress not in ("", "auto"):
        return world.progress
    terminal = world.stderr_is_terminal and world.environ.get("TERM") != "dumb"
    return "bar" if terminal else "log"


# -- rates -------------------------------------------------------------------------------

#: Seconds over which the displayed rate is averaged, and the least for the time left.
_RECENT = 5.0
_STEADY = 15.0
#: The rate for the time left is averaged over this share of the elapsed time: the longer the work
#: takes, the less one slow file changes the forecast.
_PART = 0.25
#: Least seconds between measurements; over shorter intervals a rate would be noise.
_LEAST = 0.01


class _Smoothed:
    """Moving average whose weights fall exponentially with age, and sum to 1 from the start."""

    def __init__(self) -> None:
        self.value = 0.0
        self.weight = 0.0

    def add(self, rate: float, seconds: float, back: float) -> None:
        """Add a rate over an interval of `seconds`; `back` is the time constant in seconds."""
        kept = math.exp(-seconds / back)
        self.value = kept * self.value + (1 - kept) * rate
        self.weight = kept * self.weight + (1 - kept)

    def __call__(self) -> float | None:
        return self.value / self.weight if self.weight else None


class Meter:
    """Measurement of the rate of one phase."""

    def __init__(self, now: float, done: int) -> None:
        """Start with `done` units at the time `now`, in seconds of any clock."""
        self._begin(now, done)

    def _begin(self, now: float, done: int) -> None:
        self._first = self._last = (now, done)
        self._recent, self._steady = _Smoothed(), _Smoothed()

    def add(self, now: float, done: int) -> None:
        """Record that `done` units are done at the time `now`."""
        if done < self._last[1]:  # the work started again, for example on another mirror
            self._begin(now, done)
            return
        seconds = now - self._last[0]
        if seconds < _LEAST:
            return
        rate = (done - self._last[1]) / seconds
        self._recent.add(rate, seconds, _RECENT)
        self._steady.add(rate, seconds, max(_STEADY, _PART * (now - self._first[0])))
        self._last = (now, done)

    @property
    def rate(self) -> float | None:
        """Recent units per second; None: not known yet."""
        return self._recent()

    @property
    def average(self) -> float | None:
        """Units per second from the first measurement to the last; None if both are equal."""
        seconds, done = self._last[0] - self._first[0], self._last[1] - self._first[1]
        return done / seconds if seconds and done else None

    def left(self, total: int) -> float | None:
        """Return the expected seconds until `total` units are done, or None if no rate is known."""
        if not (rate := self._steady()):
            return None
        return max(0, total - self._last[1]) / rate


# -- texts -------------------------------------------------------------------------------

#: Phases of long work by name: the label for people, and the unit, `bytes` or a plural noun
#: (empty: no unit).
PHASES = {
    "count": ("read", "bytes"),
    "merge-runs": ("merge sorted runs", "bytes"),
    "merge-counts": ("merge counts", "partitions"),
    "collect": ("collect counts", "partitions"),
    "merge": ("merge", "ids"),
    "seed": ("find pieces", ""),
    "rounds": ("EM rounds", "rounds"),
    "fetch": ("fetch", "bytes"),
    "encode": ("encode", "bytes"),
    "decode": ("decode", "bytes"),
    "count-tokens": ("count", "bytes"),
    "compare": ("compare", "bytes"),
    "measure": ("measure", "bytes"),
    "focus": ("combine rows", "ids"),
    "copy": ("write", "bytes"),
    "verify": ("verify", "bytes"),
    "sweep": ("train and measure", "models"),
    "bound": ("lower bound", "rounds"),
    "passes": ("encode", "passes"),
}


class PhaseState:
    """State of a phase.

    Attributes:
        phase: the name of the phase, which is also the label if it is not in `PHASES`.
        label, unit: as `PHASES` has them.
        done, total: in the phase's unit; `total` is None if it is not known.
        seconds: time since the end of the phase before, or since the start of the work.
        rate: recent units per second; at the end, units per second of the whole phase. None: not
            known.
        left: expected seconds until the end; None: not known.
        documents, ids: numbers in the work that is done; None: not known.
    """

    documents: int | None = None
    ids: int | None = None

    def __init__(
        self,
        phase: str,
        done: int = 0,
        total: int | None = None,
        seconds: float = 0.0,
        rate: float | None = None,
        left: float | None = None,
    ) -> None:
        self.phase = phase
        self.label, self.unit = PHASES.get(phase, (phase, ""))
        self.done = done
        self.total = total
        self.seconds = seconds
        self.rate = rate
        self.left = left


_PREFIXES = ("", "k", "M", "G", "T", "P")


def size(count: float) -> str:
    """Return a number of bytes with a prefix of powers of 1000 and up to three digits: `1.2 GB`."""
    place = 0
    # From 999.5 on, rounding would give four digits.
    while count >= 999.5 and place < len(_PREFIXES) - 1:
        count /= 1000
        place += 1
    digits = 1 if place and count < 9.95 else 0
    return f"{count:,.{digits}f} {_PREFIXES[place]}B"


def duration(seconds: float) -> str:
    """Return seconds in one or two units: `28 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    whole = round(seconds)
    for length, name, smaller, part in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= length:
            rest = whole % length // smaller
            return f"{whole // length} {name} {rest} {part}"
    return f"{whole} s"


def amount(state: PhaseState) -> str:
    """Return how much is done: `1.2 GB of 8.0 GB`, `5,000 of 10,000 ids`, or only `1.2 GB`."""
    if state.unit == "bytes":
        done = size(state.done)
        return done if state.total is None else f"{done} of {size(state.total)}"
    done = f"{state.done:,}" + ("" if state.total is None else f" of {state.total:,}")
    return f"{done} {state.unit}".rstrip()


def contents(state: PhaseState) -> str:
    """Return the known contents of the work done, `12,000 documents, 3.4M ids`; may be empty."""
    known = {"document": state.documents, "id": state.ids}
    return ", ".join(
        f"{short(count)} {name}{'' if count == 1 else 's'}"
        for name, count in known.items()
        if count is not None
    )


def short(count: int) -> str:
    """Return a count in full below 100,000, else with a prefix: `12,000`, `3.4M`."""
    return f"{count:,}" if count < 100_000 else size(count).replace(" ", "").upper()[:-1]


def percent(state: PhaseState) -> str:
    """Return the share that is done, rounded down: 100% means all. Empty without a total."""
    if not state.total:
        return ""
    return f"{min(100, 100 * state.done // state.total)}%"


def rate(state: PhaseState) -> str:
    """Return the rate, `240 MB/s` or `1,200 ids/s`; empty if it is unknown or says little."""
    if not state.rate or not state.unit:
        return ""
    if state.unit == "bytes":
        return f"{size(state.rate)}/s"
    return f"{state.rate:,.0f} {state.unit}/s" if state.rate >= 10 else ""


def left(state: PhaseState) -> str:
    """Return the expected time left, `28 s left`, or an empty text if it is not known."""
    return "" if state.left is None else f"{duration(state.left)} left"


def sentence(state: PhaseState) -> str:
    """Return the line of a log for a phase that is under way."""
    part = percent(state)
    done = f"{amount(state)} ({part})" if part else amount(state)
    parts = [done, contents(state), rate(state), left(state)]
    return f"{state.label}: {', '.join(filter(None, parts))}"


def ended(state: PhaseState) -> str:
    """Return the line of a log for a phase that has ended."""
    done = PhaseState(state.phase, state.done)
    parts = [f"{amount(done)} in {duration(state.seconds)}", contents(state), rate(state)]
    return f"{state.label}: {', '.join(filter(None, parts))}"


def beside(state: PhaseState, width: int) -> tuple[str, str]:
    """Return the texts before and after a bar, including the bar's end marks.

    Parts of the text after the bar are left out until the bar has room within `width` columns.
    """
    front = f"{state.label}: {percent(state):>4}|"
    done, speed, to_go = amount(state), rate(state), left(state)
    for parts in (
        (done, contents(state), speed, to_go),
        (done, speed, to_go),
        (speed, to_go),
        (to_go,),
    ):
        behind = "| " + ", ".join(filter(None, parts))
        if width - len(front) - len(behind) >= _LEAST_BAR:
            return front, behind
    return front, "|"


def without_bar(state: PhaseState, width: int) -> str:
    """Return the line for a phase without a known total, which has no bar."""
    done, speed = amount(state), rate(state)
    for parts in ((done, contents(state), speed), (done, speed)):
        line = f"{state.label}: {', '.join(filter(None, parts))}"
        if len(line) <= width:
            return line
    return f"{state.label}: {done}"


# -- displays ----------------------------------------------------------------------------

#: Columns of the shortest useful bar.
_LEAST_BAR = 8
#: Columns that a bar leaves free: the terminal writes `^C` after the bar, which must not wrap.
_FREE = 3


class ShownPhase:
    """Display of one phase, from its first drawing to its end."""

    def __init__(self, world: Console, phase: str, start: float, first: tuple[float, int]) -> None:
        """Prepare the display.

        Args:
            world: the streams.
            phase: the name of the phase.
            start: the time when the phase began, by `time.monotonic`.
            first: the time of the first call, and the units that were done then.
        """
        self._world = world
        self._state = PhaseState(phase)
        self._start = start
        self._meter = Meter(*first)

    def show(self, now: float, done: int, total: int | None) -> None:
        """Draw the state at the time `now`."""
        self._measure(now, done, total)
        self._state.rate = self._meter.rate
        self._state.left = None if total is None else self._meter.left(total)
        self._draw(self._state)

    def end(self, now: float, done: int, total: int | None, *, finished: bool) -> None:
        """End the display at the time `now`; `finished` is False after an error."""
        self._measure(now, done, total)
        self._state.rate, self._state.left = self._meter.average, None
        self._finish(self._state, finished)

    def _measure(self, now: float, done: int, total: int | None) -> None:
        self._meter.add(now, done)
        self._state.done, self._state.total = done, total
        if isinstance(done, ProgressCount):
            self._state.documents, self._state.ids = done.documents, done.ids
        self._state.seconds = now - self._start

    def _draw(self, state: PhaseState) -> None:
        raise NotImplementedError

    def _finish(self, state: PhaseState, finished: bool) -> None:
        raise NotImplementedError


class ProgressBar(ShownPhase):
    """A line on the terminal that is drawn again and again, and removed at the end."""

    def __init__(self, world: Console, phase: str, start: float, first: tuple[float, int]) -> None:
        super().__init__(world, phase, start, first)
        self._bar: Any = None
        self._drawn = False
        self._behind = 0

    def _draw(self, state: PhaseState) -> None:
        if _same_terminal(self._world):
            return
        width = _width(self._world.stderr, self._world.environ.get("COLUMNS", "")) - _FREE
        total = state.total or None
        if total:
            front, behind = beside(state, width)
            # Keep the greatest width so far of the text after the bar: its end must not jump.
            if len(front) + self._behind + 4 <= width:
                behind = behind.ljust(self._behind)
            self._behind = len(behind)
            line = f"{front}{{bar}}{behind}"
        else:
            line = without_bar(state, width)[: max(width, 1)]
        self._drawn = True  # set first: Ctrl-C can interrupt the drawing
        if self._bar is None:
            self._bar = self._open(state, line, width)
        else:
            self._bar.total, self._bar.n = total, min(state.done, total or state.done)
            self._bar.bar_format, self._bar.ncols = line, width
            self._bar.refresh()

    def _finish(self, state: PhaseState, finished: bool) -> None:
        del state, finished  # the bar is removed in any case
        if self._bar is not None:
            self._bar.close()
        self._bar = self._world.before_message = None
        if self._drawn:
            self._wipe()

    def _open(self, state: PhaseState, line: str, width: int) -> Any:
        from threading import RLock

        from tqdm import tqdm

        tqdm.monitor_interval = 0  # no monitoring thread: calls come often
        tqdm.set_lock(RLock())  # tqdm's own lock is for several processes, and slow to import
        total = state.total or None
        bar = tqdm(
            total=total,
            initial=min(state.done, total or state.done),
            file=self._world.stderr,
            bar_format=line,
            ncols=width,
            leave=False,
            disable=False,
        )
        self._world.before_message = self._hide
        return bar

    def _hide(self) -> None:
        if self._bar is not None:
            self._bar.clear()
            self._wipe()

    def _wipe(self) -> None:
        """Clear the line: tqdm only writes spaces over the bar, which leaves a `^C` after it."""
        if self._world.stderr_is_terminal and self._world.environ.get("TERM") != "dumb":
            self._world.stderr.write("\r\x1b[K")
            self._world.stderr.flush()


class ProgressLog(ShownPhase):
    """Occasional whole lines, and a line at the end of every phase that had one."""

    def _draw(self, state: PhaseState) -> None:
        self._write(sentence(state))

    def _finish(self, state: PhaseState, finished: bool) -> None:
        if finished:
            self._write(ended(state))

    def _write(self, line: str) -> None:
        self._world.stderr.write(f"{line}\n")
        self._world.stderr.flush()


class ProgressEvents(ShownPhase):
    """JSON events, one object per line: `progress` during the phase, and `done` at the end."""

    def _draw(self, state: PhaseState) -> None:
        self._write("progress", state)

    def _finish(self, state: PhaseState, finished: bool) -> None:
        if finished:
            self._write("done", state)

    def _write(self, event: str, state: PhaseState) -> None:
        facts = {
            "phase": state.phase,
            "done": state.done,
            "total": state.total,
            "unit": state.unit,
            "seconds": round(state.seconds, 3),
            "rate": _rounded(state.rate),
        }
        for name in ("documents", "ids"):
            if (count := getattr(state, name)) is not None:
                facts[name] = count
        if event == "progress":
            facts["left"] = _rounded(state.left)
        self._world.write_event(event_line(event, **facts))


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 1)


def _same_terminal(world: Console) -> bool:
    """Return whether data on stdout goes to the terminal that a bar would be drawn on."""
    if not (world.stdout_is_terminal and world.data_on_stdout):
        return False
    places = [_device(stream) for stream in (world.stdout, world.stderr)]
    return None in places or places[0] == places[1]


def _device(stream: BinaryIO | TextIO) -> int | None:
    try:
        # Windows has no device numbers; None counts as the same terminal.
        return getattr(os.fstat(stream.fileno()), "st_rdev", None)
    except (OSError, ValueError):  # a stream in memory
        return None


def _width(stream: TextIO, columns: str) -> int:
    """Return the current columns of the terminal: its own number, else `columns`, else 80."""
    try:
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        width = 0
    return width or screen_size(columns) or 80


_FORMS: dict[str, type[ShownPhase]] = {
    "bar": ProgressBar,
    "log": ProgressLog,
    "json": ProgressEvents,
}
