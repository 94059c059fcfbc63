"""The pairs and symbols of a corpus state with their counts, brought from step to step."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TypeVar

from tokctl._native import NO_ID
from tokctl.analysis.explain.states import Pair
from tokctl.analysis.replay.timeline import Timeline
from tokctl.values import no_garbage

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
