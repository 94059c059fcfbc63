"""A training replayed on a text: forward, back, or straight to a step.

`states.py` says what the corpus state after one step is, from scratch. A `Replay` stands at a
step, and goes to the next by what that step changes.
"""

from __future__ import annotations

from tokctl.analysis.replay.base import ARRANGEMENTS, Replay, Stage
from tokctl.analysis.replay.frames import Choice, Frame, FrameWord, LeadingPair, RoundFrame
from tokctl.analysis.replay.merges import MergeReplay
from tokctl.analysis.replay.rounds import RoundReplay

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
