"""iree-tokenizer: from Hugging Face's format, with one thread."""

from __future__ import annotations

from iree.tokenizer import Tokenizer

from tests.bench.job import WARM_UP, Job, Task, array_outcome


def load(job: Job) -> Task:
    return Task(lambda: Tokenizer.from_file(job.model).encode_to_array(WARM_UP), array_outcome)


def encode_array(job: Job) -> Task:
    tokenizer, text = Tokenizer.from_file(job.model), job.read_text()
    tokenizer.encode_to_array(WARM_UP)
    return Task(lambda: tokenizer.encode_to_array(text), array_outcome)


def encode_texts(job: Job) -> Task:
    tokenizer, texts = Tokenizer.from_file(job.model), job.read_chunks()
    tokenizer.encode_batch_to_array([WARM_UP])
    return Task(lambda: tokenizer.encode_batch_to_array(texts)[0], array_outcome)
