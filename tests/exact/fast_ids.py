"""The ids of generated strings by every fast way, as digests, in a process of its own.

    python -m tests.exact.fast_ids MODEL COUNT

The level of SIMD is chosen once in a process, by the variable TOKCTL_SIMD.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from tests.exact.strings import strings
from tokctl import Tokenizer

if TYPE_CHECKING:
    from tokctl import _native

#: So many strings are one text, and a batch.
TOGETHER = 10_000
#: Threads, and bytes of a chunk: where texts are cut must not show.
CHUNKINGS = ((1, 131_072), (2, 131_072), (2, 3000), (3, 97))


class Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


def groups(count: int) -> Iterator[list[str]]:
    """`count` strings, the same ones each time."""
    rest = strings(count, seed=5)
    while group := list(itertools.islice(rest, TOGETHER)):
        yield group


def joined(group: Sequence[str]) -> bytes:
    """One text of many, put together in ways that let them meet."""
    draw = random.Random(len(group))
    return "".join(text + draw.choice(("", "", " ", "\n", "  ")) for text in group).encode()


def add(digest: Hash, ids: Iterable[int] | _native.IdArray) -> None:
    """The ids of one text, and where they end."""
    packed = b"".join(number.to_bytes(4, "little") for number in ids)
    digest.update(packed + b"\xff\xff\xff\xff")


def digests(tokenizer: Tokenizer, count: int) -> dict[str, str]:
    """What every way gives: of the strings one by one, and of the texts made of them."""
    alone, batched, flat = hashlib.sha256(), hashlib.sha256(), hashlib.sha256()
    forgetful, whole_forgetful = hashlib.sha256(), hashlib.sha256()
    whole = {how: hashlib.sha256() for how in CHUNKINGS}
    for group in groups(count):
        for text in group:
            add(alone, tokenizer.encode_ids(text))
        for ids in tokenizer.encode_ids(group, threads=2):
            add(batched, ids)
        ids, offsets = tokenizer.encode_array(group)
        for start, end in pairwise(offsets):
            add(flat, ids[start:end].tolist())
        text = joined(group)
        # With so little memory for what is cached that much of it is forgotten again.
        tokenizer.cache_memory = 1 << 20
        for ids in tokenizer.encode_ids(group):
            add(forgetful, ids)
        add(whole_forgetful, tokenizer.encode_array(text))
        tokenizer.cache_memory = 64 << 20
        for (threads, chunk), digest in whole.items():
            add(digest, tokenizer.encoder.array(text, threads, chunk=chunk).tolist())
    named = {f"whole, {threads} threads, {chunk}": d for (threads, chunk), d in whole.items()}
    found = {"alone": alone, "batch": batched, "array of a batch": flat, **named}
    found |= {"forgetful": forgetful, "whole, forgetful": whole_forgetful}
    return {name: digest.hexdigest() for name, digest in found.items()}


if __name__ == "__main__":
    print(json.dumps(digests(Tokenizer.load(sys.argv[1]), int(sys.argv[2]))))
