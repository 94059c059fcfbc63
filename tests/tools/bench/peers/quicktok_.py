"""quicktok: patterns that it was written for, of which o200k's is one and GPT-2's is not. It
imports a model into files of its own, by a process of its own, before the clock starts."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from quicktok import Tokenizer

from tests.tools.bench.job import Job, array_outcome
from tests.tools.bench.peers.calls import encoding


def _loaded(job: Job) -> Tokenizer:
    command = [sys.executable, "-m", "quicktok.importer", job.model, "model"]
    finished = subprocess.run(
        [*command, "--data-dir", job.folder], capture_output=True, check=False
    )
    if finished.returncode:
        raise RuntimeError(finished.stderr.decode("utf-8", "replace").splitlines()[-1])
    return Tokenizer("model", job.folder)


def _cl100k(_: Job) -> Tokenizer:
    """From its own data."""
    return Tokenizer("cl100k_base", "")


def _encode(tokenizer: Tokenizer, texts: list[str], threads: int) -> Any:
    return tokenizer.encode_batch(texts, threads)[0]


def _texts(job: Job) -> list[str]:
    return [job.read_text()]


encode_array = encoding(_loaded, _encode, array_outcome, _texts)
encode_cl100k = encoding(_cl100k, _encode, array_outcome, _texts)
