"""tokie. Its array comes from files only: it reads the text inside the timed part, from memory
that the system keeps of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tokie

from tests.bench.job import (
    WARM_UP,
    Job,
    Task,
    array_outcome,
    ids_outcome,
    lines_outcome,
)
from tests.bench.peers.calls import decoding, encoding, loading


def _loaded(job: Job) -> tokie.Tokenizer:
    return tokie.Tokenizer.from_json(job.model)


def _encode(tokenizer: tokie.Tokenizer, text: str, _: int) -> Any:
    return tokenizer.encode(text, add_special_tokens=False).ids


def _encode_many(tokenizer: tokie.Tokenizer, texts: list[str], _: int) -> Any:
    return [each.ids for each in tokenizer.encode_batch(texts, add_special_tokens=False)]


def encode_array(job: Job) -> Task:
    tokenizer = _loaded(job)
    warm_up = Path(job.folder) / "warm-up"
    warm_up.write_text(WARM_UP, encoding="utf-8")
    tokenizer.encode_files([str(warm_up)])
    return Task(lambda: tokenizer.encode_files([job.text])[0], array_outcome)


load = loading(_loaded, _encode, ids_outcome)
encode_list = encoding(_loaded, _encode, ids_outcome)
encode_texts = encoding(_loaded, _encode_many, lines_outcome, Job.read_chunks)
encode_lines = encoding(_loaded, _encode_many, lines_outcome, Job.read_lines)
decode = decoding(_loaded, lambda tokenizer, ids: tokenizer.decode_bytes(ids))
