"""From sources and a recipe to a filled recipe: counting, then merging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tokctl.model import FilledRecipe, Recipe
from tokctl.sources import AUTO, Document, Reading, Source, documents, opened
from tokctl.training.counting import (
    Progress,
    Read,
    count_lines,
    count_mapping,
    counts_to_lines,
)
from tokctl.training.filling import fill
from tokctl.training.options import Options, Timing, available_threads
from tokctl.training.texts import count

__all__ = [
    "Options",
    "Progress",
    "Read",
    "Timing",
    "available_threads",
    "count",
    "count_lines",
    "counts_to_lines",
    "fill",
    "opened",
    "train",
    "train_on_counts",
    "train_on_counts_file",
]


def train(
    sources: str | Path | Source | Sequence[str | Path | Source],
    recipe: Recipe,
    options: Options,
    progress: Progress | None = None,
    timing: Timing | None = None,
    reading: Reading = AUTO,
) -> FilledRecipe:
    """Trains on files, folders, archives, tables (`-` is stdin), or on sources that are open.

    A document is read block by block, but with a pattern (`regex:`), which can match
    anything, it is read whole. `reading` is how paths are read, where their names and their
    bytes don't say it.

    Raises:
        TokctlError: unreadable or empty sources, text that is not UTF-8 for a character
            recipe, a vocabulary below alphabet plus special tokens, options that do not
            fit the recipe.
    """
    timing = timing or Timing()
    options.check_against(recipe)
    counts, read = count(opened(sources, reading), recipe, options, progress)
    timing.lap("count")
    return fill(counts, read, recipe, options, progress, timing)


def train_on_counts(
    words: Mapping[str, int] | Mapping[bytes, int],
    recipe: Recipe,
    options: Options,
    progress: Progress | None = None,
) -> FilledRecipe:
    """Trains on pre-tokens that are counted already, in the order of the mapping.

    Neither normalizers nor pre-tokenizer are applied to them.
    """
    counts, read = count_mapping(words, recipe, options)
    return fill(counts, read, recipe, options, progress, Timing())


def train_on_counts_file(
    source: str | Path | Document,
    recipe: Recipe,
    options: Options,
    progress: Progress | None = None,
    timing: Timing | None = None,
) -> FilledRecipe:
    """Trains on a file of `word<TAB>count` lines; see `count_lines`.

    Neither normalizers nor pre-tokenizer are applied to the words.
    """
    timing = timing or Timing()
    options.check_against(recipe)
    document = source if isinstance(source, Document) else documents([source])[0]
    counts, read = count_lines(document, recipe, options, progress)
    timing.lap("count")
    return fill(counts, read, recipe, options, progress, timing)
