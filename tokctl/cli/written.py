"""How ids, tokens and bytes are written down."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer
    from tokctl.tokenizer.encoding import Encoding


def bin_width(tokenizer: Tokenizer) -> int:
    """Bytes of an id in the form `bin`: 2 where every id fits, else 4."""
    return 2 if tokenizer.vocab_size <= 1 << 16 else 4


def text_or_bytes(data: bytes) -> str | dict[str, str]:
    """Bytes for JSON: text where they are UTF-8, else `{"bytes": base64}`."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        from base64 import b64encode

        return {"bytes": b64encode(data).decode()}


def decimal(ids: Sequence[int]) -> bytes:
    """Ids as text, a space between."""
    return " ".join(map(str, ids)).encode()


def packed(ids: Iterable[int], width: int) -> bytes:
    """Ids as little-endian numbers of `width` bytes."""
    numbers = array("H" if width == 2 else "I", ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpacked(data: bytes, width: int) -> Sequence[int]:
    """The ids that `packed` made `data` from."""
    numbers = array("H" if width == 2 else "I", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def names(tokens: Iterable[str]) -> bytes:
    """Tokens as the vocabulary spells them, a space between."""
    return " ".join(map(_unbroken, tokens)).encode()


def pieces(row: Encoding, text: bytes) -> bytes:
    """The stretches of the text that the tokens cover; the offsets are those of bytes."""
    return json([text_or_bytes(text[start:end]) for start, end in row.offsets])


def _unbroken(token: str) -> str:
    """The token with white space escaped: a space stands between tokens only."""
    if token.isprintable() and " " not in token:
        return token
    return "".join(
        "\\x20"
        if char == " "
        else char.encode("unicode_escape").decode()
        if char.isspace()
        else char
        for char in token
    )


def json(value: object) -> bytes:
    """JSON on one line."""
    import orjson

    return orjson.dumps(value)
