"""A pre-token on its way from symbols to tokens: each merge, what lost, what is left over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Protocol

from tokctl._native import NO_ID
from tokctl.analysis.explain.history import MergeRecord

Pair = tuple[int, int]


@dataclass(frozen=True)
class Candidate:
    """A pair that could have been merged, and the step at which training merged it."""

    left: str
    right: str
    step: int


@dataclass(frozen=True)
class MergeStep:
    """One merge, made at every place where it is the next.

    Attributes:
        places: which symbols of the state before it were left parts, from 0.
        losers: the other pairs that a merge exists for, by step; all come later.
        state: the symbols after it.
    """

    merge: MergeRecord
    places: tuple[int, ...]
    losers: tuple[Candidate, ...]
    state: tuple[str, ...]


@dataclass(frozen=True)
class Leftover:
    """Why two neighbours of the last state are not merged.

    Attributes:
        reason: `unknown` (one of them has no id), `never` (no merge in the history; by
            ranks: no token that they spell) or `passed` (the pair came up only after its
            step).
        step: the step that had passed; None for the other reasons.
        instead: the merge that makes the token that the two would spell, of another pair;
            None where there is no such token, or its merge is not known.
        lacks: which of the two have no id.
    """

    left: str
    right: str
    reason: str
    step: int | None
    instead: MergeRecord | None = None
    lacks: tuple[str, ...] = ()


class Rules(Protocol):
    """Which pairs merge: the merges of a history, or the ranks of tokens."""

    def ranks_of(self, pair: Pair) -> Sequence[int]: ...
    def token_of(self, rank: int, pair: Pair) -> int: ...
    def record(self, rank: int, pair: Pair) -> MergeRecord: ...
    def instead(self, pair: Pair) -> MergeRecord | None: ...

    @property
    def tokens(self) -> list[str]: ...


class Segmented:
    """A pre-token on its way from symbols to tokens."""

    def __init__(self, rules: Rules, replay: bool, ids: list[int], names: list[str]) -> None:
        self.rules = rules
        self.replay = replay
        self.ids = list(ids)
        self.names = list(names)

    def steps(self, merges: Iterable[tuple[int, Pair]]) -> Iterator[MergeStep]:
        """The merges of these ranks and pairs, equal ones in a row together."""
        for (rank, pair), places in groupby(merges):
            losers = tuple(self._losers(rank, pair))
            done = tuple(self._merge(rank, pair, already) for already, _ in enumerate(places))
            yield MergeStep(self.rules.record(rank, pair), done, losers, tuple(self.names))

    def _merge(self, rank: int, pair: Pair, already: int) -> int:
        """Merges the leftmost such pair. The place of its left symbol in the state that
        the `already` merges of the same rank, all further left, began with."""
        at = next(at for at, two in enumerate(pairwise(self.ids)) if two == pair)
        token = self.rules.token_of(rank, pair)
        self.ids[at : at + 2] = [token]
        self.names[at : at + 2] = [self.rules.tokens[token]]
        return at + already

    def _losers(self, now: int, merged: Pair) -> Iterator[Candidate]:
        """The other pairs that are due, at a time when the merge `now` is."""
        due: dict[tuple[int, Pair], None] = {}
        for pair in pairwise(self.ids):
            ranks = self.rules.ranks_of(pair)
            wanted = [r for r in ranks if r >= now] if self.replay else ranks[:1]
            due.update(((rank, pair), None) for rank in wanted)
        names = self.rules.tokens
        for rank, (left, right) in sorted(due):
            if (rank, (left, right)) != (now, merged):
                step = self.rules.record(rank, (left, right)).step
                yield Candidate(names[left], names[right], step)

    def leftovers(self) -> Iterator[Leftover]:
        for pair, (left, right) in zip(pairwise(self.ids), pairwise(self.names), strict=True):
            if NO_ID in pair:
                named = zip(pair, (left, right), strict=True)
                lacks = tuple(name for id_, name in named if id_ == NO_ID)
                yield Leftover(left, right, "unknown", None, lacks=lacks)
            elif ranks := self.rules.ranks_of(pair):
                step = self.rules.record(ranks[-1], pair).step
                yield Leftover(left, right, "passed", step)
            else:
                yield Leftover(left, right, "never", None, self.rules.instead(pair))
