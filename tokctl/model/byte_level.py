"""GPT-2's printable stand-ins for the 256 bytes.

A vocabulary file is text, so byte-level tokens are spelled with one printable character
for each byte: printable Latin-1 stands for itself, the other bytes are U+0100 onwards in
order (`bytes_to_unicode` in GPT-2's `encoder.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

_THEMSELVES = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = sorted(set(range(256)) - set(_THEMSELVES))

#: The character that stands for each byte.
CHARACTERS = {byte: chr(byte) for byte in _THEMSELVES} | {
    byte: chr(0x100 + place) for place, byte in enumerate(_OTHERS)
}
BYTES = {character: byte for byte, character in CHARACTERS.items()}

#: The 256 single bytes in the order of their stand-ins, which is the order of their ids.
IN_ID_ORDER = [bytes([BYTES[character]]) for character in sorted(BYTES)]


#: The bytes that UTF-8 never has (RFC 3629).
NEVER_IN_UTF8 = frozenset([0xC0, 0xC1, *range(0xF5, 0x100)])

#: No stand-in, and no Latin-1.
_BETWEEN = "\uffff"
_TO_TEXT = str.maketrans({chr(byte): character for byte, character in CHARACTERS.items()})
_TO_BYTES = str.maketrans({character: chr(byte) for byte, character in CHARACTERS.items()})


def spell(token: bytes) -> str:
    """The token's bytes as stand-ins."""
    return token.decode("latin-1").translate(_TO_TEXT)


def spell_all(tokens: Sequence[bytes]) -> list[str]:
    """`spell` of each token."""
    # Translated in one go, with a character between that stands for no byte.
    texts = [token.decode("latin-1") for token in tokens]
    return _BETWEEN.join(texts).translate(_TO_TEXT).split(_BETWEEN) if texts else []


def unspell(text: str) -> bytes:
    """The bytes that stand-ins stand for; ValueError if a character is none."""
    return unspell_all([text])[0]


def unspell_all(texts: list[str]) -> list[bytes]:
    """`unspell` of each text."""
    if strange := set().union(*texts) - BYTES.keys():
        raise ValueError(f"{min(strange)!r} stands for no byte in a byte-level token")
    return [text.translate(_TO_BYTES).encode("latin-1") for text in texts]


#: What byte fallback spells a byte as, by byte.
BYTE_TOKENS = {b"<0x%02X>" % byte: byte for byte in range(256)}
