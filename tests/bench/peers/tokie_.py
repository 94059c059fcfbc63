"""tokie. Its array comes from files only: it reads the text inside the timed part, from memory
that the system keeps of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tokie

from tests.bench.job import (
    WARM_UP,
    Job,
    Outcome,
    Task,
    array_outcome,
    ids_outcome,
    lines_outcome,
    text_outcome,
)


def load(job: Job) -> Task:
    def first() -> Any:
        return tokie.Tokenizer.from_json(job.model).encode(WARM_UP, add_special_tokens=False).ids

    return Task(first, ids_outcome)


def encode_list(job: Job) -> Task:
    tokenizer, text = tokie.Tokenizer.from_json(job.model), job.read_text()
    tokenizer.encode(WARM_UP)
    return Task(lambda: tokenizer.encode(text, add_special_tokens=False).ids, ids_outcome)


def encode_array(job: Job) -> Task:
    tokenizer = tokie.Tokenizer.from_json(job.model)
    warm_up = Path(job.folder) / "warm-up"
    warm_up.write_text(WARM_UP, encoding="utf-8")
    tokenizer.encode_files([str(warm_up)])
    return Task(lambda: tokenizer.encode_files([job.text])[0], array_outcome)


def encode_texts(job: Job) -> Task:
    return _encode_many(job, job.read_chunks())


def encode_lines(job: Job) -> Task:
    return _encode_many(job, job.read_lines())


def _encode_many(job: Job, texts: list[str]) -> Task:
    tokenizer = tokie.Tokenizer.from_json(job.model)

    def outcome(found: list[Any]) -> Outcome:
        return lines_outcome(encoding.ids for encoding in found)

    tokenizer.encode_batch([WARM_UP])
    return Task(lambda: tokenizer.encode_batch(texts, add_special_tokens=False), outcome)


def decode(job: Job) -> Task:
    tokenizer, ids = tokie.Tokenizer.from_json(job.model), job.read_ids().tolist()
    tokenizer.decode_bytes(ids[:1])
    return Task(lambda: tokenizer.decode_bytes(ids), text_outcome)
