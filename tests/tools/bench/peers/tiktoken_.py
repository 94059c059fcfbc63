"""tiktoken, with the same tokens: its ranks are our ids, which ascend as the merges do. Made
by hand, because `tiktoken.get_encoding` asks the network for the ranks."""

from __future__ import annotations

from typing import Any

import tiktoken

from tests.tools.bench.job import (
    CL100K_PATTERN,
    GPT2_PATTERN,
    O200K_PATTERN,
    SPECIAL,
    Job,
    array_outcome,
    ids_outcome,
    lines_outcome,
)
from tests.tools.bench.peers.calls import decoding, encoding


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


def _o200k(job: Job) -> tiktoken.Encoding:
    return _loaded(job, O200K_PATTERN)


def _encode_list(encoding: tiktoken.Encoding, text: str, _: int) -> list[int]:
    return encoding.encode_ordinary(text)


def _encode(encoding: tiktoken.Encoding, text: str, _: int) -> Any:
    return encoding.encode_to_numpy(text, disallowed_special=())


def _encode_many(encoding: tiktoken.Encoding, texts: list[str], threads: int) -> list[list[int]]:
    return encoding.encode_ordinary_batch(texts, num_threads=threads)


encode_list = encoding(_loaded, _encode_list, ids_outcome)
encode_array = encoding(_loaded, _encode, array_outcome)
encode_cl100k = encoding(_cl100k, _encode, array_outcome)
encode_o200k = encoding(_o200k, _encode, array_outcome)
encode_texts = encoding(_loaded, _encode_many, lines_outcome, Job.read_chunks)
decode = decoding(_loaded, lambda encoding, ids: encoding.decode_bytes(ids))
