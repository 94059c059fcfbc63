"""splintr: every model kind, from Hugging Face's format and from tiktoken's ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import splintr

from tests.tools.bench.job import WARM_UP, Job, Task, buffer_outcome, ids_outcome
from tests.tools.bench.peers.calls import decoding, encoding


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


def _encode_list(tokenizer: splintr.AnyTokenizer, text: str, threads: int) -> list[int]:
    # With threads, it shares one text out.
    return tokenizer.encode_rayon(text) if threads > 1 else tokenizer.encode_raw(text)


def _encode(tokenizer: splintr.AnyTokenizer | splintr.Tokenizer, text: str, _: int) -> Any:
    return tokenizer.encode_flat(text)


def _encode_many(tokenizer: splintr.AnyTokenizer, texts: list[str], _: int) -> Any:
    return tokenizer.encode_batch_flat(texts)[0]


def _cl100k(job: Job) -> splintr.Tokenizer:
    return splintr.Tokenizer(job.model, splintr.CL100K_BASE_PATTERN)


encode_list = encoding(_loaded, _encode_list, ids_outcome)
encode_array = encoding(_loaded, _encode, buffer_outcome)
encode_cl100k = encoding(_cl100k, _encode, buffer_outcome)
encode_texts = encoding(_loaded, _encode_many, buffer_outcome, Job.read_chunks)
encode_lines = encoding(_loaded, _encode_many, buffer_outcome, Job.read_lines)
# Its bytes it gives away only where the model names no decoder.
decode = decoding(_loaded, lambda tokenizer, ids: tokenizer.decode(ids))
