"""gigatoken. Its pool takes its threads from RAYON_NUM_THREADS, which the driver sets."""

from __future__ import annotations

from pathlib import Path

import gigatoken

from tests.bench.job import (
    SPECIAL,
    WARM_UP,
    Job,
    Outcome,
    Task,
    array_outcome,
    ids_outcome,
    merges_outcome,
    text_outcome,
)


def train_bpe(job: Job) -> Task:
    def outcome(trained: tuple[dict[int, bytes], list[tuple[bytes, bytes]]]) -> Outcome:
        return merges_outcome(trained[1], (bytes([byte]) for byte in range(256)))

    # Ties as Hugging Face breaks them, which is its default, too.
    return Task(
        lambda: gigatoken.train_bpe(
            Path(job.text), job.vocab, [SPECIAL], tie_breaking="huggingface"
        ),
        outcome,
    )


def encode_list(job: Job) -> Task:
    return _encode_list(job, gigatoken.Tokenizer(job.model))


def encode_cl100k(job: Job) -> Task:
    return _encode_list(job, gigatoken.Tokenizer.from_tiktoken(job.model, "cl100k"))


def _encode_list(job: Job, tokenizer: gigatoken.Tokenizer) -> Task:
    text = job.read_text()
    parallel = job.threads > 1
    tokenizer.encode_batch_list([WARM_UP], parallel=parallel)
    return Task(lambda: tokenizer.encode_batch_list([text], parallel=parallel)[0], ids_outcome)


def encode_array(job: Job) -> Task:
    tokenizer, text = gigatoken.Tokenizer(job.model), job.read_bytes()
    tokenizer.encode(WARM_UP.encode())
    return Task(lambda: tokenizer.encode(text), array_outcome)


def decode(job: Job) -> Task:
    tokenizer, ids = gigatoken.Tokenizer(job.model), job.read_ids().tolist()
    tokenizer.decode(ids[:1])
    return Task(lambda: tokenizer.decode(ids), text_outcome)


def decode_array(job: Job) -> Task:
    """From a NumPy array, which it reads in place."""
    import numpy

    tokenizer, ids = gigatoken.Tokenizer(job.model), numpy.array(job.read_ids(), dtype="u4")
    tokenizer.decode(ids[:1])
    return Task(lambda: tokenizer.decode(ids), text_outcome)
