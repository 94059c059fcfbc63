"""Which words each step of a merge history rewrites, worked out once for a text."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tokctl._native import NO_ID
from tokctl.analysis.explain.history import history_of

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

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
