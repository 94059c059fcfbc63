"""What the tests of sources share: compressed data, streams that come in pieces, what was read."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import itertools
import lzma
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from tokctl import sources
from tokctl.sources import Batch, Document, ReadOptions, Records

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Compress = Callable[[bytes], bytes]


@contextlib.contextmanager
def nobody() -> Iterator[str]:
    """The address of a port that is taken, and at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


COMPRESS: dict[str, Compress] = {
    "gz": lambda data: gzip.compress(data, 6, mtime=0),
    "zst": lambda data: zstd.compress(data),
    "xz": lambda data: lzma.compress(data),
    "bz2": lambda data: bz2.compress(data),
}
#: A frame that every reader of zstd passes over.
SKIPPED = b"\x53\x2a\x4d\x18\x05\x00\x00\x00hello"


class Trickle(io.RawIOBase):
    """A stream whose reads give the pieces it is made of, each at most."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = [piece for piece in pieces if piece]

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self._pieces:
            return b""
        piece, rest = self._pieces[0], b""
        if 0 <= size < len(piece):
            piece, rest = piece[:size], piece[size:]
        self._pieces[:1] = [rest] if rest else []
        return piece


def trickle(pieces: Iterable[bytes]) -> BinaryIO:
    return cast(BinaryIO, Trickle(pieces))


def pieces_of(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """The data, cut at these places."""
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(ends)]


def batches(source: Any) -> list[Batch]:
    assert isinstance(source, Records)
    return list(source.batches())


def records(source: Any) -> list[bytes]:
    """The texts of a source of records."""
    return [text for batch in batches(source) for text in batch.texts]


def text(source: Any) -> bytes:
    assert isinstance(source, Document)
    return b"".join(source.blocks())


def read(
    path: str | Path, reading: ReadOptions = sources.AUTO, *, stdin: BinaryIO | None = None
) -> list[tuple[str, list[bytes]]]:
    """Everything that a path names: of each source the name and the texts."""
    return all_of(sources.open_sources([path], reading, stdin=stdin))


def all_of(opened: Sequence[sources.Source]) -> list[tuple[str, list[bytes]]]:
    return [
        (source.name, records(source) if isinstance(source, Records) else [text(source)])
        for source in sources.flat(opened)
    ]
