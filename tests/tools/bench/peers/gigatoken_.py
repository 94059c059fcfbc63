"""gigatoken. Its pool takes its threads from RAYON_NUM_THREADS, which the driver sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gigatoken

from tests.tools.bench.job import (
    SPECIAL,
    Job,
    Outcome,
    Task,
    array_outcome,
    ids_outcome,
    merges_outcome,
    text_outcome,
)
from tests.tools.bench.peers.calls import decoding, encoding, loading
from tests.tools.bench.processes import file_script, script

#: From so many bytes or characters on `encode` is the faster call on one thread.
ALONE = 32_000_000


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


def _loaded(job: Job) -> gigatoken.Tokenizer:
    return gigatoken.Tokenizer(job.model)


def _cl100k(job: Job) -> gigatoken.Tokenizer:
    return gigatoken.Tokenizer.from_tiktoken(job.model, "cl100k")


def _sentencepiece(job: Job) -> gigatoken.Tokenizer:
    return gigatoken.Tokenizer.from_sentencepiece(job.model)


def _encode_list(tokenizer: gigatoken.Tokenizer, text: str, threads: int) -> list[int]:
    return tokenizer.encode_batch_list([text], parallel=threads > 1)[0]


def _encode(tokenizer: gigatoken.Tokenizer, text: str | bytes, threads: int) -> Any:
    # With threads, a batch of one text shares the text out. With one, a batch uses the memory of
    # ids again (10 MB of code, again: 1.4 times as fast as `encode`), up to a size.
    if threads > 1 or len(text) < ALONE:
        return tokenizer.encode_batch([text], parallel=threads > 1)
    return tokenizer.encode(text)


def _encode_many(tokenizer: gigatoken.Tokenizer, texts: list[str], threads: int) -> Any:
    return tokenizer.encode_batch(texts, parallel=threads > 1)


def _outcome(ids: Any) -> Outcome:
    """Of one array of ids, or of Awkward's with a row per text."""
    import awkward

    return array_outcome(awkward.flatten(ids, axis=None).to_numpy())


load = loading(_loaded, lambda tokenizer, text, _: tokenizer.encode(text), array_outcome)
encode_list = encoding(_loaded, _encode_list, ids_outcome)
encode_array = encoding(_loaded, _encode, _outcome, Job.read_bytes)
encode_str = encoding(_loaded, _encode, _outcome)
encode_cl100k = encoding(_cl100k, _encode, _outcome, Job.read_bytes)
encode_texts = encoding(_loaded, _encode_many, _outcome, Job.read_chunks)
encode_lines = encoding(_sentencepiece, _encode_many, _outcome, Job.read_lines)
decode = decoding(_loaded, lambda tokenizer, ids: tokenizer.decode(ids))


def decode_array(job: Job) -> Task:
    """From a NumPy array, which it reads in place."""
    import numpy

    tokenizer, ids = _loaded(job), numpy.array(job.read_ids(), dtype="u4")
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
