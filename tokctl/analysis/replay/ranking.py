"""The leading pairs of a corpus state, as the recipe's criterion and tie rule rank them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from itertools import pairwise

from tokctl.analysis.explain.states import Criterion, Pair
from tokctl.analysis.replay.tally import Tally
from tokctl.analysis.replay.timeline import Scan, Timeline

#: Of so many pairs that tie each is looked up by itself; of more, the words are scanned.
_FEW = 64
#: Scores this close in floating point are compared exactly.
_CLOSE = 1e-9


@dataclass(frozen=True)
class Ranked:
    """Pairs in their order, up to the first ones that were asked for.

    Attributes:
        pairs: best first, those that may not be merged among them.
        best: the first that may be merged; None where there is none.
        tied: pairs as good as `best` that may be merged, itself among them.
    """

    pairs: tuple[Pair, ...]
    best: Pair | None
    tied: int


class Ranking:
    """Ranks the pairs of a tally."""

    def __init__(
        self, criterion: Criterion, timeline: Timeline, tally: Tally, scan: Scan | None
    ) -> None:
        self._criterion = criterion
        self._timeline = timeline
        self._tally = tally
        self._scan = scan

    def leading(self, most: int) -> Ranked:
        """The `most` best pairs, and the best that may be merged."""
        wanted = most
        while True:
            pairs: list[Pair] = []
            best, tied = None, 0
            for level in self._levels(wanted):
                allowed = [pair for pair in level if self._criterion.refusal(pair) is None]
                if best is None and allowed:
                    best = self._in_order(allowed, 1)[0]
                    tied = len(allowed)
                if len(pairs) < most:
                    pairs += self._in_order(level, most - len(pairs))
                elif best is not None:
                    break
            if best is not None or wanted >= len(self._tally.pairs):
                return Ranked(tuple(pairs), best, tied)
            wanted *= 8  # none of these may be merged: look further down

    def score(self, pair: Pair) -> Fraction:
        """What is compared: the count, or the likelihood."""
        count = self._tally.pairs[pair]
        if not self._criterion.by_score:
            return Fraction(count)
        symbols = self._tally.symbols
        return Fraction(count, symbols[pair[0]] * symbols[pair[1]])

    def _levels(self, most: int) -> list[list[Pair]]:
        """The best pairs by score, equals together: at least `most` where there are so many."""
        counts = self._tally.pairs
        if self._criterion.by_score:
            return self._score_levels(most)
        found = nlargest(most, counts.values())
        cut = max(found[-1], self._criterion.least) if found else 0
        levels: dict[int, list[Pair]] = {}
        for pair, count in counts.items():
            if count >= cut:
                levels.setdefault(count, []).append(pair)
        return [levels[count] for count in sorted(levels, reverse=True)]

    def _score_levels(self, most: int) -> list[list[Pair]]:
        pairs = self._tally.pairs
        if self._criterion.least > 1:
            pairs = {pair: count for pair, count in pairs.items() if count >= self._criterion.least}
        # Every pair's score, at every step: as floats first, the best of them exactly.
        part = {symbol: 1 / count for symbol, count in self._tally.symbols.items()}
        rough = [count * part[left] * part[right] for (left, right), count in pairs.items()]
        found = nlargest(most, rough)
        cut = found[-1] * (1 - _CLOSE) if found else 0.0
        levels: dict[Fraction, list[Pair]] = {}
        for pair, score in zip(pairs, rough, strict=True):
            if score >= cut:
                levels.setdefault(self.score(pair), []).append(pair)
        return [levels[score] for score in sorted(levels, reverse=True)]

    def _in_order(self, pairs: Sequence[Pair], most: int) -> list[Pair]:
        """The first `most` of pairs of equal score, as the tie rule orders them."""
        if self._criterion.tie_break == "lowest-id":
            return sorted(pairs)[:most]
        if len(pairs) == 1:
            return list(pairs)
        if len(pairs) <= _FEW:
            return sorted(pairs, key=self._first_place)[:most]
        return self._first_scanned(set(pairs), most)

    def _first_scanned(self, wanted: set[Pair], most: int) -> list[Pair]:
        """The first of many pairs that a scan of the words meets."""
        merges, states = self._tally.merges, self._tally.states
        found: list[Pair] = []
        for number in self._scan.order(merges) if self._scan else range(len(states)):
            for pair in pairwise(states[number]):
                if pair in wanted:
                    wanted.discard(pair)
                    found.append(pair)
                    if len(found) == most or not wanted:
                        return found
        return found

    def _first_place(self, pair: Pair) -> tuple[int, int]:
        """The word that a scan meets a pair in first, and where in it."""
        merges, states = self._tally.merges, self._tally.states
        both = [self._timeline.holders(symbol, merges) for symbol in pair]
        fewer = min(both, key=lambda lists: sum(map(len, lists)))
        found = []
        for numbers in fewer:
            for number in numbers:
                state = states[number]
                if pair[0] not in state or pair not in (pairs := list(pairwise(state))):
                    continue
                place = self._scan.place(number, merges) if self._scan else number
                found.append((place, pairs.index(pair)))
                if self._scan is None:
                    break  # as first seen: later words are of no interest
        return min(found)

    def above(self, pair: Pair) -> Iterator[Pair]:
        """The pairs with a higher score than one that is in the text."""
        if self._criterion.by_score:
            symbols, score = self._tally.symbols, self.score(pair)
            rough = float(score) * (1 - _CLOSE)
            for other, count in self._tally.pairs.items():
                near = count / (symbols[other[0]] * symbols[other[1]]) >= rough
                if near and self.score(other) > score:
                    yield other
        else:
            count = self._tally.pairs[pair]
            yield from (other for other, more in self._tally.pairs.items() if more > count)
