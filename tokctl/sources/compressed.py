"""Streaming decompression: gzip, zstd, xz and bz2, with any number of members."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from typing import Protocol

from tokctl.core.errors import BadInput, TokctlError, Unsupported
from tokctl.sources.blocks import BLOCK_SIZE

#: Most bytes given to a decompressor at a time, because it copies the input that it does not use;
#: and the first number of bytes.
_SLICE = 1 << 16
_FIRST_SLICE = 1 << 12
_DAMAGED_HINT = "download or write the file again; --format raw takes the bytes as they are"
_LONG_HINT = "; what `zstd --long` wrote is read through zstd -dc --long=31 FILE | tokctl …"


class _Decompressor(Protocol):
    """Decompressor of one member, frame or stream, with the standard library's interface."""

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
    """Yield decompressed data in blocks of up to `size` bytes; none is held back.

    Members that follow one another are one text, as for the tools of each format. Memory is bounded
    by the size of a block, however much a small input expands.

    Args:
        blocks: the compressed bytes.
        kind: `gzip`, `zstd`, `xz`, `lzma` or `bz2`.
        name: name in messages.
        size: largest size of a block in bytes.

    Raises:
        TokctlError: the data is damaged, cut short, or followed by something else.
    """
    new_member, errors = _decompressor_of(kind, name)
    member: _Decompressor | None = new_member()
    padding = False  # zeros after the last member, as on tapes
    try:
        for block in blocks:
            view = memoryview(block)
            ready: list[bytes] = []
            ready_size = offset = 0
            step = _FIRST_SLICE
            while offset < len(view) or (member and not member.needs_input):
                if member is None:
                    if padding or (kind in ("gzip", "xz") and view[offset] == 0):
                        if bytes(view[offset:]).strip(b"\0"):
                            raise _trailing_data_error(name, kind)
                        padding = True
                        break
                    member, step = new_member(), _FIRST_SLICE
                piece = view[offset : offset + step] if member.needs_input else b""
                offset += len(piece)
                text = member.decompress(piece, size - ready_size)
                if member.eof:
                    offset -= len(member.unused_data)
                    member = None
                elif len(piece) == step:
                    step = min(2 * step, _SLICE)
                if text:
                    ready.append(text)
                    ready_size += len(text)
                if ready_size >= size:
                    yield b"".join(ready)
                    ready, ready_size = [], 0
            if ready:
                yield b"".join(ready)
    except errors as error:
        raise BadInput(
            f"{name} is damaged: its {kind} data can't be decompressed ({error})",
            _DAMAGED_HINT + (_LONG_HINT if kind == "zstd" else ""),
            "damaged",
        ) from None
    if member is not None:
        raise BadInput(
            f"{name} is cut short: its {kind} data has no end",
            "download or write the file again",
            "damaged",
        )


def _trailing_data_error(name: str, kind: str) -> TokctlError:
    return BadInput(
        f"{name} is damaged: other data follows its {kind} data", _DAMAGED_HINT, "damaged"
    )


def _decompressor_of(
    kind: str, name: str
) -> tuple[Callable[[], _Decompressor], tuple[type[Exception], ...]]:
    """Return the function that makes a decompressor, and its errors for damaged data."""
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
        raise Unsupported(
            f"{name} is zstd data, which this Python can't decompress",
            "pip install backports.zstd, or: zstdcat FILE | tokctl …",
            "missing-package",
        ) from None
    return zstd.ZstdDecompressor, (zstd.ZstdError,)


class _Gzip:
    """Decompressor of a gzip member, with the interface of the standard library's others."""

    def __init__(self) -> None:
        import zlib

        self._member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self._is_output_full = False

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    @property
    def needs_input(self) -> bool:
        # Full output can mean that more is pending, although all input was taken.
        return not self._is_output_full and not self._member.unconsumed_tail

    def decompress(self, data: memoryview | bytes, max_length: int) -> bytes:
        text = self._member.decompress(data or self._member.unconsumed_tail, max_length)
        self._is_output_full = len(text) == max_length
        return text
