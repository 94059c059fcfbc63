"""tiktoken, with the same tokens: its ranks are our ids, which ascend as the merges do."""

from __future__ import annotations

import tiktoken

from tests.bench.job import (
    GPT2_PATTERN,
    SPECIAL,
    WARM_UP,
    Job,
    Task,
    array_outcome,
    ids_outcome,
    text_outcome,
)


def _loaded(job: Job) -> tiktoken.Encoding:
    import json

    from tokctl.byte_level import unspell

    with open(job.model, encoding="utf-8") as file:  # noqa: PTH123
        vocabulary = json.load(file)["model"]["vocab"]
    special = {SPECIAL: vocabulary.pop(SPECIAL)}
    ranks = {unspell(token): id_ for token, id_ in vocabulary.items()}
    return tiktoken.Encoding(
        "tokctl", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens=special
    )


def encode_list(job: Job) -> Task:
    encoding, text = _loaded(job), job.read_text()
    encoding.encode_ordinary(WARM_UP)
    return Task(lambda: encoding.encode_ordinary(text), ids_outcome)


def encode_array(job: Job) -> Task:
    encoding, text = _loaded(job), job.read_text()
    encoding.encode_to_numpy(WARM_UP)
    return Task(lambda: encoding.encode_to_numpy(text, disallowed_special=()), array_outcome)


def decode(job: Job) -> Task:
    encoding, ids = _loaded(job), job.read_ids().tolist()
    encoding.decode_bytes(ids[:1])
    return Task(lambda: encoding.decode_bytes(ids), text_outcome)
