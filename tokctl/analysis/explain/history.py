"""What a training did, as a model's file tells it: its merges step by step, or its rounds.

A *step* is counted from 1, as people count; the *rank* of the same merge is one less. Where the
file ranks tokens and names no pairs, the merges are those that follow from the ranks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tokctl import _native
from tokctl._native import NO_ID
from tokctl.errors import TokctlError
from tokctl.model import Merge, Recipe, Round, byte_level
from tokctl.wording import plural

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Symbols or characters of one pre-token that is explained. An explanation by merges holds every
#: state in between, which is quadratic, and nobody reads further.
LONGEST = 1000

#: Two neighbours by their ids.
Pair = tuple[int, int]


@dataclass(frozen=True)
class MergeRecord:
    """One step of a training, its symbols by name.

    Attributes:
        step: the step of the training; in a model segmented by ranks, the rank.
        count: weighted occurrences of the pair before the merge; None if the model's
            file does not say.
        score: count(ab) / (count(a) * count(b)), exactly, where that is what the training
            compared; else None.
        stage: of a training in stages, from 1; None if it had one, or is not known.
        language: the one that chose the merge in a parity-aware training, empty if all of them
            chose it together; None in any other training.
    """

    step: int
    left: str
    right: str
    token: str
    count: int | None
    score: Fraction | None
    stage: int | None = None
    language: str | None = None


class MergeRules(ABC):
    """Which pairs merge, and what tokens are merged from."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        # Not the tokenizer itself: it is the key under which this is kept.
        self.model = tokenizer.model
        self.tokens = tokenizer.tokens

    @cached_property
    def ids(self) -> dict[bytes, int]:
        """The ordinary tokens with their ids."""
        reserved = self.model.reserved_ids
        return {token: id_ for id_, token in enumerate(self.model.tokens) if id_ not in reserved}

    @abstractmethod
    def ranks_of(self, pair: Pair) -> Sequence[int]:
        """The ranks at which a pair merges, the first one first."""

    @abstractmethod
    def token_of(self, rank: int, pair: Pair) -> int:
        """The token that merging a pair at a rank makes."""

    @abstractmethod
    def record(self, rank: int, pair: Pair) -> MergeRecord:
        """The merge of a pair at a rank, for people."""

    @abstractmethod
    def alternative(self, pair: Pair) -> MergeRecord | None:
        """The merge that makes the token which two neighbours would spell that never merge."""

    @abstractmethod
    def parts_of(self, id_: int) -> tuple[Pair, int] | None:
        """The two tokens that a token is merged from, and at which rank; None for one that no
        merge makes."""

    @abstractmethod
    def uses_of(self, id_: int) -> Iterator[tuple[Pair, int]]:
        """The merges that have a token as a part, with their ranks, in the order of these."""


class History(MergeRules):
    """What a tokenizer's merges say, looked up from every side."""

    def __init__(self, tokenizer: Tokenizer, supermerges: Sequence[Merge] = ()) -> None:
        """`supermerges`: steps after all merges."""
        super().__init__(tokenizer)
        events = tokenizer.model.events
        self.merges = [*(events.merges if events else tokenizer.merges), *supermerges]
        if events:
            # Tokens that were removed have the numbers behind the ids.
            self.tokens = [*tokenizer.tokens, *removed_names(tokenizer)]

    @cached_property
    def ranks(self) -> dict[Pair, list[int]]:
        """The ranks of each pair: more than one where the pair was merged again later."""
        ranks: dict[Pair, list[int]] = {}
        for rank, merge in enumerate(self.merges):
            ranks.setdefault((merge.left, merge.right), []).append(rank)
        return ranks

    @cached_property
    def made_by(self) -> dict[int, list[int]]:
        """The ranks of the merges that make each token, the one it was born of first."""
        made: dict[int, list[int]] = {}
        for rank, merge in enumerate(self.merges):
            made.setdefault(merge.token, []).append(rank)
        return made

    @cached_property
    def longest(self) -> int:
        """Characters of the longest token, its marker counted."""
        return max(map(len, self.tokens))

    @cached_property
    def replayer(self) -> _native.Encoder:
        """An encoder that makes the merges in the order learned, however the recipe encodes."""
        from tokctl.model.encoders import replayer

        return replayer(self.model)

    def ranks_of(self, pair: Pair) -> Sequence[int]:
        return self.ranks.get(pair, ())

    def token_of(self, rank: int, _pair: Pair) -> int:
        return self.merges[rank].token

    def record(self, rank: int, _pair: Pair | None = None) -> MergeRecord:
        merge = self.merges[rank]
        score = None
        expected = merge.left_count * merge.right_count  # 0 where a file does not know them
        if self.model.recipe.merges_by_likelihood and expected:
            score = Fraction(merge.count, expected)
        names = (self.tokens[merge.left], self.tokens[merge.right], self.tokens[merge.token])
        stage = None
        record = self.model.training
        # The stages of a model that was extended are no longer known.
        if record and record.stage_ends and merge.token >= record.extended:
            stage = 1 + sum(end <= merge.token for end in record.stage_ends)
        parity = self.model.parity
        language = parity.language_of(rank) if parity else None
        return MergeRecord(rank + 1, *names, merge.count or None, score, stage, language)

    def alternative(self, pair: Pair) -> MergeRecord | None:
        if max(pair) >= self.model.size:
            return None
        left, right = (self.model.tokens[id_] for id_ in pair)
        token = self.ids.get(self.model.recipe.marker.merged(left, right), -1)
        return self.record(self.made_by[token][0]) if token in self.made_by else None

    def parts_of(self, id_: int) -> tuple[Pair, int] | None:
        if id_ not in self.made_by:
            return None
        rank = self.made_by[id_][0]
        return (self.merges[rank].left, self.merges[rank].right), rank

    def uses_of(self, id_: int) -> Iterator[tuple[Pair, int]]:
        for rank, merge in enumerate(self.merges):
            if id_ in (merge.left, merge.right):
                yield (merge.left, merge.right), rank


class Ranks(MergeRules):
    """The ranks of a model's tokens, and the merges that they stand for.

    A model segmented by ranks (tiktoken's, SentencePiece's BPE) merges any two neighbours that
    spell a token, the token of the lowest rank first. The rank is the id; in a model with scores
    it is the place in the order of the scores, equal scores being equal ranks.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        self.spelled = tokenizer.model.tokens
        self.encoder = tokenizer.encoder
        self._parts: dict[int, tuple[Pair, int] | None] = {}

    @cached_property
    def by_id(self) -> dict[int, int]:
        """The rank of each ordinary token."""
        scores = self.model.scores
        if not scores:
            return {id_: id_ for id_ in self.ids.values()}
        levels = sorted({scores[id_] for id_ in self.ids.values()}, reverse=True)
        ranks = {score: rank for rank, score in enumerate(levels)}
        return {id_: ranks[scores[id_]] for id_ in self.ids.values()}

    def ranks_of(self, pair: Pair) -> Sequence[int]:
        """The rank of the token that two neighbours spell, if they spell one."""
        if NO_ID in pair:
            return ()
        id_ = self.ids.get(self.spelled[pair[0]] + self.spelled[pair[1]])
        return () if id_ is None else (self.by_id[id_],)

    def token_of(self, _rank: int, pair: Pair) -> int:
        return self.ids[self.spelled[pair[0]] + self.spelled[pair[1]]]

    def record(self, rank: int, pair: Pair) -> MergeRecord:
        left, right = pair
        token = self.tokens[self.token_of(rank, pair)]
        return MergeRecord(rank, self.tokens[left], self.tokens[right], token, None, None)

    def alternative(self, _pair: Pair) -> None:
        """Two neighbours that spell a token are always merged."""
        return

    def lowest(self, ids: Sequence[int]) -> tuple[int, Pair] | None:
        """The pair that merges next, with its rank: the lowest, the leftmost of equals."""
        ranked = [(rank, pair) for pair in pairwise(ids) for rank in self.ranks_of(pair)]
        return min(ranked, key=lambda found: found[0], default=None)

    def parts_of(self, id_: int) -> tuple[Pair, int] | None:
        """The two tokens that the merges of lower rank leave of a token's own text; None
        if they leave another number: then the token is never made of its own text."""
        if id_ not in self._parts:
            self._parts[id_] = self._find_parts(id_) if id_ in self.by_id else None
        return self._parts[id_]

    def _find_parts(self, id_: int) -> tuple[Pair, int] | None:
        ids = list(self.encoder.replay(self.spelled[id_], 0)[0])
        while (found := self.lowest(ids)) and len(ids) > 2:
            rank, pair = found
            if rank >= self.by_id[id_]:
                return None
            at = next(at for at, two in enumerate(pairwise(ids)) if two == pair)
            ids[at : at + 2] = [self.token_of(rank, pair)]
        if len(ids) != 2 or self.ranks_of((ids[0], ids[1])) != (self.by_id[id_],):
            return None
        return (ids[0], ids[1]), self.by_id[id_]

    def uses_of(self, id_: int) -> Iterator[tuple[Pair, int]]:
        if id_ not in self.by_id:
            return
        data = self.spelled[id_]
        longer = [
            other
            for token, other in self.ids.items()
            if len(token) > len(data) and (token.startswith(data) or token.endswith(data))
        ]
        for other in sorted(longer, key=lambda other: (self.by_id[other], other)):
            found = self.parts_of(other)
            if found and id_ in found[0]:
                yield found


_HISTORIES: WeakKeyDictionary[Tokenizer, History] = WeakKeyDictionary()


def removed_names(tokenizer: Tokenizer) -> list[str]:
    """The tokens that were taken away, as they would be spelled, by number."""
    events = tokenizer.model.events
    return events.spelled(is_byte_level=tokenizer.recipe.is_byte_level) if events else []


def history_of(tokenizer: Tokenizer) -> History:
    """The tokenizer's history; made once, and kept as long as the tokenizer is."""
    found = _HISTORIES.get(tokenizer)
    if found is None:
        found = _HISTORIES[tokenizer] = History(tokenizer)
    return found


_WITH_SUPERWORDS: WeakKeyDictionary[Tokenizer, History] = WeakKeyDictionary()


def full_history_of(tokenizer: Tokenizer) -> History:
    """The same with the supermerges, if there are any: steps after all merges, as encoding makes
    them."""
    supermerges = tokenizer.model.supermerges
    if not supermerges:
        return history_of(tokenizer)
    found = _WITH_SUPERWORDS.get(tokenizer)
    if found is None:
        found = _WITH_SUPERWORDS[tokenizer] = History(tokenizer, supermerges)
    return found


def token_rules(tokenizer: Tokenizer) -> MergeRules:
    """What says which tokens a token is made of: the ranks of a model, or else its history with
    the supermerges."""
    return Ranks(tokenizer) if tokenizer.recipe.has_ranks else full_history_of(tokenizer)


def merge_rules(tokenizer: Tokenizer) -> MergeRules:
    """What says which pairs of a pre-token merge in a model: its ranks, or else its history."""
    return Ranks(tokenizer) if tokenizer.recipe.has_ranks else history_of(tokenizer)


def merge_records(
    tokenizer: Tokenizer, first: int = 1, last: int | None = None
) -> list[MergeRecord]:
    """The merges of the steps `first` to `last`, both included; None goes on to the end.

    Raises:
        TokctlError: the model has no merges, or not the step `first`. A `last` after the
            end is the end.
    """
    history = full_history_of(tokenizer)
    return [history.record(rank) for rank in merge_range(tokenizer, first, last)]


def merge_range(tokenizer: Tokenizer, first: int = 1, last: int | None = None) -> range:
    """The ranks of these steps; raises as `merge_records` does."""
    check_merges(tokenizer)
    total = step_count(tokenizer)
    if total:
        _check_in_range(first, total, lowest=1)
    return range(first - 1, min(last or total, total))


def step_count(tokenizer: Tokenizer) -> int:
    """How many merges a training has made, as far as the model says."""
    return len(full_history_of(tokenizer).merges)


def check_states(tokenizer: Tokenizer) -> None:
    """TokctlError if the states of a corpus can't be shown: merges alone don't make them."""
    if tokenizer.recipe.removal:
        raise TokctlError(
            f"the steps of this {tokenizer.recipe.algorithm} model can't be shown on a text: "
            "tokens were taken away beside its merges",
            "--merges lists its merges, --word TEXT shows how a word goes through them, and "
            "--token TOKEN says why a token was removed",
        )


def check_symbols(count: int) -> None:
    """TokctlError if a pre-token has too many symbols to be explained."""
    if count > LONGEST:
        raise TokctlError(
            f"a pre-token of {count:,} symbols is too long to explain step by step",
            f"give a part of it, up to {LONGEST:,} symbols; encode splits it at any length",
        )


def check_merges(tokenizer: Tokenizer) -> None:
    """TokctlError if a model has no merge history at all."""
    recipe = tokenizer.recipe
    if recipe.has_ranks:
        raise TokctlError(
            "the merges of this model are not known: its file ranks tokens, and says nothing "
            "of pairs",
            "--word TEXT and --token TOKEN show the merges that follow from the ranks",
        )
    if recipe.traits.has_scores:
        raise TokctlError(
            "a unigram model has no merges: its pieces are chosen by likelihood",
            "see the rounds of its training: --rounds"
            if tokenizer.model.rounds
            else "what its pieces are worth: --token PIECE",
        )
    if not recipe.traits.learns_merges:
        raise TokctlError(
            f"a {recipe.algorithm} model has no merges: its tokens are chosen by count",
            "see how often a token was counted: --token TOKEN",
        )


def check_step(tokenizer: Tokenizer, step: int, lowest: int = 0) -> None:
    """TokctlError if the model does not have that step."""
    check_merges(tokenizer)
    check_states(tokenizer)
    total = len(tokenizer.merges)
    if type(step) is int and total < step <= step_count(tokenizer):
        raise TokctlError(
            f"step {step:,} is a supermerge, and states show the merges inside pre-tokens alone",
            f"choose a step from {lowest} to {total}; --merges lists the supermerges as well",
        )
    _check_in_range(step, total, lowest)


def _check_in_range(step: int, total: int, lowest: int) -> None:
    if type(step) is not int or not lowest <= step <= total:
        raise TokctlError(
            f"there is no step {step!r}: this model has {plural(total, 'merge')}",
            f"choose a step from {lowest} to {total}" if total else "0 is before the first merge",
        )


def name_symbols(
    tokenizer: Tokenizer, data: bytes, ids: Sequence[int], lengths: Sequence[int]
) -> list[str]:
    """The names of a pre-token's symbols; one without an id shows as the character itself,
    with its marker.

    Args:
        data: the pre-token.
        lengths: the bytes of it that each symbol covers.
    """
    tokens = tokenizer.tokens
    if NO_ID not in ids:
        return [tokens[id_] for id_ in ids]
    names = []
    at = 0
    for id_, length in zip(ids, lengths, strict=True):
        end = at + length
        if id_ != NO_ID:
            names.append(tokens[id_])
        else:
            names.append(_unknown_name(tokenizer.recipe, data, at, end))
        at = end
    return names


def _unknown_name(recipe: Recipe, data: bytes, start: int, end: int) -> str:
    if recipe.is_byte_level:
        return byte_level.spell(data[start:end])
    if start == end:  # a marker that is a symbol of its own
        return recipe.marker.text
    name = data[start:end].decode("utf-8", "replace")
    return recipe.marker.on_symbol(name, first=start == 0, last=end == len(data))


def rounds(tokenizer: Tokenizer) -> list[Round]:
    """What each round left and dropped, first to last.

    Raises:
        TokctlError: another algorithm; a model whose file does not tell its training.
    """
    if not tokenizer.recipe.traits.has_scores:
        algorithm = tokenizer.recipe.algorithm
        other = (
            "see its merges: --merges :" if step_count(tokenizer) else "see a token: --token TOKEN"
        )
        raise TokctlError(f"a {algorithm} model is not trained in rounds", other)
    if not tokenizer.model.rounds:
        raise TokctlError(
            "this model's file says nothing about its training",
            "what its pieces are worth: --token PIECE",
        )
    return tokenizer.model.rounds
