"""Progress on stderr: a bar on a terminal, now and then a line in a log, events for programs.

`--progress` chooses; see `docs/shell.md`.
"""

from __future__ import annotations

import math
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

    from tokctl.cli.progress.tracker import Tracker
    from tokctl.cli.world import World

#: Seconds until the first drawing, by form: work that is done sooner shows nothing.
_FIRST = {"bar": 0.2, "log": 5.0, "json": 0.0}
#: Seconds from one drawing to the next: a bar's as one reads, events at most twice a second.
_NEXT = {"bar": 0.1, "log": 5.0, "json": 0.5}
#: Seconds from one line of a log to the next, after a minute.
_LATER = 30.0
_MINUTE = 60.0

__all__ = ["Bars"]


class Bars:
    """What long work tells, one phase after the other. Called as `tokctl.training.Progress` is.

    Calls may come often: one that shows nothing costs a look at the clock. A phase is timed from
    the end of the one before, and its rate is measured from its first call on, so that what was
    there before (an alphabet, shards that a resumed run need not write) makes nothing look fast.

    Leaving the block takes the bar away, whatever has happened.
    """

    def __init__(self, world: World, *, rounds: bool = False) -> None:
        """With `rounds`, what `merge` tells is the pieces that a Unigram training still has:
        each of its rounds keeps three quarters of them."""
        self._world = world
        self._rounds = rounds
        self._sizes: list[int] = []
        self._form = _form(world)
        self._phase: str | None = None
        self._done = 0
        self._total: int | None = None
        self._first = (0.0, 0)
        self._tracker: Tracker | None = None
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
        """`done` of `total` (None: not known), in the unit of the phase (`phases.py`; a phase
        that is not there is shown by its name)."""
        if self._form == "none":
            return
        if phase == "merge" and self._rounds and total:
            phase, done, total = self._round(done, total)
        now = monotonic()
        if phase != self._phase:
            self._end(now, finished=True)
            self._phase, self._first = phase, (now, done)
            if self._form != "log":  # the lines of a log keep their distance over many phases
                self._next = now + _FIRST[self._form]
        self._done, self._total = done, total
        if now >= self._next:
            self._show(now)
            late = self._form == "log" and now - self._began >= _MINUTE
            self._next = now + (_LATER if late else _NEXT[self._form])

    def _show(self, now: float) -> None:
        if self._tracker is None:
            # Imported here: most work is done before anything is shown.
            from tokctl.cli.progress.tracker import Tracker

            assert self._phase is not None
            self._tracker = Tracker(self._world, self._form, self._phase, self._start, self._first)
        self._tracker.show(now, self._done, self._total)

    def _end(self, now: float, *, finished: bool) -> None:
        if self._tracker is not None:
            self._tracker.end(now, self._done, self._total, finished=finished)
        self._tracker = self._phase = None
        self._start = now

    def _round(self, pieces: int, wanted: int) -> tuple[str, int, int | None]:
        """The phase of a Unigram training, the rounds done and about those to come."""
        if pieces <= wanted and not self._sizes:
            return "seed", 0, None
        if not self._sizes or (len(self._sizes) == 1 and pieces < self._sizes[0]):
            self._sizes.append(pieces)

        def left(pieces: int) -> int:
            # Rounds end at 1.1 times what is wanted; the last pruning is one more.
            return (
                max(0, math.ceil(math.log(max(pieces, 1) / (wanted * 1.1)) / math.log(4 / 3))) + 1
            )

        # Many seeds are never used: what the first round leaves is what the others start from.
        total = left(self._sizes[-1]) + len(self._sizes) - 1
        return "rounds", total - min(left(pieces), total), total


def _form(world: World) -> str:
    """How progress is shown in this world: `bar`, `log`, `json` or `none`."""
    if world.quiet:
        return "none"
    if world.progress not in ("", "auto"):
        return world.progress
    terminal = world.stderr_is_terminal and world.environ.get("TERM") != "dumb"
    return "bar" if terminal else "log"
