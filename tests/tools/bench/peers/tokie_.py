"""tokie: from Hugging Face's format."""

from __future__ import annotations

from typing import Any

import tokie

from tests.tools.bench.job import Job, array_outcome, ids_outcome
from tests.tools.bench.peers.calls import decoding, encoding, loading


def _loaded(job: Job) -> tokie.Tokenizer:
    return tokie.Tokenizer.from_json(job.model)


def _encode_list(tokenizer: tokie.Tokenizer, text: str, _: int) -> Any:
    return tokenizer.encode(text, add_special_tokens=False).ids


def _encode_many(tokenizer: tokie.Tokenizer, texts: list[str], _: int) -> Any:
    """The ids of all texts in one array of 32-bit numbers."""
    return tokenizer.encode_batch_flat(texts, add_special_tokens=False)[0]


def _encode(tokenizer: tokie.Tokenizer, text: str, threads: int) -> Any:
    return _encode_many(tokenizer, [text], threads)


load = loading(_loaded, _encode, array_outcome)
encode_list = encoding(_loaded, _encode_list, ids_outcome)
encode_array = encoding(_loaded, _encode, array_outcome)
encode_texts = encoding(_loaded, _encode_many, array_outcome, Job.read_chunks)
encode_lines = encoding(_loaded, _encode_many, array_outcome, Job.read_lines)
decode = decoding(_loaded, lambda tokenizer, ids: tokenizer.decode_bytes(ids))
