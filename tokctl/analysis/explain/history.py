"""A model's merge history, with the look-ups that every explanation needs.

A *step* is counted from 1, as people count; the *rank* of the same merge is one less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tokctl import _native
from tokctl.errors import TokctlError
from tokctl.model import Recipe, byte_level
from tokctl.wording import plural

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


@dataclass(frozen=True)
class MergeRecord:
    """One step of a training, its symbols by name.

    Attributes:
        step: the step of the training; in a model segmented by ranks, the rank.
        count: weighted occurrences of the pair before the merge; None where the model's
            file does not say.
        score: count(ab) / (count(a) * count(b)), exactly, where that is what the training
            compared; else None.
    """

    step: int
    left: str
    right: str
    token: str
    count: int | None
    score: Fraction | None


class History:
    """What a tokenizer's merges say, looked up from every side."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        # Not the tokenizer itself: it is the key under which this is kept.
        self.model = tokenizer.model
        self.tokens = tokenizer.tokens
        self.merges = tokenizer.merges

    @cached_property
    def ranks(self) -> dict[tuple[int, int], list[int]]:
        """The ranks of each pair: more than one where the pair was merged again later."""
        ranks: dict[tuple[int, int], list[int]] = {}
        for rank, merge in enumerate(self.merges):
            ranks.setdefault((merge.left, merge.right), []).append(rank)
        return ranks

    def ranks_of(self, pair: tuple[int, int]) -> Sequence[int]:
        """The ranks at which a pair merges, the first one first."""
        return self.ranks.get(pair, ())

    def token_of(self, rank: int, _pair: tuple[int, int]) -> int:
        """The token that the merge of that rank makes."""
        return self.merges[rank].token

    @cached_property
    def made_by(self) -> dict[int, list[int]]:
        """The ranks of the merges that make each token, the one it was born of first."""
        made: dict[int, list[int]] = {}
        for rank, merge in enumerate(self.merges):
            made.setdefault(merge.token, []).append(rank)
        return made

    def instead(self, pair: tuple[int, int]) -> MergeRecord | None:
        """The merge that makes the token which two neighbours would spell, where one does."""
        kind, mark = self.model.recipe.marker
        left, right = (self.model.tokens[id_] for id_ in pair)
        right = right.removeprefix(mark.encode()) if kind == "continuation" else right
        ranks = self.made_by.get(self._ids.get(left + right, -1), ())
        return self.record(ranks[0]) if ranks else None

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        apart = self.model.apart
        return {token: id_ for id_, token in enumerate(self.model.tokens) if id_ not in apart}

    @cached_property
    def longest(self) -> int:
        """Characters of the longest token, its marker counted."""
        return max(map(len, self.tokens))

    @cached_property
    def replayer(self) -> _native.Encoder:
        """An encoder that makes the merges in the order learned, however the recipe encodes."""
        from tokctl.tokenizer.segmenting import replayer

        return replayer(self.model)

    def record(self, rank: int, _pair: tuple[int, int] | None = None) -> MergeRecord:
        merge = self.merges[rank]
        score = None
        expected = merge.left_count * merge.right_count  # 0 where a file does not know them
        if self.model.recipe.score == "likelihood" and expected:
            score = Fraction(merge.count, expected)
        names = (self.tokens[merge.left], self.tokens[merge.right], self.tokens[merge.token])
        return MergeRecord(rank + 1, *names, merge.count or None, score)


_HISTORIES: WeakKeyDictionary[Tokenizer, History] = WeakKeyDictionary()


def history_of(tokenizer: Tokenizer) -> History:
    """The tokenizer's history; made once, and kept as long as the tokenizer is."""
    found = _HISTORIES.get(tokenizer)
    if found is None:
        found = _HISTORIES[tokenizer] = History(tokenizer)
    return found


def merge_records(
    tokenizer: Tokenizer, first: int = 1, last: int | None = None
) -> list[MergeRecord]:
    """The merges of the steps `first` to `last`, both included; None goes on to the end.

    Raises:
        TokctlError: the model has no merges, or not the step `first`. A `last` behind the
            end is the end.
    """
    history = history_of(tokenizer)
    return [history.record(rank) for rank in merge_range(tokenizer, first, last)]


def merge_range(tokenizer: Tokenizer, first: int = 1, last: int | None = None) -> range:
    """The ranks of these steps; raises as `merge_records` does."""
    check_merges(tokenizer)
    total = len(tokenizer.merges)
    if total:
        check_step(tokenizer, first, lowest=1)
    return range(first - 1, min(last or total, total))


def check_merges(tokenizer: Tokenizer) -> None:
    """TokctlError where a model has no merge history at all."""
    recipe = tokenizer.recipe
    if recipe.segmentation == "ranks":
        raise TokctlError(
            "the merges of this model are not known: its file ranks tokens, and says nothing "
            "of pairs",
            "--word TEXT and --token TOKEN show the merges that follow from the ranks",
        )
    if recipe.algorithm == "unigram":
        raise TokctlError(
            "a unigram model has no merges: its pieces are chosen by likelihood",
            "see the rounds of its training: --rounds"
            if tokenizer.model.rounds
            else "what its pieces are worth: --token PIECE",
        )
    if recipe.algorithm not in ("bpe", "wordpiece"):
        raise TokctlError(
            f"a {recipe.algorithm} model has no merges: its tokens are chosen by count",
            "see how often a token was counted: --token TOKEN",
        )


def check_step(tokenizer: Tokenizer, step: int, lowest: int = 0) -> None:
    """TokctlError where the model does not have that step."""
    check_merges(tokenizer)
    total = len(tokenizer.merges)
    if not lowest <= step <= total:
        raise TokctlError(
            f"there is no step {step}: this model has {plural(total, 'merge')}",
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
    if _native.NO_ID not in ids:
        return [tokens[id_] for id_ in ids]
    names = []
    at = 0
    for id_, length in zip(ids, lengths, strict=True):
        end = at + length
        if id_ != _native.NO_ID:
            names.append(tokens[id_])
        else:
            names.append(_unknown_name(tokenizer.recipe, data, at, end))
        at = end
    return names


def _unknown_name(recipe: Recipe, data: bytes, start: int, end: int) -> str:
    kind, mark = recipe.marker
    if recipe.units == "bytes":
        return byte_level.spell(data[start:end])
    if start == end:  # a marker that is a symbol of its own
        return mark
    name = data[start:end].decode("utf-8", "replace")
    if kind == "continuation" and start > 0:
        return mark + name
    if kind == "end-fused" and end == len(data):
        return name + mark
    return name
