"""How a text's pre-tokens are split, step by step, and why not otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from tokctl._native import NO_ID
from tokctl.errors import TokctlError
from tokctl.explain.history import History, MergeRecord, history_of, name_symbols
from tokctl.explain.matches import MatchedWord, match_word

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Symbols of one pre-token. An explanation holds every state in between, which is
#: quadratic, and nobody reads further.
LONGEST = 1000


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
        reason: `unknown` (one of them has no id), `never` (no merge in the history) or
            `passed` (the pair came up only after its step).
        step: the step that had passed; None for the other reasons.
    """

    left: str
    right: str
    reason: str
    step: int | None


@dataclass(frozen=True)
class MergedWord:
    """A pre-token that is segmented by merges.

    Attributes:
        data: the pre-token's bytes, normalized.
        symbols: what it starts as, markers included.
        state: what it ends as; a symbol without an id as the character itself.
        tokens: the same as `encode` names it, with the unknown token where there is one.
        ids: None where a character has no id.
    """

    data: bytes
    symbols: tuple[str, ...]
    steps: tuple[MergeStep, ...]
    state: tuple[str, ...]
    leftovers: tuple[Leftover, ...]
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


@dataclass(frozen=True)
class Explanation:
    """How a text becomes tokens.

    Attributes:
        text: as it was given.
        segmentation: the recipe's: `merges`, `replay` or `longest-match`.
        words: one for each pre-token, in order; all are of one type.
    """

    text: str
    segmentation: str
    words: tuple[MergedWord | MatchedWord, ...]

    @property
    def tokens(self) -> list[str]:
        """The tokens of all pre-tokens, as `encode` gives them."""
        return [token for word in self.words for token in word.tokens]


def explain(tokenizer: Tokenizer, word: str) -> Explanation:
    """How each pre-token of a word or text is split, and why not otherwise.

    Raises:
        TokctlError: a pre-token of over `LONGEST` symbols, where merges segment it; text
            that the model can't read.
    """
    data, ranges = tokenizer.pre_tokens(word)
    pre_tokens = [data[start:end] for start, end in ranges]
    recipe = tokenizer.recipe
    if recipe.segmentation == "longest-match":
        matched = tuple(match_word(tokenizer, pre_token) for pre_token in pre_tokens)
        return Explanation(word, recipe.segmentation, matched)
    merged = tuple(_merge_word(tokenizer, pre_token) for pre_token in pre_tokens)
    return Explanation(word, recipe.segmentation, merged)


def _merge_word(tokenizer: Tokenizer, data: bytes) -> MergedWord:
    history = history_of(tokenizer)
    ids, lengths, _ = tokenizer.encoder.replay(data, 0)
    if len(ids) > LONGEST:
        raise TokctlError(
            f"a pre-token of {len(ids):,} symbols is too long to explain step by step",
            f"give a part of it, up to {LONGEST:,} symbols; encode splits it at any length",
        )
    _, _, ranks = tokenizer.encoder.replay(data, len(history.merges))
    symbols = name_symbols(tokenizer, data, ids, lengths)
    word = _Segmented(history, tokenizer.recipe.segmentation == "replay", ids, symbols)
    steps = tuple(word.steps(ranks))
    unknown = tokenizer.recipe.unk_token
    named = zip(word.names, word.ids, strict=True)
    return MergedWord(
        data=data,
        symbols=tuple(symbols),
        steps=steps,
        state=tuple(word.names),
        leftovers=tuple(word.leftovers()),
        tokens=tuple(name if id_ != NO_ID else unknown or name for name, id_ in named),
        ids=tuple(id_ if id_ != NO_ID else tokenizer.unk_id for id_ in word.ids),
    )


class _Segmented:
    """A pre-token on its way from symbols to tokens."""

    def __init__(self, history: History, replay: bool, ids: list[int], names: list[str]) -> None:
        self.history = history
        self.replay = replay
        self.ids = list(ids)
        self.names = list(names)

    def steps(self, ranks: list[int]) -> Iterator[MergeStep]:
        """The merges of these ranks, those of one rank in a row together."""
        for rank, places in groupby(ranks):
            losers = tuple(self._losers(rank))
            done = tuple(self._merge(rank, already) for already, _ in enumerate(places))
            yield MergeStep(self.history.record(rank), done, losers, tuple(self.names))

    def _merge(self, rank: int, already: int) -> int:
        """Merges the leftmost pair of that rank. The place of its left symbol in the state
        that the `already` merges of the same rank, all further left, began with."""
        merge = self.history.merges[rank]
        pair = (merge.left, merge.right)
        at = next(at for at, two in enumerate(pairwise(self.ids)) if two == pair)
        self.ids[at : at + 2] = [merge.token]
        self.names[at : at + 2] = [self.history.tokens[merge.token]]
        return at + already

    def _losers(self, now: int) -> Iterator[Candidate]:
        """The other pairs that are due, at a time when the merge `now` is."""
        due: dict[int, tuple[int, int]] = {}
        for pair in pairwise(self.ids):
            ranks = self.history.ranks.get(pair, [])
            due.update((rank, pair) for rank in ranks[:1] if not self.replay)
            due.update((rank, pair) for rank in ranks if rank >= now and self.replay)
        names = self.history.tokens
        for rank, (left, right) in sorted(due.items()):
            if rank != now:
                yield Candidate(names[left], names[right], rank + 1)

    def leftovers(self) -> Iterator[Leftover]:
        for pair, (left, right) in zip(pairwise(self.ids), pairwise(self.names), strict=True):
            if NO_ID in pair:
                yield Leftover(left, right, "unknown", None)
            elif pair in self.history.ranks:
                yield Leftover(left, right, "passed", self.history.ranks[pair][-1] + 1)
            else:
                yield Leftover(left, right, "never", None)
