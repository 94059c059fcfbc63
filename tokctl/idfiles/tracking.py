"""Sources one after the other, and how much of them was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tokctl.sources import Archive, Document, Records, Source, total_size

#: progress(phase, done, total): bytes of the sources as they lie there; None: not known.
Progress: TypeAlias = Callable[[str, int, int | None], None]

#: What is told of.
_PHASE = "encode"


class Tracked:
    """Sources that are read one after the other; `progress` is told how far that is."""

    def __init__(self, sources: Sequence[Source], progress: Progress | None = None) -> None:
        self.sources = sources
        self._progress = progress
        self._total = total_size(sources)
        self._done = 0  # bytes of sources that were read to their end
        self._read = 0  # of a source that can't tell
        self._now: Source | None = None

    def each(
        self, first: int = 0, member: int = 0
    ) -> Iterator[tuple[int, int, Document | Records]]:
        """The sources from number `first` on, an archive's from its number `member` on: both
        numbers, from 0, and the source."""
        self._done = sum(source.size or 0 for source in self.sources[:first])
        for number, source in enumerate(self.sources[first:], first):
            self._now, self._read = source, 0
            members = source.members() if isinstance(source, Archive) else iter((source,))
            for place, one in enumerate(members):
                if number > first or place >= member:
                    yield number, place, self._counted(one)
            self._done += self._where(source) if source.size is None else source.size
            self._now = None
            self.tell()

    def tell(self) -> None:
        """Says how far it is."""
        if self._progress is not None:
            now = 0 if self._now is None else self._where(self._now)
            self._progress(_PHASE, self._done + now, self._total)

    def _where(self, source: Source) -> int:
        return self._read if source.tell is None else source.tell()

    def _counted(self, source: Document | Records) -> Document | Records:
        """The source; of one that can't tell how much was read, the blocks are counted."""
        if self._progress is None or isinstance(source, Records) or source.tell is not None:
            return source

        def counted() -> Iterator[bytes]:
            for block in source.blocks():
                self._read += len(block)
                yield block

        return replace(source, blocks=counted)
