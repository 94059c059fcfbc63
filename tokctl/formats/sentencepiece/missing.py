"""BPE pieces of characters that are no pieces.

SentencePiece merges texts, whether or not these are pieces, so it makes `bc` of a `b` and a `c`
that have none. Here two tokens merge, and a character without one is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Set


def made_of_missing(pieces: Iterable[str], characters: Set[str]) -> list[str]:
    """The pieces that it may make of characters which are not among these."""
    pieces = list(pieces)
    known = set(pieces)

    def found(text: str) -> bool:
        return len(text) == 1 or text in known

    return [
        piece
        for piece in pieces
        if len(piece) > 1
        and not characters >= set(piece)
        and any(found(piece[:at]) and found(piece[at:]) for at in range(1, len(piece)))
    ]
