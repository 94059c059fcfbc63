"""From sources and a recipe to a filled recipe: counting, then merging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tokctl.recipe import FilledRecipe, Recipe
from tokctl.sources import Document, documents
from tokctl.training.counting import (
    Progress,
    Read,
    count,
    count_lines,
    count_mapping,
    counts_to_lines,
)
from tokctl.training.filling import fill
from tokctl.training.options import Options, Timing, available_threads

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
    "train",
    "train_on_counts",
    "train_on_counts_file",
]


def train(
    sources: Sequence[str | Path | Document],
    recipe: Recipe,
    options: Options,
    progress: Progress | None = None,
    timing: Timing | None = None,
) -> FilledRecipe:
    """Trains on files (`-` is stdin) or documents; each is one text.

    A document is read block by block, but with a pattern (`regex:`), which can match
    anything, it is read whole.

    Raises:
        TokctlError: unreadable or empty sources, text that is not UTF-8 for a character
            recipe, a vocabulary below alphabet plus special tokens, options that do not
            fit the recipe.
    """
    timing = timing or Timing()
    options.check_against(recipe)
    if isinstance(sources, (str, Path, Document)):
        sources = [sources]
    opened = iter(documents([s for s in sources if not isinstance(s, Document)]))
    texts = [s if isinstance(s, Document) else next(opened) for s in sources]
    counts, read = count(texts, recipe, options, progress)
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
