"""Trainings at several vocabulary sizes, measured on the texts that they were trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tokctl.analysis.comparison import measuring
from tokctl.analysis.comparison.results import SweepPoint
from tokctl.analysis.metrics import METRICS, Counts, range_of
from tokctl.analysis.texts import Text
from tokctl.model import Recipe
from tokctl.tokenizer import Tokenizer
from tokctl.training import available_threads
from tokctl.training.pruning import prune

#: Metrics of a sweep: those that need neither a baseline nor a decoder.
SWEPT = (
    "tokens",
    "bytes_per_token",
    "fertility",
    "continued_words",
    "strr",
    "unk_rate",
    "vocabulary_use",
)

#: Tokenizers by the name of the recipe and the size that was asked for.
Trained = dict[tuple[str, int], Tokenizer]


def train_sizes(
    recipes: Mapping[str, Recipe],
    texts: Sequence[Text],
    sizes: Sequence[int],
    *,
    threads: int | None = None,
    errors: str = "strict",
) -> Trained:
    """Trains each recipe at each size.

    Where a training only ever adds to what it has (merges, the most frequent words), the
    largest one holds the others, and they are cut out of it: the same models as trained
    one by one.

    Raises:
        TokctlError: see `Tokenizer.train`.
    """
    found: Trained = {}
    for name, recipe in recipes.items():
        largest: Tokenizer | None = None
        for size in sorted(set(sizes), reverse=True):
            if largest is not None and _grows(recipe):
                # A training that ended early ends early at each size above that, too.
                kept = min(size, largest.vocab_size)
                found[name, size] = (
                    largest if kept == largest.vocab_size else Tokenizer(prune(largest.model, kept))
                )
                continue
            sources = [text.source() for text in texts]
            largest = found[name, size] = Tokenizer.train(
                sources, vocab_size=size, recipe=recipe, threads=threads, errors=errors
            )
    return found


def _grows(recipe: Recipe) -> bool:
    """Is a model of this recipe a part of the larger one?"""
    return recipe.traits.is_nested


def sweep_points(
    trained: Trained,
    texts: Sequence[Text],
    threads: int | None = None,
    *,
    word_rule: str = "spaces",
    known: Mapping[Tokenizer, Counts] | None = None,
) -> tuple[SweepPoint, ...]:
    """The figures of every training over all texts together, by model, then by size.

    Args:
        word_rule: what a word is, of `tokctl.analysis.metrics.WORD_RULES`.
        known: counts over all texts that have been measured already, by the same rule.
    """
    threads = threads or available_threads()
    # A training that ended early is the same tokenizer at several sizes.
    counts = dict(known or {})
    for tokenizer in trained.values():
        if tokenizer not in counts:
            measured = (measuring.measure(tokenizer, t, threads, word_rule) for t in texts)
            counts[tokenizer] = Counts.total(measured)
    names = list(dict.fromkeys(name for name, _ in trained))
    order = sorted(trained, key=lambda key: (names.index(key[0]), key[1]))
    return tuple(
        _point(name, size, trained[name, size], counts[trained[name, size]]) for name, size in order
    )


def _point(name: str, size: int, tokenizer: Tokenizer, counts: Counts) -> SweepPoint:
    reach = range_of(tokenizer.model)
    figures = {
        metric.name: metric.figure(reach, counts, counts)
        for metric in METRICS
        if metric.name in SWEPT
    }
    return SweepPoint(name, size, tokenizer.vocab_size, tokenizer.vocab_size < size, figures)
