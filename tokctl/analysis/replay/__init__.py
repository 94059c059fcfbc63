"""A training replayed on a text: forward, back, or straight to a step.

`tokctl.analysis.explain.states` computes the corpus state after one step from scratch. A `Replay`
stands at a step, and goes to the next by what that step changes.
"""

from __future__ import annotations

from tokctl.analysis.replay.replays import (
    ARRANGEMENTS,
    Choice,
    Frame,
    FrameWord,
    LeadingPair,
    MergeReplay,
    Replay,
    RoundFrame,
    RoundReplay,
    Stage,
)

__all__ = [
    "ARRANGEMENTS",
    "Choice",
    "Frame",
    "FrameWord",
    "LeadingPair",
    "MergeReplay",
    "Replay",
    "RoundFrame",
    "RoundReplay",
    "Stage",
]
