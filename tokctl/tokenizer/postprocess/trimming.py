"""Offsets that leave the spaces of byte-level tokens out.

As `process_offsets` of Hugging Face's ByteLevel and RobertaProcessing does it.
"""

from __future__ import annotations

from tokctl.tokenizer.encoding import Encoding
from tokctl.tokenizer.postprocess.columns import changed, each_window

#: The space as byte-level tokens spell it, and Unicode's White_Space, which added tokens
#: can hold. (`str.isspace` says yes to four control characters more.)
SPACES = (
    "Ġ\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)

Offsets = list[tuple[int, int]]


def trim(encoding: Encoding, prefix_space: bool) -> Encoding:
    """The encoding with trimmed offsets, and its windows, too. Pieces stay as they are.

    Args:
        prefix_space: a space was put before the text: one leading space of a first token
            is that one, and nothing to leave out. Every window has a first token.
    """
    old = encoding.offsets
    new = _trimmed(encoding.tokens, old, prefix_space)
    in_bytes = new
    if encoding.byte_offsets != old:
        in_bytes = [
            _in_bytes(piece, bounds, now[0] - before[0], before[1] - now[1])
            for piece, bounds, before, now in zip(
                encoding.pieces, encoding.byte_offsets, old, new, strict=True
            )
        ]
    windows = each_window(encoding, lambda window: trim(window, prefix_space))
    return changed(encoding, offsets=new, byte_offsets=in_bytes, overflowing=windows)


def _trimmed(tokens: list[str], offsets: Offsets, prefix_space: bool) -> Offsets:
    trimmed = []
    spaces = {token: _spaces(token) for token in set(tokens)}
    for index, (token, bounds) in enumerate(zip(tokens, offsets, strict=True)):
        leading, trailing = spaces[token]
        if leading or trailing:
            start, end = bounds
            first = index == 0 or start == 0
            if not (first and prefix_space and leading == 1):
                start = min(start + leading, end)
            if trailing <= end:
                end = max(end - trailing, start)
            bounds = start, end
        trimmed.append(bounds)
    return trimmed


def _spaces(token: str) -> tuple[int, int]:
    """How many spaces a token starts and ends with."""
    return len(token) - len(token.lstrip(SPACES)), len(token) - len(token.rstrip(SPACES))


def _in_bytes(piece: str, bounds: tuple[int, int], leading: int, trailing: int) -> tuple[int, int]:
    """The byte offsets of a piece without so many of its characters at both ends."""
    start, end = bounds
    start = min(start + len(piece[:leading].encode("utf-8", "surrogatepass")), end)
    tail = piece[max(len(piece) - trailing, 0) :] if trailing else ""
    return start, max(end - len(tail.encode("utf-8", "surrogatepass")), start)
