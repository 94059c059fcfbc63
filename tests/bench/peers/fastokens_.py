"""fastokens: byte-level BPE from Hugging Face's format and from tiktoken's ranks. Its own
tokenizer is used; the one that it puts into `transformers` wraps it."""

from __future__ import annotations

from fastokens._native import Tokenizer

from tests.bench.job import (
    WARM_UP,
    Job,
    Task,
    buffer_outcome,
    ids_outcome,
    text_outcome,
)
from tests.bench.processes import file_script, script


def load(job: Job) -> Task:
    return Task(
        lambda: Tokenizer.from_file(job.model).encode_batch_flat([WARM_UP])[0], buffer_outcome
    )


def encode_list(job: Job) -> Task:
    tokenizer, text = Tokenizer.from_file(job.model), job.read_text()
    tokenizer.encode_ordinary(WARM_UP)
    return Task(lambda: tokenizer.encode_ordinary(text).ids, ids_outcome)


def encode_array(job: Job) -> Task:
    return _encode_flat(Tokenizer.from_file(job.model), [job.read_text()])


def encode_texts(job: Job) -> Task:
    return _encode_flat(Tokenizer.from_file(job.model), job.read_chunks())


def encode_lines(job: Job) -> Task:
    return _encode_flat(Tokenizer.from_file(job.model), job.read_lines())


def encode_cl100k(job: Job) -> Task:
    tokenizer = Tokenizer.from_tiktoken(job.model, encoding="cl100k_base")
    return _encode_flat(tokenizer, [job.read_text()])


def _encode_flat(tokenizer: Tokenizer, texts: list[str]) -> Task:
    """The ids of all texts in one buffer of 32-bit numbers."""
    tokenizer.encode_batch_flat([WARM_UP])
    return Task(lambda: tokenizer.encode_batch_flat(texts)[0], buffer_outcome)


def decode(job: Job) -> Task:
    tokenizer, ids = Tokenizer.from_file(job.model), job.read_ids().tolist()
    tokenizer.decode(ids[:1])
    return Task(lambda: tokenizer.decode(ids), text_outcome)


_ENCODE_ONE_LINE = """
import sys
from fastokens._native import Tokenizer
tokenizer = Tokenizer.from_file(sys.argv[1])
for line in sys.stdin:
    print(*tokenizer.encode(line.rstrip("\\n")).ids)
"""
_ENCODE_FILE = """
import sys
from pathlib import Path
from fastokens._native import Tokenizer
text = Path(sys.argv[2]).read_bytes().decode()
ids, _ = Tokenizer.from_file(sys.argv[1]).encode_batch_flat([text])
Path(sys.argv[3]).write_bytes(ids)
"""


def process_encode(job: Job) -> Task:
    return script(job, _ENCODE_ONE_LINE)


def process_encode_file(job: Job) -> Task:
    return file_script(job, _ENCODE_FILE)
