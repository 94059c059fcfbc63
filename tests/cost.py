"""What work costs on any machine, however busy it is: CPU time in that of a fixed loop."""

from __future__ import annotations

import time
from collections.abc import Callable


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _loop() -> None:
    """A million empty rounds: some 20 ms."""
    for _ in range(1_000_000):
        pass


def cost(work: Callable[[], object], enough: float) -> float:
    """In such loops; the least of three runs, or the first that costs no more than `enough`."""
    least = float("inf")
    for _ in range(3):
        least = min(least, _seconds(work) / max(_seconds(_loop), 1e-9))
        if least <= enough:
            break
    return least
