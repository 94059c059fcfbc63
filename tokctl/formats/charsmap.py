"""SentencePiece's compiled normalization rules: what they are called, if they are whole.

The blob is the size of a trie in bytes, the trie (Darts-clone's double array of 32-bit
units), and the replacements, each ended by a zero byte (`src/normalizer.cc`).
"""

from __future__ import annotations

import hashlib
import struct

#: The rules that SentencePiece is built with, by their digest: the kinds of normalizers.
NAMED = {
    "1e2c7b43d3ee9755ceaa2ac335e253d8703604e0249ee1e81156c92b46423844": "nmt_nfkc",
    "7e46d9e08af4b6a37991b04fb8388644c1595a0abcd0f26d6a5d575e2a3663ea": "sp_nfkc",
    "2c03512e62f9ed965ec90d85314211b63b5b8aa0395311ea2147eec9ff738907": "nmt_nfkc_cf",
    "d8dfef3d6db0eef0742f8b55a73aee7fce6c1e21d26a09b8d3d4b52c42a791cb": "nfkc_cf",
}


def known(blob: bytes) -> str | None:
    """The kind of normalizer that these rules are, if any."""
    return NAMED.get(hashlib.sha256(blob).hexdigest())


def check(blob: bytes) -> None:
    """ValueError unless the parts of the blob are where they should be."""
    if len(blob) <= 4 or (size := struct.unpack_from("<I", blob)[0]) >= len(blob) - 4:
        raise ValueError("its normalization rules are cut off")
    if size % 4 or size < 4:
        raise ValueError("its normalization rules have a trie of no whole units")
