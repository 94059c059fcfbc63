"""The single description of a tokenizer, as plain data from normalizer to decoder.

A `Recipe` says how text becomes tokens. A `Model` adds what training found: the
vocabulary, and the merges or scores with their history. Training fills in a recipe, a model
file holds a filled recipe, and later code does not depend on where the recipe came from.
"""

from tokctl.model.algorithms import ALGORITHMS, Algorithm
from tokctl.model.events import Merge, MergeLog, Removal
from tokctl.model.filled import (
    ImportedFrom,
    Model,
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
    "ImportedFrom",
    "Marker",
    "Merge",
    "MergeLog",
    "Model",
    "ParityRecord",
    "Recipe",
    "Removal",
    "Round",
    "TrainingRecord",
    "TrainingStage",
    "user_defined_score",
]
