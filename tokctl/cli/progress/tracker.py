"""A phase that is shown: measured, and drawn in one of the forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokctl.cli.progress.meter import Meter
from tokctl.cli.progress.phases import State, phase_of
from tokctl.cli.progress.shown import FORMS

if TYPE_CHECKING:
    from tokctl.cli.world import World


class Tracker:
    """Follows one phase from its first showing to its end."""

    def __init__(
        self, world: World, form: str, phase: str, start: float, first: tuple[float, int]
    ) -> None:
        """`start` is when the phase began, by `time.monotonic`; `first` the time of its first
        call, and what was done then."""
        self._shown = FORMS[form](world)
        self._state = State(phase_of(phase))
        self._start = start
        self._meter = Meter(*first)

    def show(self, now: float, done: int, total: int | None) -> None:
        """So much is done now."""
        self._measure(now, done, total)
        state, meter = self._state, self._meter
        state.rate = meter.rate
        state.left = None if total is None else meter.left(total)
        self._shown.show(state)

    def end(self, now: float, done: int, total: int | None, *, finished: bool) -> None:
        """It ends with so much done; not `finished`: by an error."""
        self._measure(now, done, total)
        self._state.rate, self._state.left = self._meter.average, None
        self._shown.end(self._state, finished=finished)

    def _measure(self, now: float, done: int, total: int | None) -> None:
        self._meter.add(now, done)
        self._state.done, self._state.total = done, total
        self._state.seconds = now - self._start
