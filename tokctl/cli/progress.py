"""Progress bars: on stderr, only where that is a terminal and `--quiet` is not given."""

from __future__ import annotations

import math
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tokctl.cli.world import World

if TYPE_CHECKING:
    from typing import Self

#: Seconds; work that is done sooner shows no bar.
_DELAY = 0.2

#: What people read, and its unit, for each phase that is reported.
_PHASES = {
    "count": ("reading", "B"),
    "merge": ("merging", " ids"),
    "seed": ("finding pieces", ""),
    "rounds": ("EM rounds", " rounds"),
    "fetch": ("fetching", "B"),
}


class Bars:
    """One bar per phase, one after the other. Called as `tokctl.training.Progress` is.

    Leaving the block takes the bar away, whatever has happened.
    """

    def __init__(self, world: World, *, rounds: bool = False) -> None:
        """With `rounds`, what `merge` tells is the pieces that a Unigram training still has:
        each of its rounds keeps three quarters of them."""
        self._world = world
        self._rounds = rounds
        self._sizes: list[int] = []
        self._shown = (
            world.stderr_is_terminal and not world.quiet and world.environ.get("TERM") != "dumb"
        )
        self._phase: str | None = None
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close()

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        """`done` of `total` (None: not known), in the unit of the phase."""
        if not self._shown:
            return
        if phase == "merge" and self._rounds and total:
            phase, done, total = self._round(done, total)
        if phase != self._phase:
            self._close()
            self._phase = phase
            self._bar = self._open(phase, done, total)
        self._bar.total = total
        self._bar.update(done - self._bar.n)

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

    def _open(self, phase: str, done: int, total: int | None) -> Any:
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # its thread is not needed: calls come often
        name, unit = _PHASES[phase]
        return tqdm(
            desc=name,
            unit=unit,
            total=total,
            initial=done if phase == "merge" else 0,  # the alphabet cost no time
            unit_scale=unit == "B",
            unit_divisor=1000,
            file=self._world.stderr,
            dynamic_ncols=True,
            leave=False,
            delay=_DELAY,
        )

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
