"""The one description of a tokenizer: plain data, from normalizer to decoder.

A `Recipe` says how text becomes tokens; a `FilledRecipe` adds what training found:
the vocabulary, the merges or scores and their history. Training fills a recipe in, a
model file holds a filled one, and nothing downstream knows where it came from.
"""

from tokctl.model.algorithms import ALGORITHMS, Algorithm
from tokctl.model.events import Events, Merge, Removal
from tokctl.model.filled import (
    FilledRecipe,
    Origin,
    ParityRecord,
    Round,
    TrainingRecord,
    user_defined_score,
)
from tokctl.model.recipe import (
    ALPHABETS,
    MARKER_KINDS,
    PRECISIONS,
    SCORES,
    TIE_BREAKS,
    UNITS,
    UNKNOWNS,
    Marker,
    Recipe,
    TrainingStage,
)

__all__ = [
    "ALGORITHMS",
    "ALPHABETS",
    "MARKER_KINDS",
    "PRECISIONS",
    "SCORES",
    "TIE_BREAKS",
    "UNITS",
    "UNKNOWNS",
    "Algorithm",
    "Events",
    "FilledRecipe",
    "Marker",
    "Merge",
    "Origin",
    "ParityRecord",
    "Recipe",
    "Removal",
    "Round",
    "TrainingRecord",
    "TrainingStage",
    "user_defined_score",
]
