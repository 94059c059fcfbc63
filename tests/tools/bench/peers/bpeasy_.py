"""bpeasy: trains only, by rules of its own for ties."""

from __future__ import annotations

import bpeasy

from tests.tools.bench.job import GPT2_PATTERN, Job, Outcome, Task

#: It wants a limit; no token gets near it.
LONGEST = 100_000


def train_bpe(job: Job) -> Task:
    def train() -> dict[bytes, int]:
        # It has no special token, so one id less makes the same number of merges.
        tokens: dict[bytes, int] = bpeasy.train_bpe(
            iter(job.read_chunks()), GPT2_PATTERN, LONGEST, job.vocab - 1
        )
        return tokens

    # It numbers equal counts differently from run to run, so there is no digest to compare.
    return Task(train, lambda tokens: Outcome("", sorted(tokens)))
