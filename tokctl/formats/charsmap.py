"""SentencePiece's compiled normalization rules: read, and made of a recipe's normalizers.

The blob is the size of a trie in bytes, the trie (Darts-clone's double array of 32-bit
units), and the replacements, each ended by a zero byte (`src/normalizer.cc`).
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Sequence
from functools import lru_cache

from tokctl import _native
from tokctl.errors import CoreError
from tokctl.model.parts import CHARS_MAPS, NORMALIZERS, Part, native_parts

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


def part_of(blob: bytes, keep: Sequence[str]) -> Part:
    """The normalizer that these rules are, which leaves the texts `keep` alone.

    Raises:
        ValueError: they are damaged.
    """
    check(blob)
    if kind := known(blob):
        return NORMALIZERS.part(kind, keep=list(keep))
    text = base64.b64encode(blob).decode()
    part = NORMALIZERS.part("precompiled", rules=text, keep=list(keep))
    try:
        _native.normalize(native_parts([part]), b"")
    except CoreError as error:
        raise ValueError(f"its normalization rules are wrong: {error.message}") from None
    return part


def blob_of(part: Part) -> tuple[str, bytes] | None:
    """Rules as SentencePiece compiles them, with the name that they have there; None for a
    normalizer that is no such rules."""
    if part.kind in CHARS_MAPS:
        name = CHARS_MAPS[part.kind]
        return name, _compiled(name)
    if part.kind == "precompiled":
        return "user_defined", base64.b64decode(part["rules"])
    return None


@lru_cache(maxsize=4)
def _compiled(name: str) -> bytes:
    """The rules that SentencePiece is built with: half a second's work."""
    return _native.chars_map_named(name)


def of_replacements(parts: Sequence[Part]) -> bytes | None:
    """Rules that do what texts put in the place of others do, one after the other; None if
    no rules do.

    Each changes every character on its own where it looks for one character, so all of them
    together do, too. One alone can look for any text: what is found first, from the left, is
    what the longest rule finds.
    """
    patterns = {part["pattern"]: part["content"] for part in parts}
    if len(parts) > 1:
        if any(len(pattern) > 1 for pattern in patterns):
            return None
        for pattern in patterns:
            text = pattern
            for part in parts:
                text = text.replace(part["pattern"], part["content"])
            patterns[pattern] = text
    try:
        return _native.compile_chars_map(patterns)
    except CoreError:  # a NUL, or a text of over a thousand bytes
        return None
