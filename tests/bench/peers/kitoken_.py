"""kitoken: from Hugging Face's format. It gives lists alone, and has one thread."""

from __future__ import annotations

from kitoken import Kitoken

from tests.bench.job import WARM_UP, Job, Task, ids_outcome, text_outcome


def _loaded(job: Job) -> Kitoken:
    return Kitoken.from_tokenizers_file(job.model)


def load(job: Job) -> Task:
    return Task(lambda: _loaded(job).encode(WARM_UP), ids_outcome)


def encode_array(job: Job) -> Task:
    tokenizer, text = _loaded(job), job.read_text()
    tokenizer.encode(WARM_UP)
    return Task(lambda: tokenizer.encode(text), ids_outcome)


def decode(job: Job) -> Task:
    tokenizer, ids = _loaded(job), job.read_ids().tolist()
    tokenizer.decode(ids[:1])
    return Task(lambda: tokenizer.decode(ids), text_outcome)
