"""Training: count the pre-tokens of sources, then fill a recipe with a vocabulary."""

from tokctl.sources import opened
from tokctl.training.counting import (
    Engine,
    Progress,
    TextStats,
    count,
    count_lines,
    counts_to_lines,
)
from tokctl.training.options import Timing, TrainOptions
from tokctl.training.training import fill, train, train_on_counts

__all__ = [
    "Engine",
    "Progress",
    "TextStats",
    "Timing",
    "TrainOptions",
    "count",
    "count_lines",
    "counts_to_lines",
    "fill",
    "opened",
    "train",
    "train_on_counts",
]
