"""SentencePiece's compiled normalization rules: read, or compiled from a recipe's normalizers.

The blob consists of the size of a trie in bytes, the trie (Darts-clone's double array of 32-bit
units), and the replacements, each ended by a zero byte (`src/normalizer.cc`).
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Sequence
from functools import lru_cache

from tokctl import _native
from tokctl.core.errors import CoreError
from tokctl.model.parts import CHARS_MAPS, NORMALIZERS, Part, native_parts

#: The kinds of normalizer whose rules are built into SentencePiece, by the SHA-256 of the rules.
BUILTIN_RULES = {
    "1e2c7b43d3ee9755ceaa2ac335e253d8703604e0249ee1e81156c92b46423844": "nmt_nfkc",
    "7e46d9e08af4b6a37991b04fb8388644c1595a0abcd0f26d6a5d575e2a3663ea": "sp_nfkc",
    "2c03512e62f9ed965ec90d85314211b63b5b8aa0395311ea2147eec9ff738907": "nmt_nfkc_cf",
    "d8dfef3d6db0eef0742f8b55a73aee7fce6c1e21d26a09b8d3d4b52c42a791cb": "nfkc_cf",
}


def builtin_kind(blob: bytes) -> str | None:
    """Return the kind of normalizer whose built-in rules equal `blob`, or None."""
    return BUILTIN_RULES.get(hashlib.sha256(blob).hexdigest())


def check(blob: bytes) -> None:
    """Raise ValueError unless `blob` has room for its trie and the trie consists of whole units."""
    if len(blob) <= 4 or (size := struct.unpack_from("<I", blob)[0]) >= len(blob) - 4:
        raise ValueError("its normalization rules are cut off")
    if size % 4 or size < 4:
        raise ValueError("its normalization rules have a trie of no whole units")


def read_rules(blob: bytes, keep: Sequence[str]) -> Part:
    """Return the normalizer that applies the compiled rules in `blob`.

    Args:
        blob: rules as SentencePiece compiles them.
        keep: texts that the normalizer leaves unchanged.

    Raises:
        ValueError: the rules are damaged.
    """
    check(blob)
    if kind := builtin_kind(blob):
        return NORMALIZERS.part(kind, keep=list(keep))
    text = base64.b64encode(blob).decode()
    part = NORMALIZERS.part("precompiled", rules=text, keep=list(keep))
    try:
        _native.normalize(native_parts([part]), b"")
    except CoreError as error:
        raise ValueError(f"its normalization rules are wrong: {error.message}") from None
    return part


def compiled_rules(part: Part) -> tuple[str, bytes] | None:
    """Return the name and the compiled rules of a normalizer, or None if it has no such rules.

    The name is SentencePiece's: `user_defined` for rules that came from a model file.
    """
    if part.kind in CHARS_MAPS:
        name = CHARS_MAPS[part.kind]
        return name, _builtin_rules(name)
    if part.kind == "precompiled":
        return "user_defined", base64.b64decode(part["rules"])
    return None


@lru_cache(maxsize=4)
def _builtin_rules(name: str) -> bytes:
    """Return the rules called `name` that are built into SentencePiece; takes half a second."""
    return _native.chars_map_named(name)


def compile_replacements(parts: Sequence[Part]) -> bytes | None:
    """Return compiled rules equal to a sequence of text replacements, or None if there are none.

    Replacements of single characters change each character independently, so they can be combined
    into one rule per character. A replacement of a longer text is possible only alone: then the
    leftmost match is also the match of the longest rule.
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
    except CoreError:  # a NUL, or a text of more than a thousand bytes
        return None
