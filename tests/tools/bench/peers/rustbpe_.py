"""rustbpe: encodes with nothing but what it trained itself, so it only trains here. It gives
tokens with ranks, from which the merges are recovered."""

from __future__ import annotations

from itertools import pairwise

import rustbpe  # type: ignore[import-untyped]

from tests.tools.bench.job import GPT2_PATTERN, Job, Outcome, Task, merges_outcome


def train_bpe(job: Job) -> Task:
    def train() -> rustbpe.Tokenizer:
        tokenizer = rustbpe.Tokenizer()
        # It has no special token, so one id less makes the same number of merges.
        tokenizer.train_from_iterator(job.read_chunks(), job.vocab - 1, pattern=GPT2_PATTERN)
        return tokenizer

    def outcome(trained: rustbpe.Tokenizer) -> Outcome:
        ranks = {bytes(token): rank for token, rank in trained.get_mergeable_ranks()}
        by_rank = sorted(ranks, key=ranks.__getitem__)
        merges = (_pair(token, ranks) for token in by_rank[256:])
        return merges_outcome(merges, by_rank[:256])

    return Task(train, outcome)


def _pair(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """The two tokens that `token` was made of: what the merges before it leave of it."""
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 2:
        found = [(ranks.get(a + b, len(ranks)), at) for at, (a, b) in enumerate(pairwise(parts))]
        _, at = min(found)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]
