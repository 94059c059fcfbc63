"""Merges that no file holds: those that follow from the ranks of the tokens.

A model segmented by ranks (tiktoken's, SentencePiece's BPE) merges any two neighbours
that spell a token, the token of the lowest rank first. The rank is the id; in a model
with scores it is the place in the order of the scores, equal scores being equal ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tokctl._native import NO_ID
from tokctl.analysis.explain.history import MergeRecord

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

Pair = tuple[int, int]


class Ranks:
    """The ranks of a model's tokens, and the merges that they stand for."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        model = tokenizer.model
        self.spelled = model.tokens
        self.tokens = tokenizer.tokens
        self.ids = {t: id_ for id_, t in enumerate(model.tokens) if id_ not in model.apart}
        self.scores = model.scores
        self.encoder = tokenizer.encoder

    @cached_property
    def by_id(self) -> dict[int, int]:
        """The rank of each ordinary token."""
        if not self.scores:
            return {id_: id_ for id_ in self.ids.values()}
        levels = sorted({self.scores[id_] for id_ in self.ids.values()}, reverse=True)
        ranks = {score: rank for rank, score in enumerate(levels)}
        return {id_: ranks[self.scores[id_]] for id_ in self.ids.values()}

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

    def instead(self, _pair: Pair) -> None:
        """Two neighbours that spell a token are always merged."""
        return

    def lowest(self, ids: Sequence[int]) -> tuple[int, Pair] | None:
        """The pair that merges next, with its rank: the lowest, the leftmost of equals."""
        ranked = [(rank, pair) for pair in pairwise(ids) for rank in self.ranks_of(pair)]
        return min(ranked, key=lambda found: found[0], default=None)

    def parts(self, id_: int) -> Pair | None:
        """The two tokens that the merges of lower rank leave of a token's own text; None
        where they leave another number: then the token is never made of its own text."""
        data = self.spelled[id_]
        ids = list(self.encoder.replay(data, 0)[0])
        while (found := self.lowest(ids)) and len(ids) > 2:
            rank, pair = found
            if rank >= self.by_id[id_]:
                return None
            at = next(at for at, two in enumerate(pairwise(ids)) if two == pair)
            ids[at : at + 2] = [self.token_of(rank, pair)]
        if len(ids) != 2 or self.ranks_of((ids[0], ids[1])) != (self.by_id[id_],):
            return None
        return ids[0], ids[1]

    def uses(self, id_: int) -> Iterator[tuple[int, Pair]]:
        """The tokens that have this one as a part, by rank."""
        data = self.spelled[id_]
        longer = [
            other
            for token, other in self.ids.items()
            if len(token) > len(data) and (token.startswith(data) or token.endswith(data))
        ]
        for other in sorted(longer, key=lambda other: (self.by_id[other], other)):
            parts = self.parts(other)
            if parts and id_ in parts:
                yield other, parts
