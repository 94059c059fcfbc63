"""The phases of long work, and where one stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """A stretch of work.

    Attributes:
        name: for programs, and in the code.
        label: for people.
        unit: what is counted: `bytes`, or the plural of a thing; empty: nothing that has a name.
    """

    name: str
    label: str
    unit: str


_ALL = (
    Phase("count", "read", "bytes"),
    Phase("merge-runs", "merge sorted runs", "bytes"),
    Phase("merge", "merge", "ids"),
    Phase("seed", "find pieces", ""),
    Phase("rounds", "EM rounds", "rounds"),
    Phase("fetch", "fetch", "bytes"),
    Phase("encode", "encode", "bytes"),
    Phase("decode", "decode", "bytes"),
    Phase("count-tokens", "count", "bytes"),
    Phase("compare", "compare", "bytes"),
    Phase("measure", "measure", "bytes"),
)
PHASES = {phase.name: phase for phase in _ALL}


def phase_of(name: str) -> Phase:
    """The phase of this name, whatever it is."""
    return PHASES.get(name) or Phase(name, name, "")


@dataclass
class State:
    """Where a phase stands.

    Attributes:
        done, total: in the phase's unit; `total` is None where it is not known.
        seconds: since the end of the phase before, or the start of the work.
        rate: units per second, of late; of the whole phase at its end. None: not known yet.
        left: seconds until the end; None: not known.
    """

    phase: Phase
    done: int = 0
    total: int | None = None
    seconds: float = 0.0
    rate: float | None = None
    left: float | None = None
