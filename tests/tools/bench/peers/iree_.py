"""iree-tokenizer: from Hugging Face's format, with one thread."""

from __future__ import annotations

from typing import Any

from iree.tokenizer import Tokenizer

from tests.tools.bench.job import Job, array_outcome
from tests.tools.bench.peers.calls import encoding, loading


def _loaded(job: Job) -> Tokenizer:
    return Tokenizer.from_file(job.model)


def _encode(tokenizer: Tokenizer, text: str, _: int) -> Any:
    return tokenizer.encode_to_array(text)


load = loading(_loaded, _encode, array_outcome)
encode_array = encoding(_loaded, _encode, array_outcome)
