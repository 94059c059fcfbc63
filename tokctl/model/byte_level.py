"""GPT-2's printable characters for the 256 bytes.

A vocabulary file is text, so each byte of a byte-level token is written as one printable
character. A byte that is printable in Latin-1 is written as the Latin-1 character; the others
are U+0100 onwards, in order (`bytes_to_unicode` in GPT-2's `encoder.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

_THEMSELVES = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = sorted(set(range(256)) - set(_THEMSELVES))

#: The printable character of each byte.
CHARACTERS = {byte: chr(byte) for byte in _THEMSELVES} | {
    byte: chr(0x100 + place) for place, byte in enumerate(_OTHERS)
}
#: The byte of each printable character.
BYTES = {character: byte for byte, character in CHARACTERS.items()}

#: The 256 single bytes in the order of their printable characters, which is their id order.
IN_ID_ORDER = [bytes([BYTES[character]]) for character in sorted(BYTES)]


#: The bytes that never occur in UTF-8 (RFC 3629).
NEVER_IN_UTF8 = frozenset([0xC0, 0xC1, *range(0xF5, 0x100)])

#: A separator that is neither in Latin-1 nor the printable character of a byte.
_BETWEEN = "\uffff"
_TO_TEXT = str.maketrans({chr(byte): character for byte, character in CHARACTERS.items()})
_TO_BYTES = str.maketrans({character: chr(byte) for byte, character in CHARACTERS.items()})


def spell(token: bytes) -> str:
    """Return the token with each byte written as its printable character."""
    return token.decode("latin-1").translate(_TO_TEXT)


def spell_all(tokens: Sequence[bytes]) -> list[str]:
    """Return `spell(token)` for each token."""
    # One translation of all tokens together, joined by a separator that stands for no byte.
    texts = [token.decode("latin-1") for token in tokens]
    return _BETWEEN.join(texts).translate(_TO_TEXT).split(_BETWEEN) if texts else []


def unspell(text: str) -> bytes:
    """Return the bytes that the printable characters of `text` stand for.

    Raises:
        ValueError: a character stands for no byte.
    """
    return unspell_all([text])[0]


def unspell_all(texts: list[str]) -> list[bytes]:
    """Return `unspell(text)` for each text; raise `ValueError` like `unspell`."""
    if strange := set().union(*texts) - BYTES.keys():
        raise ValueError(f"{min(strange)!r} stands for no byte in a byte-level token")
    return [text.translate(_TO_BYTES).encode("latin-1") for text in texts]


#: The byte of each byte-fallback token, `<0x00>` to `<0xFF>`.
BYTE_TOKENS = {b"<0x%02X>" % byte: byte for byte in range(256)}
