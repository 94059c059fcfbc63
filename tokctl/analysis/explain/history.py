"""The merges and rounds of a training, read from its model file.

A *step* is numbered from 1; the *rank* of the same merge is `step - 1`. A file that ranks tokens
names no pairs: its merges are derived from the ranks.
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
from tokctl.core.errors import BadInput, BadOption, Unsupported
from tokctl.core.humanize import plural
from tokctl.model import Merge, Recipe, Round, byte_level

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Most symbols or characters of a pre-token that can be explained. An explanation by merges stores
#: the state after each merge, so its size is quadratic, and nobody reads longer ones.
LONGEST = 1000

#: Ids of two neighbouring symbols.
Pair = tuple[int, int]


@dataclass(frozen=True)
class MergeRecord:
    """A merge of a training, with its symbols by name.

    Attributes:
        step: step of the training; in a model segmented by ranks, the rank.
        left: left symbol of the pair.
        right: right symbol of the pair.
        token: token that the merge makes.
        count: weighted occurrences of the pair before the merge; None if the file lacks them.
        score: exact count(ab) / (count(a) * count(b)) if the training compared scores; else None.
        stage: stage of a staged training, from 1; None if there was one stage or it is not known.
        language: language that chose the merge in a parity-aware training, empty if all languages
            chose together; None in any other training.
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
    """Rules that say which pairs merge, and which parts a token is merged from."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        # Don't keep the tokenizer: as the weak key of `_HISTORIES` it must be free to be collected.
        self.model = tokenizer.model
        self.tokens = tokenizer.tokens

    @cached_property
    def ids(self) -> dict[bytes, int]:
        """Ids of the ordinary tokens by their bytes."""
        reserved = self.model.reserved_ids
        return {token: id_ for id_, token in enumerate(self.model.tokens) if id_ not in reserved}

    @abstractmethod
    def ranks_of(self, pair: Pair) -> Sequence[int]:
        """Return the ranks at which `pair` merges, lowest first; empty if it never does."""

    @abstractmethod
    def token_of(self, rank: int, pair: Pair) -> int:
        """Return the id of the token that merging `pair` at `rank` makes."""

    @abstractmethod
    def record(self, rank: int, pair: Pair) -> MergeRecord:
        """Return the merge of `pair` at `rank` with its symbols by name."""

    @abstractmethod
    def alternative(self, pair: Pair) -> MergeRecord | None:
        """Return the merge that makes the token spelled by a pair that never merges.

        None if the vocabulary lacks that token or no merge makes it.
        """

    @abstractmethod
    def parts_of(self, id_: int) -> tuple[Pair, int] | None:
        """Return the two tokens that `id_` is merged from, and the rank; None if unmerged."""

    @abstractmethod
    def uses_of(self, id_: int) -> Iterator[tuple[Pair, int]]:
        """Yield each merge that has token `id_` as a part, with its rank, by rank."""


class History(MergeRules):
    """A model's merges in the order learned, indexed by pair and by token."""

    def __init__(self, tokenizer: Tokenizer, supermerges: Sequence[Merge] = ()) -> None:
        """Index the merges of `tokenizer`.

        Args:
            tokenizer: tokenizer whose merges are indexed.
            supermerges: merges of whole pre-tokens, appended as steps after all merges.
        """
        super().__init__(tokenizer)
        events = tokenizer.model.events
        self.merges = [*(events.merges if events else tokenizer.merges), *supermerges]
        if events:
            # Removed tokens are numbered after the last id.
            self.tokens = [*tokenizer.tokens, *removed_names(tokenizer)]

    @cached_property
    def ranks(self) -> dict[Pair, list[int]]:
        """Ranks of each pair, ascending; several if the pair was merged again later."""
        ranks: dict[Pair, list[int]] = {}
        for rank, merge in enumerate(self.merges):
            ranks.setdefault((merge.left, merge.right), []).append(rank)
        return ranks

    @cached_property
    def made_by(self) -> dict[int, list[int]]:
        """Ranks of the merges that make each token, ascending: the first one created it."""
        ranks_by_token: dict[int, list[int]] = {}
        for rank, merge in enumerate(self.merges):
            ranks_by_token.setdefault(merge.token, []).append(rank)
        return ranks_by_token

    @cached_property
    def longest(self) -> int:
        """Length of the longest token in characters, its marker included."""
        return max(map(len, self.tokens))

    @cached_property
    def replayer(self) -> _native.Encoder:
        """An encoder that applies the merges in the order learned, whatever the recipe says."""
        from tokctl.model.encoders import replay_encoder

        return replay_encoder(self.model)

    def ranks_of(self, pair: Pair) -> Sequence[int]:
        """Return the ranks at which `pair` merges, ascending; empty if it never does."""
        return self.ranks.get(pair, ())

    def token_of(self, rank: int, _pair: Pair) -> int:
        """Return the id of the token that the merge at `rank` makes."""
        return self.merges[rank].token

    def record(self, rank: int, _pair: Pair | None = None) -> MergeRecord:
        """Return the merge at `rank` with its symbols by name."""
        merge = self.merges[rank]
        score = None
        expected = merge.left_count * merge.right_count  # 0 if the file lacks the counts
        if self.model.recipe.merges_by_likelihood and expected:
            score = Fraction(merge.count, expected)
        names = (self.tokens[merge.left], self.tokens[merge.right], self.tokens[merge.token])
        stage = None
        record = self.model.training
        # Extending a model loses the stages of the tokens that it already had.
        if record and record.stage_ends and merge.token >= record.extended:
            stage = 1 + sum(end <= merge.token for end in record.stage_ends)
        parity = self.model.parity
        language = parity.language_of(rank) if parity else None
        return MergeRecord(rank + 1, *names, merge.count or None, score, stage, language)

    def alternative(self, pair: Pair) -> MergeRecord | None:
        """Return the first merge that makes the token spelled by `pair`, from another pair.

        None if the vocabulary lacks that token, no merge makes it, or a part of the pair has no id.
        """
        if max(pair) >= self.model.size:
            return None
        left, right = (self.model.tokens[id_] for id_ in pair)
        token = self.ids.get(self.model.recipe.marker.merged(left, right), -1)
        return self.record(self.made_by[token][0]) if token in self.made_by else None

    def parts_of(self, id_: int) -> tuple[Pair, int] | None:
        """Return the pair that first made token `id_`, and its rank; None if no merge did."""
        if id_ not in self.made_by:
            return None
        rank = self.made_by[id_][0]
        return (self.merges[rank].left, self.merges[rank].right), rank

    def uses_of(self, id_: int) -> Iterator[tuple[Pair, int]]:
        """Yield each merge that has token `id_` as a part, with its rank, in the order learned."""
        for rank, merge in enumerate(self.merges):
            if id_ in (merge.left, merge.right):
                yield (merge.left, merge.right), rank


class Ranks(MergeRules):
    """Merges derived from the ranks of a model's tokens.

    A model segmented by ranks (tiktoken's, SentencePiece's BPE) merges any two neighbours that
    spell a token, the token of the lowest rank first. The rank is the id. In a model with scores
    the rank is the position among the distinct scores, highest first; equal scores are equal ranks.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        self.spelled = tokenizer.model.tokens
        self.encoder = tokenizer.encoder
        self._parts: dict[int, tuple[Pair, int] | None] = {}

    @cached_property
    def by_id(self) -> dict[int, int]:
        """Rank of each ordinary token by id."""
        scores = self.model.scores
        if not scores:
            return {id_: id_ for id_ in self.ids.values()}
        levels = sorted({scores[id_] for id_ in self.ids.values()}, reverse=True)
        ranks = {score: rank for rank, score in enumerate(levels)}
        return {id_: ranks[scores[id_]] for id_ in self.ids.values()}

    def ranks_of(self, pair: Pair) -> Sequence[int]:
        """Return the rank of the token that `pair` spells, in a tuple; empty if none."""
        if NO_ID in pair:
            return ()
        id_ = self.ids.get(self.spelled[pair[0]] + self.spelled[pair[1]])
        return () if id_ is None else (self.by_id[id_],)

    def token_of(self, _rank: int, pair: Pair) -> int:
        """Return the id of the token that `pair` spells."""
        return self.ids[self.spelled[pair[0]] + self.spelled[pair[1]]]

    def record(self, rank: int, pair: Pair) -> MergeRecord:
        """Return the merge of `pair` at `rank` with its symbols by name, without count or score."""
        left, right = pair
        token = self.tokens[self.token_of(rank, pair)]
        return MergeRecord(rank, self.tokens[left], self.tokens[right], token, None, None)

    def alternative(self, _pair: Pair) -> None:
        """Return None: two neighbours that spell a token always merge."""
        return

    def lowest(self, ids: Sequence[int]) -> tuple[int, Pair] | None:
        """Return the next merge as its rank and pair: the lowest rank, the leftmost of equals.

        None if no two neighbours in `ids` spell a token.
        """
        ranked = [(rank, pair) for pair in pairwise(ids) for rank in self.ranks_of(pair)]
        return min(ranked, key=lambda entry: entry[0], default=None)

    def parts_of(self, id_: int) -> tuple[Pair, int] | None:
        """Return the two tokens that lower-ranked merges leave of a token's own text, and the rank.

        None if they leave any other number: then the token's own text never gives the token.
        """
        if id_ not in self._parts:
            self._parts[id_] = self._find_parts(id_) if id_ in self.by_id else None
        return self._parts[id_]

    def _find_parts(self, id_: int) -> tuple[Pair, int] | None:
        ids = list(self.encoder.replay(self.spelled[id_], 0)[0])
        while (lowest := self.lowest(ids)) and len(ids) > 2:
            rank, pair = lowest
            if rank >= self.by_id[id_]:
                return None
            index = next(
                index for index, neighbours in enumerate(pairwise(ids)) if neighbours == pair
            )
            ids[index : index + 2] = [self.token_of(rank, pair)]
        if len(ids) != 2 or self.ranks_of((ids[0], ids[1])) != (self.by_id[id_],):
            return None
        return (ids[0], ids[1]), self.by_id[id_]

    def uses_of(self, id_: int) -> Iterator[tuple[Pair, int]]:
        """Yield each merge that has token `id_` as a part, with its rank, by rank."""
        if id_ not in self.by_id:
            return
        data = self.spelled[id_]
        longer = [
            other
            for token, other in self.ids.items()
            if len(token) > len(data) and (token.startswith(data) or token.endswith(data))
        ]
        for other in sorted(longer, key=lambda other: (self.by_id[other], other)):
            parts = self.parts_of(other)
            if parts and id_ in parts[0]:
                yield parts


_HISTORIES: WeakKeyDictionary[Tokenizer, History] = WeakKeyDictionary()


def removed_names(tokenizer: Tokenizer) -> list[str]:
    """Return the spellings of the removed tokens, in the order of their numbers."""
    events = tokenizer.model.events
    return events.spelled(is_byte_level=tokenizer.recipe.is_byte_level) if events else []


def history_of(tokenizer: Tokenizer) -> History:
    """Return the tokenizer's history, cached for as long as the tokenizer lives."""
    history = _HISTORIES.get(tokenizer)
    if history is None:
        history = _HISTORIES[tokenizer] = History(tokenizer)
    return history


_WITH_SUPERWORDS: WeakKeyDictionary[Tokenizer, History] = WeakKeyDictionary()


def full_history_of(tokenizer: Tokenizer) -> History:
    """Return the tokenizer's history with its supermerges as steps after all merges.

    Encoding applies the supermerges in this order. The history is cached for as long as the
    tokenizer lives.
    """
    supermerges = tokenizer.model.supermerges
    if not supermerges:
        return history_of(tokenizer)
    history = _WITH_SUPERWORDS.get(tokenizer)
    if history is None:
        history = _WITH_SUPERWORDS[tokenizer] = History(tokenizer, supermerges)
    return history


def token_rules(tokenizer: Tokenizer) -> MergeRules:
    """Return the rules that say which parts a token is merged from.

    They are the ranks if the model has ranks, else its history with the supermerges.
    """
    return Ranks(tokenizer) if tokenizer.recipe.has_ranks else full_history_of(tokenizer)


def merge_rules(tokenizer: Tokenizer) -> MergeRules:
    """Return the rules that say which pairs merge inside a pre-token.

    They are the ranks if the model has ranks, else its history without supermerges.
    """
    return Ranks(tokenizer) if tokenizer.recipe.has_ranks else history_of(tokenizer)


def merge_records(
    tokenizer: Tokenizer, first: int = 1, last: int | None = None
) -> list[MergeRecord]:
    """Return the merges of steps `first` to `last`, both included, supermerges after all others.

    Args:
        tokenizer: tokenizer of a model with a merge history.
        first: first step, from 1.
        last: last step; None, or a number after the last step, means the last step.

    Raises:
        TokctlError: the model has no merges, or no step `first`.

    Example:
        >>> merge_records(tokenizer, 1, 10)[0].step
        1
    """
    history = full_history_of(tokenizer)
    return [history.record(rank) for rank in merge_range(tokenizer, first, last)]


def merge_range(tokenizer: Tokenizer, first: int = 1, last: int | None = None) -> range:
    """Return the ranks of steps `first` to `last`; raise errors as `merge_records` does."""
    check_merges(tokenizer)
    total = step_count(tokenizer)
    if total:
        _check_in_range(first, total, lowest=1)
    return range(first - 1, min(last or total, total))


def step_count(tokenizer: Tokenizer) -> int:
    """Return the number of known merges, supermerges included."""
    return len(full_history_of(tokenizer).merges)


def check_states(tokenizer: Tokenizer) -> None:
    """Raise TokctlError if corpus states can't be shown because the model removed tokens."""
    if tokenizer.recipe.removal:
        raise Unsupported(
            f"the steps of this {tokenizer.recipe.algorithm} model can't be shown on a text: its "
            "training also removed tokens",
            "use --merges to list the merges, --word TEXT to see how a word is split, or --token "
            "TOKEN to see why a token was removed",
        )


def check_symbols(count: int) -> None:
    """Raise TokctlError if a pre-token has more than `LONGEST` symbols."""
    if count > LONGEST:
        raise BadInput(
            f"a pre-token of {count:,} symbols is too long to explain step by step",
            f"give a part of it, up to {LONGEST:,} symbols; encode splits it at any length",
            "too-large",
        )


def check_merges(tokenizer: Tokenizer) -> None:
    """Raise TokctlError if the model has no merge history."""
    recipe = tokenizer.recipe
    if recipe.has_ranks:
        raise Unsupported(
            "the merges of this model are not known: its file has the ranks of tokens, not the "
            "pairs",
            "--word TEXT and --token TOKEN show the merges that follow from the ranks",
        )
    if recipe.maximizes_probability:
        raise BadOption(
            "a unigram model has no merges: its pieces are chosen by likelihood",
            "see the rounds of its training: --rounds"
            if tokenizer.model.rounds
            else "see the score of a piece: --token PIECE",
            "conflict",
        )
    if recipe.traits.learns != "merges":
        raise BadOption(
            f"a {recipe.algorithm} model has no merges: its tokens are chosen by count",
            "see how often a token was counted: --token TOKEN",
            "conflict",
        )


def check_step(tokenizer: Tokenizer, step: int, lowest: int = 0) -> None:
    """Raise TokctlError if the model has no corpus state after `step`.

    Args:
        tokenizer: tokenizer whose merges are counted; supermerges have no states.
        step: step to check.
        lowest: lowest step allowed: 0 is the state before the first merge.
    """
    check_merges(tokenizer)
    check_states(tokenizer)
    total = len(tokenizer.merges)
    if type(step) is int and total < step <= step_count(tokenizer):
        raise BadOption(
            f"step {step:,} is a supermerge, and states show only merges within pre-tokens",
            f"choose a step from {lowest} to {total}; --merges lists the supermerges as well",
            "bad-value",
        )
    _check_in_range(step, total, lowest)


def _check_in_range(step: int, total: int, lowest: int) -> None:
    if type(step) is not int or not lowest <= step <= total:
        raise BadOption(
            f"there is no step {step!r}: this model has {plural(total, 'merge')}",
            f"choose a step from {lowest} to {total}"
            if total
            else "give 0, the state before the first merge",
            "bad-value",
        )


def name_symbols(
    tokenizer: Tokenizer, data: bytes, ids: Sequence[int], lengths: Sequence[int]
) -> list[str]:
    """Return the names of a pre-token's symbols.

    A symbol without an id is named by its own text, with its marker.

    Args:
        tokenizer: tokenizer that names the ids.
        data: bytes of the pre-token.
        ids: id of each symbol, or `NO_ID`.
        lengths: number of bytes of `data` that each symbol covers.
    """
    tokens = tokenizer.tokens
    if NO_ID not in ids:
        return [tokens[id_] for id_ in ids]
    names = []
    start = 0
    for id_, length in zip(ids, lengths, strict=True):
        end = start + length
        if id_ != NO_ID:
            names.append(tokens[id_])
        else:
            names.append(_unknown_name(tokenizer.recipe, data, start, end))
        start = end
    return names


def _unknown_name(recipe: Recipe, data: bytes, start: int, end: int) -> str:
    if recipe.is_byte_level:
        return byte_level.spell(data[start:end])
    if start == end:  # a marker that is a separate symbol
        return recipe.marker.text
    name = data[start:end].decode("utf-8", "replace")
    return recipe.marker.on_symbol(name, first=start == 0, last=end == len(data))


def rounds(tokenizer: Tokenizer) -> list[Round]:
    """Return the rounds of a Unigram training, first to last.

    Raises:
        TokctlError: the model is of another algorithm, or its file does not describe the training.
    """
    if not tokenizer.recipe.maximizes_probability:
        algorithm = tokenizer.recipe.algorithm
        hint = (
            "see its merges: --merges :" if step_count(tokenizer) else "see a token: --token TOKEN"
        )
        raise BadOption(f"a {algorithm} model is not trained in rounds", hint, "conflict")
    if not tokenizer.model.rounds:
        raise Unsupported(
            "this model's file has no record of its training",
            "see the score of a piece: --token PIECE",
        )
    return tokenizer.model.rounds
