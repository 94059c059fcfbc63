"""fastokens: byte-level BPE from Hugging Face's format and from tiktoken's ranks. Its own
tokenizer is used; the one that it puts into `transformers` wraps it."""

from __future__ import annotations

from typing import Any

from fastokens._native import Tokenizer

from tests.tools.bench.job import Job, Task, buffer_outcome, ids_outcome
from tests.tools.bench.peers.calls import decoding, encoding, loading
from tests.tools.bench.processes import script


def _loaded(job: Job) -> Tokenizer:
    return Tokenizer.from_file(job.model)


def _cl100k(job: Job) -> Tokenizer:
    return Tokenizer.from_tiktoken(job.model, encoding="cl100k_base")


def _encode_list(tokenizer: Tokenizer, text: str, _: int) -> Any:
    return tokenizer.encode_ordinary(text).ids


def _encode_many(tokenizer: Tokenizer, texts: list[str], _: int) -> Any:
    """The ids of all texts in one buffer of 32-bit numbers."""
    return tokenizer.encode_batch_flat(texts)[0]


def _encode(tokenizer: Tokenizer, text: str, threads: int) -> Any:
    return _encode_many(tokenizer, [text], threads)


load = loading(_loaded, _encode, buffer_outcome)
encode_list = encoding(_loaded, _encode_list, ids_outcome)
encode_array = encoding(_loaded, _encode, buffer_outcome)
encode_cl100k = encoding(_cl100k, _encode, buffer_outcome)
encode_texts = encoding(_loaded, _encode_many, buffer_outcome, Job.read_chunks)
decode = decoding(_loaded, lambda tokenizer, ids: tokenizer.decode(ids))

_ENCODE_ONE_LINE = """
import sys
from fastokens._native import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1])
for line in sys.stdin:
    print(*tokenizer.encode(line.rstrip("\\n")).ids)
"""


def process_encode(job: Job) -> Task:
    return script(job, _ENCODE_ONE_LINE)
