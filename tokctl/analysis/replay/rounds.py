"""A Unigram training, replayed from what its model's file keeps of each round."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tokctl.analysis.explain.history import name_symbols, rounds
from tokctl.analysis.replay.base import MOST_SYMBOLS, Replay, Stage
from tokctl.analysis.replay.frames import FrameWord, RoundFrame
from tokctl.errors import TokctlError

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


class RoundReplay(Replay):
    """The rounds of a Unigram training, beside counted pre-tokens as the final model
    splits them: the pieces of a round are in no file."""

    unit = "round"
    first = 1

    def __init__(self, tokenizer: Tokenizer, counts: Sequence[tuple[bytes, int]]) -> None:
        """Raises TokctlError for a model without rounds, and for a text that is too large."""
        self.rounds = rounds(tokenizer)
        super().__init__(tokenizer, counts)
        self.total = len(self.rounds)

    def goto(
        self, step: int, *, first: int = 0, limit: int = 50, arrange: str = "scan"
    ) -> RoundFrame:
        self.check(step)
        found = self.rounds[step - 1]
        order = self.by_count if arrange == "count" else range(len(self.counts))
        return RoundFrame(
            step=step,
            total=self.total,
            round=found,
            left=found.pieces - found.dropped,
            objectives=tuple(each.objective for each in self.rounds),
            vocabulary=len(self.tokenizer.tokens),
            tokens=self._tokens,
            distinct=len(self.counts),
            words=tuple(self.word(number, step) for number in order[first : first + limit]),
        )

    @cached_property
    def _tokens(self) -> int:
        return sum(count * len(self._best(data)[0]) for data, count in self.counts)

    def _best(self, pre_token: bytes) -> tuple[list[int], list[int]]:
        ids, lengths, _ = self.tokenizer.encoder.nbest(pre_token, 1)[0]
        return ids, lengths

    def word(self, number: int, step: int) -> FrameWord:  # noqa: ARG002
        pre_token, count = self.counts[number]
        ids, lengths = self._best(pre_token)
        ids, more = ids[:MOST_SYMBOLS], max(0, len(ids) - MOST_SYMBOLS)
        names = name_symbols(self.tokenizer, pre_token, ids, lengths[:MOST_SYMBOLS])
        return FrameWord(number, tuple(names), more, count, False, ())

    def stages(self, number: int) -> tuple[Stage, ...]:
        word = self.word(number, self.total)
        return (Stage(self.total, word.tokens, word.more, ()),)

    def find_token(self, token: str, after: int) -> int:  # noqa: ARG002
        """The round that dropped a piece, as far as the file tells; the last round for one
        that was kept."""
        for step, found in enumerate(self.rounds, 1):
            if any(piece == token for piece, _ in found.examples):
                return step
        if token in self.tokenizer.tokens:
            return self.total
        raise TokctlError(
            f"no round is known to have dropped {token!r}, and the model has no such piece",
            "the file keeps only some of the dropped pieces of each round",
        )
