"""quicktok: patterns that it was written for, of which o200k's is one. It imports a model into
files of its own, by a process of its own, before the clock starts."""

from __future__ import annotations

import subprocess
import sys

from quicktok import Tokenizer

from tests.bench.job import WARM_UP, Job, Task, array_outcome


def _loaded(job: Job) -> Tokenizer:
    command = [sys.executable, "-m", "quicktok.importer", job.model, "model"]
    finished = subprocess.run(
        [*command, "--data-dir", job.folder], capture_output=True, check=False
    )
    if finished.returncode:
        raise RuntimeError(finished.stderr.decode("utf-8", "replace").splitlines()[-1])
    return Tokenizer("model", job.folder)


def encode_array(job: Job) -> Task:
    return _encode(job, [job.read_text()])


def encode_texts(job: Job) -> Task:
    return _encode(job, job.read_chunks())


def _encode(job: Job, texts: list[str]) -> Task:
    tokenizer, threads = _loaded(job), job.threads
    tokenizer.encode_batch([WARM_UP], threads)
    return Task(lambda: tokenizer.encode_batch(texts, threads)[0], array_outcome)
