"""The one description of a tokenizer: plain data, from normalizer to decoder.

A `Recipe` says how text becomes tokens; a `FilledRecipe` adds what training found:
the vocabulary, the merges or scores and their history. Training fills a recipe in, a
model file holds a filled one, and nothing downstream knows where it came from.
"""

from tokctl.model.filled import FilledRecipe, user_defined_score
from tokctl.model.recipe import Recipe
from tokctl.model.record import Merge, Origin, Round, TrainingRecord
from tokctl.model.symbols import is_initial_symbol
from tokctl.model.terms import (
    ALGORITHMS,
    ALPHABETS,
    MARKER_KINDS,
    PRECISIONS,
    SCORES,
    SEGMENTATIONS,
    TIE_BREAKS,
    UNITS,
    UNKNOWNS,
    Marker,
)

__all__ = [
    "ALGORITHMS",
    "ALPHABETS",
    "MARKER_KINDS",
    "PRECISIONS",
    "SCORES",
    "SEGMENTATIONS",
    "TIE_BREAKS",
    "UNITS",
    "UNKNOWNS",
    "FilledRecipe",
    "Marker",
    "Merge",
    "Origin",
    "Recipe",
    "Round",
    "TrainingRecord",
    "is_initial_symbol",
    "user_defined_score",
]
