"""What a metric gives: a number, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Absent:
    """No number: the metric has no meaning for this text or this model."""

    reason: str


Figure = float | Absent


def ratio(above: float, below: float, reason: str) -> Figure:
    """above / below; absent with the reason where `below` is 0."""
    return above / below if below else Absent(reason)
