"""The Unicode script of a text: `Latin`, `Han`, … (annex 24)."""

from __future__ import annotations

from tokctl import _native

#: Characters of several scripts.
MIXED = "mixed"
#: Nothing but characters that all scripts share: digits, punctuation, spaces.
NONE = "none"
#: Bytes that are no whole characters.
PIECES = "pieces of characters"


def script_of(text: bytes) -> str:
    """The script of a text's characters, or one of the three words above. Characters that many
    scripts share, and combining marks that take the script of their base, say nothing."""
    try:
        found = _native.scripts_of(text.decode())
    except UnicodeDecodeError:
        return PIECES
    return MIXED if len(found) > 1 else found[0] if found else NONE
