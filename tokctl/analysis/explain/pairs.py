"""The pairs of a corpus state with what the training compares: which one comes next, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from tokctl._native import NO_ID
from tokctl.analysis.explain.criterion import Criterion, Pair
from tokctl.analysis.explain.history import check_step, history_of
from tokctl.analysis.explain.states import state_ids

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


@dataclass(frozen=True)
class PairCount:
    """Two symbols that stand side by side in a corpus state.

    Attributes:
        count: weighted occurrences, overlapping ones included.
        left_count, right_count: those of each symbol.
        by_score: the training compares `score`; else it compares `count`.
        step: the first step, of those still to come, at which the model merges the pair;
            None where it never does.
        refused: why the training would not merge it: `rare` (below the least frequency),
            `long` or `special` (see `Criterion.refusal`); None where it may be merged.
        wins: of the pairs that may be merged this is the one that the training would
            merge next, were this the state of its corpus; none does where that is not known.
    """

    left: str
    right: str
    count: int
    left_count: int
    right_count: int
    by_score: bool
    step: int | None
    refused: str | None
    wins: bool

    @property
    def score(self) -> Fraction | None:
        """count(ab) / (count(a) * count(b)), exactly, where that is compared; else None."""
        if not self.by_score:
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
        known: the model's file says by what its training chose. Where it does not, pairs are
            ranked by count, equal ones by their ids.
    """

    step: int
    pairs: tuple[PairCount, ...]
    unknown: int
    known: bool


def pair_counts(tokenizer: Tokenizer, step: int, counts: Iterable[tuple[bytes, int]]) -> PairCounts:
    """The pairs of the corpus state of counted pre-tokens, given in first-seen order, after
    `step` merges.

    Raises:
        TokctlError: the model has no such step.
    """
    check_step(tokenizer, step)
    history = history_of(tokenizer)
    criterion = Criterion(tokenizer)
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
    if criterion.tie_break == "lowest-id":
        known.sort()
    by_score = criterion.by_score
    known.sort(key=_preference(found, symbols, by_score=by_score))  # keeps the order of equals
    refused = {
        pair: "rare" if found[pair] < criterion.least else criterion.refusal(pair) for pair in known
    }
    known.sort(key=lambda pair: refused[pair] is not None)
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
                by_score,
                next((r + 1 for r in history.ranks_of((left, right)) if r >= step), None),
                refused[left, right],
                place == 0 and criterion.known and refused[left, right] is None,
            )
            for place, (left, right) in enumerate(known)
        ),
        unknown,
        criterion.known,
    )


def _preference(
    found: Counter[Pair], symbols: Counter[int], *, by_score: bool
) -> Callable[[Pair], int]:
    """A key by which the pair that is preferred comes first."""
    if not by_score:
        return lambda pair: -found[pair]
    # Two fractions that differ do so by at least 1 / (product of their denominators): times
    # a power of two over that, and rounded down, they still differ, and equal ones are equal.
    # Whole numbers are compared much faster than fractions.
    most = max((symbols[left] * symbols[right] for left, right in found), default=1)
    shift = 2 * most.bit_length()
    return lambda pair: -((found[pair] << shift) // (symbols[pair[0]] * symbols[pair[1]]))
