"""tiktoken, with the same tokens: its ranks are our ids, which ascend as the merges do. Made
by hand, because `tiktoken.get_encoding` asks the network for the ranks."""

from __future__ import annotations

import tiktoken

from tests.bench.job import (
    CL100K_PATTERN,
    GPT2_PATTERN,
    O200K_PATTERN,
    SPECIAL,
    WARM_UP,
    Job,
    Task,
    array_outcome,
    ids_outcome,
    lines_outcome,
    text_outcome,
)


def _loaded(job: Job, pattern: str = GPT2_PATTERN) -> tiktoken.Encoding:
    import json

    from tokctl.model.byte_level import unspell

    with open(job.model, encoding="utf-8") as file:  # noqa: PTH123
        vocabulary = json.load(file)["model"]["vocab"]
    # Special tokens behind the others, or before them as tokctl numbers them.
    special = {SPECIAL: vocabulary.pop(SPECIAL)}
    ranks = {unspell(token): id_ for token, id_ in vocabulary.items()}
    return tiktoken.Encoding(
        "tokctl", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special
    )


def _cl100k(job: Job) -> tiktoken.Encoding:
    from tiktoken.load import load_tiktoken_bpe

    # Its reader takes a path of this machine, too, and asks nobody.
    ranks = load_tiktoken_bpe(job.model)
    return tiktoken.Encoding(
        "cl100k_base",
        pat_str=CL100K_PATTERN,
        mergeable_ranks=ranks,
        special_tokens={SPECIAL: 100257},
    )


def encode_list(job: Job) -> Task:
    encoding, text = _loaded(job), job.read_text()
    encoding.encode_ordinary(WARM_UP)
    return Task(lambda: encoding.encode_ordinary(text), ids_outcome)


def encode_array(job: Job) -> Task:
    return _encode_array(job, _loaded(job))


def encode_cl100k(job: Job) -> Task:
    return _encode_array(job, _cl100k(job))


def encode_o200k(job: Job) -> Task:
    return _encode_array(job, _loaded(job, O200K_PATTERN))


def _encode_array(job: Job, encoding: tiktoken.Encoding) -> Task:
    text = job.read_text()
    encoding.encode_to_numpy(WARM_UP)
    return Task(lambda: encoding.encode_to_numpy(text, disallowed_special=()), array_outcome)


def encode_texts(job: Job) -> Task:
    encoding, texts, threads = _loaded(job), job.read_chunks(), job.threads
    encoding.encode_ordinary_batch([WARM_UP], num_threads=threads)
    return Task(lambda: encoding.encode_ordinary_batch(texts, num_threads=threads), lines_outcome)


def decode(job: Job) -> Task:
    encoding, ids = _loaded(job), job.read_ids().tolist()
    encoding.decode_bytes(ids[:1])
    return Task(lambda: encoding.decode_bytes(ids), text_outcome)
