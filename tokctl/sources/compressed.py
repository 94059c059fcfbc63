"""Decompressing as bytes come: gzip, zstd, xz and bz2, of any number of members."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from typing import Protocol

from tokctl.errors import TokctlError
from tokctl.sources.blocks import BLOCK_SIZE

#: Bytes given to a decompressor at a time: it copies what it leaves.
_SLICE = 1 << 16
_FIRST_SLICE = 1 << 12
_DAMAGED = "fetch or write it again; --format raw takes the bytes as they are"
_LONG = "; what `zstd --long` wrote is read through zstd -dc --long=31 FILE | tokctl …"


class _Decompressor(Protocol):
    """One gzip member, zstd frame, or stream of xz or bz2, as the standard library has it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: memoryview | bytes, max_length: int) -> bytes: ...


def decompressed(
    blocks: Iterable[bytes], kind: str, name: str, size: int = BLOCK_SIZE
) -> Generator[bytes, None, None]:
    """What compressed blocks hold, in blocks of up to `size` bytes, none held back.

    Members that follow one another are one text, as their tools have it. The memory is
    that of a block, however much comes out of a little.

    Raises:
        TokctlError: names what is damaged, cut short or followed by something else.
    """
    make, damages = _decompressor_of(kind, name)
    member: _Decompressor | None = make()
    padding = False  # zeros behind the last member, as tapes have them
    try:
        for block in blocks:
            view = memoryview(block)
            ready: list[bytes] = []
            waiting = place = 0
            step = _FIRST_SLICE
            while place < len(view) or (member and not member.needs_input):
                if member is None:
                    if padding or (kind in ("gzip", "xz") and view[place] == 0):
                        if bytes(view[place:]).strip(b"\0"):
                            raise _followed(name, kind)
                        padding = True
                        break
                    member, step = make(), _FIRST_SLICE
                piece = view[place : place + step] if member.needs_input else b""
                place += len(piece)
                text = member.decompress(piece, size - waiting)
                if member.eof:
                    place -= len(member.unused_data)
                    member = None
                elif len(piece) == step:
                    step = min(2 * step, _SLICE)
                if text:
                    ready.append(text)
                    waiting += len(text)
                if waiting >= size:
                    yield b"".join(ready)
                    ready, waiting = [], 0
            if ready:
                yield b"".join(ready)
    except damages as error:
        raise TokctlError(
            f"{name} is damaged: its {kind} data can't be decompressed ({error})",
            _DAMAGED + (_LONG if kind == "zstd" else ""),
        ) from None
    if member is not None:
        raise TokctlError(
            f"{name} is cut short: its {kind} data has no end", "fetch or write it again"
        )


def _followed(name: str, kind: str) -> TokctlError:
    return TokctlError(f"{name} is damaged: behind its {kind} data stands something else", _DAMAGED)


def _decompressor_of(
    kind: str, name: str
) -> tuple[Callable[[], _Decompressor], tuple[type[Exception], ...]]:
    """What makes the decompressor of one member, and what it raises for damage."""
    if kind == "gzip":
        import zlib

        return _Gzip, (zlib.error,)
    if kind in ("xz", "lzma"):
        import lzma

        form = lzma.FORMAT_XZ if kind == "xz" else lzma.FORMAT_ALONE
        return lambda: lzma.LZMADecompressor(form), (lzma.LZMAError, EOFError)
    if kind == "bz2":
        import bz2

        return bz2.BZ2Decompressor, (OSError, ValueError, EOFError)
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise TokctlError(
            f"{name} is zstd data, which this Python can't decompress",
            "pip install backports.zstd, or: zstdcat FILE | tokctl …",
        ) from None
    return zstd.ZstdDecompressor, (zstd.ZstdError,)


class _Gzip:
    """A gzip member with the interface of the other decompressors."""

    def __init__(self) -> None:
        import zlib

        self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    @property
    def needs_input(self) -> bool:
        # A full answer can mean that more waits, although all input was taken.
        return not self._full and not self._member.unconsumed_tail

    def decompress(self, data: memoryview | bytes, max_length: int) -> bytes:
        text = self._member.decompress(data or self._member.unconsumed_tail, max_length)
        self._full = len(text) == max_length
        return text
