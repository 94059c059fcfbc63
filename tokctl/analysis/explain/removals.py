"""Models that tokens were taken away from: what was removed and why, and how words go through it.

The steps of such a model are its merges; the removals of a step come after its merge. A removed
token has a number after the ids, and no id.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tokctl.analysis.explain.history import History, Pair, check_symbols, history_of, name_symbols
from tokctl.errors import TokctlError
from tokctl.model import Events, Removal

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


@dataclass(frozen=True)
class RemovalRecord:
    """A removal, its tokens by name.

    Attributes:
        step: the merge after which the token was removed.
        by: the token that this merge made; None for a residue.
        count, whole: see `tokctl.model.Removal`.
        scaffold: it was removed because it was rarer than what came next (Scaffold-BPE), not
            because most of it had become part of `by` (PickyBPE, BoundlessBPE).
        residue: it was removed after the training, because texts hardly used it but to make
            others of it (LiteToken).
    """

    step: int
    token: str
    by: str | None
    count: int
    whole: int
    scaffold: bool
    residue: bool


def removals_of(tokenizer: Tokenizer, number: int) -> tuple[RemovalRecord, ...]:
    """When and why a token was removed; more than once if merges made it again."""
    events = tokenizer.model.events
    if events is None:
        return ()
    found = (removal for removal in events.removals if removal.token == number)
    return tuple(_record(tokenizer, removal) for removal in found)


def _record(tokenizer: Tokenizer, removal: Removal) -> RemovalRecord:
    history = history_of(tokenizer)
    names, kind = history.tokens, tokenizer.recipe.removal
    step, token, count, whole = removal
    by = None if kind == "residue" else names[history.merges[step - 1].token]
    scaffold, residue = kind == "scaffold", kind == "residue"
    return RemovalRecord(step, names[token], by, count, whole, scaffold, residue)


@dataclass(frozen=True)
class EventStep:
    """A change of a word on its way to tokens.

    Attributes:
        step: the merge, or the one after which a token was removed; None if a scaffold token
            or a residue is taken apart, which is done after the merges.
        token: what is made, or taken apart.
        parts: what it is made of, or falls into.
        removal: why the token was removed; None for a merge.
        apart: is the token taken apart?
        places: symbols of the state after it that were made, from 0.
        state: the symbols after it.
    """

    step: int | None
    token: str
    parts: tuple[str, ...]
    count: int | None
    removal: RemovalRecord | None
    apart: bool
    places: tuple[int, ...]
    state: tuple[str, ...]


@dataclass(frozen=True)
class RefinedWord:
    """A pre-token that goes through merges and removals.

    Attributes:
        data: the pre-token's bytes, normalized and rewritten.
        symbols: what it starts as.
        steps: merges and removals, in order; none where it is `whole`.
        whole: the pre-token is a token, and stays whole.
        tokens: as `encode` names them.
        ids: None if a character has no id.
    """

    data: bytes
    symbols: tuple[str, ...]
    steps: tuple[EventStep, ...]
    whole: bool
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


def refined_word(
    tokenizer: Tokenizer, data: bytes, names: tuple[str, ...], final: tuple[int | None, ...]
) -> RefinedWord:
    """How the events segment one pre-token, which the encoder has made the tokens `names` of.

    Raises:
        TokctlError: it has over `LONGEST` symbols.
    """
    events = tokenizer.model.events
    if events is None:
        raise TokctlError(
            f"a {tokenizer.recipe.algorithm} model removes no tokens",
            "ask a model that removes tokens: picky, scaffold or bpe with --prune",
        )
    if tokenizer.recipe.whole_words and len(final) == 1:
        id_ = final[0]
        if id_ is not None and tokenizer.model.tokens[id_] == data:
            return RefinedWord(data, (), (), whole=True, tokens=names, ids=final)
    ids, lengths, _ = tokenizer.encoder.replay(data, 0)
    check_symbols(len(ids))
    symbols = name_symbols(tokenizer, data, ids, lengths)
    word = _RefinedSymbols(tokenizer, events, ids, symbols)
    replays = tokenizer.recipe.has_threshold
    steps = tuple(word.replayed() if replays else word.demolished())
    return RefinedWord(data, tuple(symbols), steps, whole=False, tokens=names, ids=final)


class _RefinedSymbols:
    """A pre-token on its way from symbols to tokens. An event has a time: twice its rank that of a
    merge, and one more that of the removals after it."""

    def __init__(
        self, tokenizer: Tokenizer, events: Events, ids: Sequence[int], names: Sequence[str]
    ) -> None:
        self.tokenizer = tokenizer
        self.events = events
        self.history: History = history_of(tokenizer)
        self.ids = list(ids)
        self.names = list(names)

    @cached_property
    def removals(self) -> dict[int, list[Removal]]:
        """By token."""
        found: dict[int, list[Removal]] = {}
        for removal in self.events.removals:
            found.setdefault(removal.token, []).append(removal)
        return found

    def replayed(self) -> Iterator[EventStep]:
        """The events of a training with a threshold, in their order."""
        now = -1
        while (time := min(self._times(now), default=None)) is not None:
            now = time
            if time % 2 == 0:
                yield self._merged(time // 2)
                continue
            for token in dict.fromkeys(self.ids):
                for removal in self.removals.get(token, ()):
                    if 2 * removal.step - 1 == time:
                        record = _record(self.tokenizer, removal)
                        parts = list(self._parts(token, time))
                        yield self._taken_apart(token, parts, removal.step, record)

    def _times(self, now: int) -> Iterator[int]:
        for pair in pairwise(self.ids):
            yield from (2 * rank for rank in self.history.ranks_of(pair) if 2 * rank > now)
        for token in self.ids:
            times = (2 * removal.step - 1 for removal in self.removals.get(token, ()))
            yield from (time for time in times if time > now)

    def _parts(self, token: int, time: int) -> Iterator[int]:
        """What a token that is removed at a time falls into: its parts; of those that are not
        there, or in BoundlessBPE of all, theirs."""
        to_symbols = self.tokenizer.recipe.removal == "to-symbols"
        waiting = [token]
        while waiting:
            one = waiting.pop()
            found = self.history.parts_of(one)
            if found and (to_symbols or not self._is_present(one, time)):
                waiting += reversed(found[0])
            else:
                yield one

    def _is_present(self, token: int, time: int) -> bool:
        made = [2 * rank for rank in self.history.made_by.get(token, ())]
        gone = [2 * removal.step - 1 for removal in self.removals.get(token, ())]
        last_made = made[bisect_right(made, time) - 1] if made and made[0] <= time else -1
        last_gone = gone[bisect_right(gone, time) - 1] if gone and gone[0] <= time else -1
        return not made or last_made > last_gone

    def demolished(self) -> Iterator[EventStep]:
        """The merges by rank, then what the tokens without an id fall into; of residues, then the
        merges that make others."""
        size = self.tokenizer.model.size
        while ranks := self._ranks():
            yield self._merged(min(ranks))
        for token in dict.fromkeys(self.ids):
            # Symbols that the model lacks have a number beyond all others.
            if size <= token < size + len(self.events.removed):
                record = _record(self.tokenizer, self.removals[token][-1])
                yield self._taken_apart(token, list(self._fewest(token)), None, record)
        if self.tokenizer.recipe.removal == "residue":
            merges = self.events.merges
            while ranks := [rank for rank in self._ranks() if merges[rank].token < size]:
                yield self._merged(min(ranks))

    def _ranks(self) -> list[int]:
        """At which rank each pair merges that does."""
        return [r for pair in pairwise(self.ids) for r in self.history.ranks_of(pair)[:1]]

    def _fewest(self, token: int) -> Iterator[int]:
        waiting = [token]
        while waiting:
            one = waiting.pop()
            if one in self._undone:
                waiting += reversed(self._undone[one])
            else:
                yield one

    @cached_property
    def _undone(self) -> dict[int, Pair]:
        """Of each token without an id the merge that gives the fewest tokens; the first such."""
        size = self.tokenizer.model.size
        undone: dict[int, Pair] = {}
        fewest: dict[int, int] = {}
        made = self.history.made_by
        numbers = range(size, size + len(self.events.removed))
        for token in sorted(numbers, key=lambda one: len(self.events.removed[one - size])):
            for rank in made[token]:
                merge = self.events.merges[rank]
                parts = fewest.get(merge.left, 1) + fewest.get(merge.right, 1)
                if token not in fewest or parts < fewest[token]:
                    fewest[token], undone[token] = parts, (merge.left, merge.right)
        return undone

    def _merged(self, rank: int) -> EventStep:
        left, right, token, *_ = self.events.merges[rank]
        record = self.history.record(rank)
        at, places = 0, []
        while at < len(self.ids) - 1:
            if self.ids[at : at + 2] == [left, right]:
                self._replace(at, 2, [token])
                places.append(at)
            at += 1
        return EventStep(
            record.step,
            record.token,
            (record.left, record.right),
            record.count,
            None,
            apart=False,
            places=tuple(places),
            state=tuple(self.names),
        )

    def _taken_apart(
        self, token: int, parts: list[int], step: int | None, removal: RemovalRecord
    ) -> EventStep:
        at, places = 0, list[int]()
        while at < len(self.ids):
            if self.ids[at] == token:
                self._replace(at, 1, parts)
                places += range(at, at + len(parts))
                at += len(parts) - 1
            at += 1
        names = self.history.tokens
        return EventStep(
            step,
            names[token],
            tuple(names[part] for part in parts),
            None,
            removal,
            apart=True,
            places=tuple(places),
            state=tuple(self.names),
        )

    def _replace(self, at: int, length: int, tokens: Iterable[int]) -> None:
        self.ids[at : at + length] = tokens
        self.names[at : at + length] = [self.history.tokens[token] for token in tokens]
