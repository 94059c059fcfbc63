"""splintr: every model kind, from Hugging Face's format and from tiktoken's ranks."""

from __future__ import annotations

import json
from pathlib import Path

import splintr

from tests.bench.job import WARM_UP, Job, Task, buffer_outcome, ids_outcome, text_outcome


def _document(job: Job) -> bytes:
    """Without the template: its fast calls put that around every text, and the ids of the text
    alone are wanted."""
    document = json.loads(Path(job.model).read_bytes())
    document["post_processor"] = None
    return json.dumps(document).encode()


def _loaded(job: Job) -> splintr.AnyTokenizer:
    return splintr.from_json_bytes(_document(job))


def load(job: Job) -> Task:
    data = _document(job)
    return Task(lambda: splintr.from_json_bytes(data).encode_flat(WARM_UP), buffer_outcome)


def encode_list(job: Job) -> Task:
    tokenizer, text = _loaded(job), job.read_text()
    # With threads, it shares one text out.
    encode = tokenizer.encode_rayon if job.threads > 1 else tokenizer.encode_raw
    encode(WARM_UP)
    return Task(lambda: encode(text), ids_outcome)


def encode_array(job: Job) -> Task:
    return _encode_flat(job, _loaded(job))


def encode_cl100k(job: Job) -> Task:
    return _encode_flat(job, splintr.Tokenizer(job.model, splintr.CL100K_BASE_PATTERN))


def _encode_flat(job: Job, tokenizer: splintr.AnyTokenizer | splintr.Tokenizer) -> Task:
    """The ids in one buffer of 32-bit numbers."""
    text = job.read_text()
    tokenizer.encode_flat(WARM_UP)
    return Task(lambda: tokenizer.encode_flat(text), buffer_outcome)


def encode_texts(job: Job) -> Task:
    return _encode_many(job, job.read_chunks())


def encode_lines(job: Job) -> Task:
    return _encode_many(job, job.read_lines())


def _encode_many(job: Job, texts: list[str]) -> Task:
    tokenizer = _loaded(job)
    tokenizer.encode_batch_flat([WARM_UP])
    return Task(lambda: tokenizer.encode_batch_flat(texts)[0], buffer_outcome)


def decode(job: Job) -> Task:
    tokenizer, ids = _loaded(job), job.read_ids().tolist()
    tokenizer.decode(ids[:1])
    # Its bytes it gives away only where the model names no decoder.
    return Task(lambda: tokenizer.decode(ids), text_outcome)
