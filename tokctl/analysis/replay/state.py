"""The corpus state of a replay, brought from step to step: who changes, what is counted, which
pairs lead."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from tokctl._native import NO_ID
from tokctl.analysis.explain.history import Pair, history_of
from tokctl.analysis.explain.states import Criterion
from tokctl.values import no_garbage

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


# -- Which words each step of a merge history rewrites -------------------------------------------

_NONE: array[int] = array("I")


class Timeline:
    """The words of a text by the ranks of the merges that rewrite them.

    Attributes:
        changed: by rank, the numbers of the words that the merge rewrites, ascending; ranks
            that rewrite none are not there.
        broken: words with a symbol that has no id: no pair crosses it.
    """

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        self.history = history_of(tokenizer)
        self.counts = counts
        self.changed: dict[int, array[int]] = {}
        self.broken: set[int] = set()
        self._initial: dict[int, array[int]] = {}
        replay = self.history.replayer.replay
        total = len(self.history.merges)
        for number, (pre_token, _) in enumerate(counts):
            for symbol in set(replay(pre_token, 0)[0]):
                if symbol == NO_ID:
                    self.broken.add(number)
                else:
                    self._initial.setdefault(symbol, array("I")).append(number)
            # A rank is there once for each place that it merged.
            for rank in set(replay(pre_token, total)[2]):
                self.changed.setdefault(rank, array("I")).append(number)

    def state(self, number: int, merges: int) -> tuple[int, ...]:
        """The symbols of a word after so many merges."""
        return tuple(self.history.replayer.replay(self.counts[number][0], merges)[0])

    def rewritten(self, rank: int) -> array[int]:
        """The words that the merge of a rank rewrites."""
        return self.changed.get(rank, _NONE)

    def holders(self, symbol: int, merges: int) -> list[array[int]]:
        """Words among which are all that hold a symbol after so many merges, in lists that
        ascend each by itself."""
        lists = [self._initial[symbol]] if symbol in self._initial else []
        for rank in self.history.made_by.get(symbol, ()):
            if rank < merges and rank in self.changed:
                lists.append(self.changed[rank])
        return lists


class Scan:
    """The order in which the tie rule `rewritten-last` scans words: a word that a merge
    rewrites moves behind all others, and those that one merge rewrites keep their order."""

    def __init__(self, timeline: Timeline, words: int) -> None:
        self._ranks = [array("I") for _ in range(words)]
        self._places = [array("Q") for _ in range(words)]
        places = list(range(words))
        following = words
        for rank in sorted(timeline.changed):
            for number in sorted(timeline.changed[rank], key=places.__getitem__):
                places[number] = following
                self._ranks[number].append(rank)
                self._places[number].append(following)
                following += 1
        self._timeline = timeline
        self._order = list(range(words))
        self._now = list(range(words))
        self._at = 0

    def place(self, number: int, merges: int) -> int:
        """Where a word stands after so many merges: the smaller, the earlier it is scanned."""
        last = bisect_left(self._ranks[number], merges)
        return self._places[number][last - 1] if last else number

    def order(self, merges: int) -> list[int]:
        """The words as they are scanned after so many merges."""
        if abs(merges - self._at) == 1:
            moved: Iterable[int] = self._timeline.rewritten(min(merges, self._at))
        else:
            moved = range(len(self._now)) if merges != self._at else ()
        for number in moved:
            self._now[number] = self.place(number, merges)
        # What was nearly in order before is sorted quickly.
        self._order.sort(key=self._now.__getitem__)
        self._at = merges
        return self._order


# -- Pairs and symbols with their counts ---------------------------------------------------------

Key = TypeVar("Key", Pair, int)


class Tally:
    """Counts in the corpus state after a number of merges.

    Attributes:
        merges: how many have been made.
        states: the symbols of each word.
        pairs: every pair of neighbours with its weighted count; those across a symbol
            without an id are none.
        symbols: every symbol with its weighted count.
    """

    merges: int
    states: list[tuple[int, ...]]
    pairs: dict[Pair, int]
    symbols: dict[int, int]

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.weights = [count for _, count in timeline.counts]
        self._build(0)

    def goto(self, merges: int) -> None:
        """To the state after so many merges. A step costs what it changes, a leap never
        more than counting anew."""
        if merges == self.merges:
            return
        low, high = sorted((merges, self.merges))
        changes = [self._timeline.rewritten(rank) for rank in range(low, high)]
        if high - low == 1:
            self._rewrite(changes[0], merges)
        elif sum(map(len, changes)) * 2 < len(self.states):
            self._rewrite({number for numbers in changes for number in numbers}, merges)
        else:
            self._build(merges)
        self.merges = merges

    def _build(self, merges: int) -> None:
        self.merges = merges
        self.pairs = {}
        self.symbols = {}
        state = self._timeline.state
        with no_garbage():  # it would walk every tuple again and again
            self.states = [state(number, merges) for number in range(len(self.weights))]
            for number, symbols in enumerate(self.states):
                self._add(number, symbols)

    def _rewrite(self, numbers: Iterable[int], merges: int) -> None:
        for number in numbers:
            self._take(number, self.states[number])
            state = self.states[number] = self._timeline.state(number, merges)
            self._add(number, state)

    def neighbours(self, number: int, state: tuple[int, ...]) -> Iterable[Pair]:
        """The pairs of a word."""
        pairs = pairwise(state)
        if number not in self._timeline.broken:
            return pairs
        return (pair for pair in pairs if NO_ID not in pair)

    def _add(self, number: int, state: tuple[int, ...]) -> None:
        weight = self.weights[number]
        pairs, symbols = self.pairs, self.symbols
        for pair in self.neighbours(number, state):
            pairs[pair] = pairs.get(pair, 0) + weight
        for symbol in state:
            symbols[symbol] = symbols.get(symbol, 0) + weight

    def _take(self, number: int, state: tuple[int, ...]) -> None:
        weight = self.weights[number]
        for pair in self.neighbours(number, state):
            _lower(self.pairs, pair, weight)
        for symbol in state:
            _lower(self.symbols, symbol, weight)


def _lower(counts: dict[Key, int], key: Key, by: int) -> None:
    left = counts[key] - by
    if left:
        counts[key] = left
    else:
        del counts[key]


# -- The leading pairs, as the recipe's criterion and tie rule rank them -------------------------

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
