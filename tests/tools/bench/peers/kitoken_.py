"""kitoken: from Hugging Face's format. It gives lists alone, and has one thread."""

from __future__ import annotations

from kitoken import Kitoken

from tests.tools.bench.job import Job, ids_outcome
from tests.tools.bench.peers.calls import encoding, loading


def _loaded(job: Job) -> Kitoken:
    return Kitoken.from_tokenizers_file(job.model)


def _encode(tokenizer: Kitoken, text: str, _: int) -> list[int]:
    return tokenizer.encode(text)


load = loading(_loaded, _encode, ids_outcome)
encode_array = encoding(_loaded, _encode, ids_outcome)
