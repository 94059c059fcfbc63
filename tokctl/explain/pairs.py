"""The pairs of a corpus state with what the training compares: which one comes next, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from tokctl._native import NO_ID
from tokctl.explain.history import check_step, history_of
from tokctl.explain.states import state_ids

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

Pair = tuple[int, int]


@dataclass(frozen=True)
class PairCount:
    """Two symbols that stand side by side in a corpus state.

    Attributes:
        count: weighted occurrences, overlapping ones included.
        left_count, right_count: those of each symbol.
        by_likelihood: the training compares `score`; else it compares `count`.
        step: the first step, of those still to come, at which the model merges the pair;
            None where it never does.
        barred: why the training would not merge it: `rare` (below the least frequency),
            `long` (its token would be too long) or `special` (it would spell a special
            token); None where it may be merged.
        wins: of the pairs that may be merged this is the one that the training would
            merge next, were this the state of its corpus.
    """

    left: str
    right: str
    count: int
    left_count: int
    right_count: int
    by_likelihood: bool
    step: int | None
    barred: str | None
    wins: bool

    @property
    def score(self) -> Fraction | None:
        """count(ab) / (count(a) * count(b)), exactly, where that is compared; else None."""
        if not self.by_likelihood:
            return None
        return Fraction(self.count, self.left_count * self.right_count)


@dataclass(frozen=True)
class PairCounts:
    """The pairs of a corpus state.

    Attributes:
        step: the step that led to the state.
        pairs: the one that the training prefers first; equal ones in the order of the
            recipe's tie rule. Those that it would not merge come last.
        unknown: occurrences of pairs with a character that the model has no symbol for,
            which are none of `pairs`.
    """

    step: int
    pairs: tuple[PairCount, ...]
    unknown: int


def pair_counts(tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]) -> PairCounts:
    """The pairs of the corpus state of counted pre-tokens, given in first-seen order, after
    `step` merges.

    Raises:
        TokctlError: the model has no such step.
    """
    check_step(tokenizer, step)
    history = history_of(tokenizer)
    recipe = tokenizer.recipe
    symbols: Counter[int] = Counter()
    found: Counter[Pair] = Counter()
    for ids, count in state_ids(tokenizer, step, counts):
        for id_ in ids:
            symbols[id_] += count
        # In the order in which the tie rule sees them first.
        for pair in pairwise(ids):
            found[pair] += count
    known = [pair for pair in found if NO_ID not in pair]
    unknown = sum(count for pair, count in found.items() if NO_ID in pair)
    if recipe.tie_break == "lowest-id":
        known.sort()
    by_likelihood = recipe.score == "likelihood"
    known.sort(key=_preference(found, symbols, by_likelihood))  # keeps the order of equals
    bars = _Bars(tokenizer)
    barred = {pair: bars.of(pair, found[pair]) for pair in known}
    known.sort(key=lambda pair: barred[pair] is not None)
    names = tokenizer.tokens
    return PairCounts(
        step,
        tuple(
            PairCount(
                names[left],
                names[right],
                found[left, right],
                symbols[left],
                symbols[right],
                by_likelihood,
                next((r + 1 for r in history.ranks_of((left, right)) if r >= step), None),
                barred[left, right],
                place == 0 and barred[left, right] is None,
            )
            for place, (left, right) in enumerate(known)
        ),
        unknown,
    )


def _preference(
    found: Counter[Pair], symbols: Counter[int], by_likelihood: bool
) -> Callable[[Pair], int]:
    """A key by which the pair that is preferred comes first."""
    if not by_likelihood:
        return lambda pair: -found[pair]
    # Two fractions that differ do so by at least 1 / (product of their denominators): times
    # a power of two over that, and rounded down, they still differ, and equal ones are equal.
    # Whole numbers are compared much faster than fractions.
    most = max((symbols[left] * symbols[right] for left, right in found), default=1)
    shift = 2 * most.bit_length()
    return lambda pair: -((found[pair] << shift) // (symbols[pair[0]] * symbols[pair[1]]))


class _Bars:
    """What a training does not merge, as far as the model's file tells its options."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        training = tokenizer.model.training
        self.least = training.min_frequency if training else 1
        self.longest = training.max_token_length if training else None
        self.special = {text.encode() for text in tokenizer.special_ids}

    def of(self, pair: Pair, count: int) -> str | None:
        if count < self.least:
            return "rare"
        if self.longest is None and not self.special:
            return None
        recipe = self.tokenizer.recipe
        kind, marker = recipe.marker
        mark = marker.encode()
        left, right = (self.tokenizer.model.tokens[id_] for id_ in pair)
        token = left + (right.removeprefix(mark) if kind == "continuation" else right)
        if token in self.special:
            return "special"
        at_start = kind in ("start", "continuation")
        text = token.removeprefix(mark) if at_start else token.removesuffix(mark)
        size = len(text) if recipe.units == "bytes" else len(text.decode())
        return "long" if self.longest is not None and size > self.longest else None
