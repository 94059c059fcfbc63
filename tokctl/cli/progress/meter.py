"""How fast work goes, and how long it will take."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Seconds that the rate shown looks back, and those that the time left does at the least.
_RECENT = 5.0
_STEADY = 15.0
#: The time left looks back over this part of the work so far: the longer it takes, the less one
#: slow file changes the forecast.
_PART = 0.25
#: Seconds; between measurements that are closer, a rate would be noise.
_LEAST = 0.01


@dataclass
class _Smoothed:
    """A moving average whose weights fall exponentially with age, and sum to 1 from the start."""

    value: float = 0.0
    weight: float = 0.0

    def add(self, rate: float, seconds: float, back: float) -> None:
        kept = math.exp(-seconds / back)
        self.value = kept * self.value + (1 - kept) * rate
        self.weight = kept * self.weight + (1 - kept)

    def __call__(self) -> float | None:
        return self.value / self.weight if self.weight else None


class Meter:
    """Measures one phase."""

    def __init__(self, now: float, done: int) -> None:
        """`now`, in seconds of any clock, so much was done already."""
        self._begin(now, done)

    def _begin(self, now: float, done: int) -> None:
        self._first = self._last = (now, done)
        self._recent, self._steady = _Smoothed(), _Smoothed()

    def add(self, now: float, done: int) -> None:
        """At this time so much is done."""
        if done < self._last[1]:  # the work began anew: on another mirror, say
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
        """Units per second, of late."""
        return self._recent()

    @property
    def average(self) -> float | None:
        """Units per second, from the first measurement to the last; None where nothing came in
        between."""
        seconds, done = self._last[0] - self._first[0], self._last[1] - self._first[1]
        return done / seconds if seconds and done else None

    def left(self, total: int) -> float | None:
        """Seconds until `total` is done; None where nothing says it."""
        if not (rate := self._steady()):
            return None
        return max(0, total - self._last[1]) / rate
