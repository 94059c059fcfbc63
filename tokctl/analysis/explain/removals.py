"""Models that removed tokens: which were removed and why, and how pre-tokens are segmented.

The steps of the training are its merges. The removals of a step come after its merge. A removed
token has no id, but a number after the last id.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tokctl.analysis.explain.history import History, Pair, check_symbols, history_of, name_symbols
from tokctl.core.errors import BadOption
from tokctl.model import MergeLog, Removal

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


@dataclass(frozen=True)
class RemovalRecord:
    """A removal, with its tokens by name.

    Attributes:
        step: merge after which the token was removed.
        token: the removed token.
        by: token that this merge made; None for a residue.
        count: occurrences; see `tokctl.model.Removal` for the meaning in each algorithm.
        whole: occurrences to compare `count` with; see `tokctl.model.Removal`.
        scaffold: whether the token was removed for being rarer than the next pair (Scaffold-BPE),
            not because most of its occurrences had become part of `by` (PickyBPE, BoundlessBPE).
        residue: whether the token was removed after the training, because texts hardly used it
            except as a part of other tokens (LiteToken).
    """

    step: int
    token: str
    by: str | None
    count: int
    whole: int
    scaffold: bool
    residue: bool


def removals_of(tokenizer: Tokenizer, number: int) -> tuple[RemovalRecord, ...]:
    """Return the removals of the token with this number, in order.

    There are several if merges made the token again, and none in a model that removes no tokens.
    """
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
    """A merge or a split in the segmentation of a pre-token.

    Attributes:
        step: the merge, or the merge after which a token was removed; None if a scaffold token or a
            residue is split, which happens after all merges.
        token: token that is made or split.
        parts: tokens that `token` is made of, or is split into.
        count: weighted occurrences of the pair before the merge; None for a split, or if not known.
        removal: why the token was removed; None for a merge.
        apart: whether the token is split.
        places: indices in `state` of the symbols that the step made, from 0.
        state: symbols of the pre-token after the step.
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
    """A pre-token that is segmented by merges and removals.

    Attributes:
        data: bytes of the pre-token, normalized and rewritten.
        symbols: initial symbols.
        steps: merges and splits, in order; empty if the pre-token is `whole`.
        whole: whether the pre-token is a token and is kept whole.
        tokens: tokens as `encode` names them.
        ids: id of each token; None for a character without an id.
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
    """Return how merges and removals segment one pre-token.

    Args:
        tokenizer: tokenizer of a model that removed tokens.
        data: bytes of the pre-token, normalized and rewritten.
        names: tokens that the encoder made of the pre-token.
        final: ids of these tokens.

    Raises:
        TokctlError: the pre-token has more than `LONGEST` symbols, or the model removes no tokens.
    """
    events = tokenizer.model.events
    if events is None:
        raise BadOption(
            f"a {tokenizer.recipe.algorithm} model removes no tokens",
            "use a model that removes tokens: picky, scaffold or bpe with --prune",
            "conflict",
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
    """The changing symbols of a pre-token while merges and removals are applied.

    Each event has a time: `2 * rank` for a merge, `2 * rank + 1` for the removals after it.
    """

    def __init__(
        self, tokenizer: Tokenizer, events: MergeLog, ids: Sequence[int], names: Sequence[str]
    ) -> None:
        self.tokenizer = tokenizer
        self.events = events
        self.history: History = history_of(tokenizer)
        self.ids = list(ids)
        self.names = list(names)

    @cached_property
    def removals(self) -> dict[int, list[Removal]]:
        """Removals of each token, in order."""
        found: dict[int, list[Removal]] = {}
        for removal in self.events.removals:
            found.setdefault(removal.token, []).append(removal)
        return found

    def replayed(self) -> Iterator[EventStep]:
        """Yield the events in the order of a training with a threshold."""
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
        """Yield the tokens that a token removed at `time` splits into.

        A part that is not in the vocabulary at that time splits further. In BoundlessBPE every part
        does, down to the initial symbols.
        """
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
        """Yield the merges by rank, then the splits of tokens without an id.

        In a model whose residues were removed, the merges that make tokens with an id then run
        again.
        """
        size = self.tokenizer.model.size
        while ranks := self._ranks():
            yield self._merged(min(ranks))
        for token in dict.fromkeys(self.ids):
            # `NO_ID` is higher than the numbers of removed tokens.
            if size <= token < size + len(self.events.removed):
                record = _record(self.tokenizer, self.removals[token][-1])
                yield self._taken_apart(token, list(self._fewest(token)), None, record)
        if self.tokenizer.recipe.removal == "residue":
            merges = self.events.merges
            while ranks := [rank for rank in self._ranks() if merges[rank].token < size]:
                yield self._merged(min(ranks))

    def _ranks(self) -> list[int]:
        """Return the first rank of each neighbouring pair that merges."""
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
        """Pair that splits each removed token into the fewest tokens; the first among equals."""
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
