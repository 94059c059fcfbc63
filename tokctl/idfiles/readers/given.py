"""What is read: bytes as they come, or a file in which any place can be asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO

from tokctl.errors import TokctlError

#: Bytes that are read at a time.
BLOCK = 1 << 21


@dataclass
class Meter:
    """How many bytes were read."""

    done: int = 0

    def watch(self, blocks: Iterator[bytes], tell: Callable[[], int] | None) -> Iterator[bytes]:
        """The blocks; `tell` says where they are in what lies there, which may be compressed."""
        before = self.done
        for block in blocks:
            self.done = before + tell() if tell else self.done + len(block)
            yield block


@dataclass(frozen=True)
class Given:
    """A file, or a stream.

    Attributes:
        name: for messages.
        blocks: its bytes, decompressed.
        path: of a file that any place of can be read, where `blocks` are just its bytes.
        meter: what is told how much of the file was read.
    """

    name: str
    blocks: Callable[[], Iterator[bytes]]
    path: str | None = None
    meter: Meter = field(default_factory=Meter)

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """The file; a stream is copied to a temporary one on the disk first."""
        if self.path is not None:
            try:
                file = open(self.path, "rb", buffering=0)  # noqa: PTH123, SIM115
            except OSError as error:
                raise _unreadable(self.path, error) from None
            with file:
                yield Opened(self.name, file, self.meter)
            return
        from tokctl.sources.streams import spooled

        with spooled(self.blocks(), self.name) as copy:
            yield Opened(self.name, copy, Meter())


class Opened:
    """A file in which any place can be asked for.

    Attributes:
        size: bytes.
        file: for who reads it on their own.
    """

    def __init__(self, name: str, file: FileIO, meter: Meter) -> None:
        self.name = name
        self.meter = meter
        self.file = file
        self.size = os.fstat(file.fileno()).st_size

    def read(self, start: int, size: int) -> bytes:
        """Exactly these bytes. TokctlError where the file has become shorter, or can't be read."""
        parts = []
        try:
            while size:
                part = os.pread(self.file.fileno(), min(size, BLOCK), start)
                if not part:
                    raise TokctlError(
                        f"{self.name}: it ends at byte {start}, before what it says of itself",
                        "is it still being written, or cut off?",
                    )
                parts.append(part)
                start, size = start + len(part), size - len(part)
        except OSError as error:
            raise _unreadable(self.name, error) from None
        return b"".join(parts)

    def blocks(self, start: int, size: int, width: int) -> Iterator[bytes]:
        """These bytes in blocks, each of whole numbers of `width` bytes."""
        step = BLOCK // width * width
        for done in range(0, size, step):
            self.meter.done += min(step, size - done)
            yield self.read(start + done, min(step, size - done))


def _unreadable(name: str, error: OSError) -> TokctlError:
    return TokctlError(f"can't read {name}: {error.strerror or error}", "check that file")
