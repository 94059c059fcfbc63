"""gigatoken. Its pool takes its threads from RAYON_NUM_THREADS, which the driver sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
from tests.bench.processes import file_script, script


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
    tokenizer, text = gigatoken.Tokenizer(job.model), job.read_text()
    parallel = job.threads > 1
    tokenizer.encode_batch_list([WARM_UP], parallel=parallel)
    return Task(lambda: tokenizer.encode_batch_list([text], parallel=parallel)[0], ids_outcome)


def encode_array(job: Job) -> Task:
    return _encode_array(job, gigatoken.Tokenizer(job.model))


def encode_str(job: Job) -> Task:
    return _encode_array(job, gigatoken.Tokenizer(job.model), job.read_text())


def load(job: Job) -> Task:
    return Task(lambda: gigatoken.Tokenizer(job.model).encode(WARM_UP.encode()), array_outcome)


def encode_cl100k(job: Job) -> Task:
    return _encode_array(job, gigatoken.Tokenizer.from_tiktoken(job.model, "cl100k"))


def _encode_array(
    job: Job, tokenizer: gigatoken.Tokenizer, text: str | bytes | None = None
) -> Task:
    text = job.read_bytes() if text is None else text
    if job.threads > 1:
        # `encode` has one thread; a batch of one text shares the text out.
        tokenizer.encode_batch([WARM_UP.encode()], parallel=True)
        return Task(lambda: tokenizer.encode_batch([text], parallel=True), _flat_outcome)
    tokenizer.encode(WARM_UP.encode())
    return Task(lambda: tokenizer.encode(text), array_outcome)


def encode_texts(job: Job) -> Task:
    return _encode_texts(job, gigatoken.Tokenizer(job.model), job.read_chunks())


def encode_lines(job: Job) -> Task:
    tokenizer = gigatoken.Tokenizer.from_sentencepiece(job.model)
    return _encode_texts(job, tokenizer, job.read_lines())


def _encode_texts(job: Job, tokenizer: gigatoken.Tokenizer, texts: list[str]) -> Task:
    parallel = job.threads > 1
    tokenizer.encode_batch([WARM_UP], parallel=parallel)
    return Task(lambda: tokenizer.encode_batch(texts, parallel=parallel), _flat_outcome)


def _flat_outcome(rows: Any) -> Outcome:
    """Of an Awkward array with a row of ids per text."""
    import awkward

    return array_outcome(awkward.flatten(rows).to_numpy())


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


_ENCODE_ONE_LINE = """
import sys
import gigatoken
tokenizer = gigatoken.Tokenizer(sys.argv[1])
for line in sys.stdin.buffer:
    print(*tokenizer.encode(line.rstrip(b"\\n")).tolist())
"""
_ENCODE_FILE = """
import sys
from pathlib import Path
from typing import Any
import gigatoken
ids = gigatoken.Tokenizer(sys.argv[1]).encode(Path(sys.argv[2]).read_bytes())
ids.tofile(sys.argv[3])
"""


def process_encode(job: Job) -> Task:
    return script(job, _ENCODE_ONE_LINE)


def process_encode_file(job: Job) -> Task:
    return file_script(job, _ENCODE_FILE)
