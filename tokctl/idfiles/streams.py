"""The chunks of many sources, one after the other, from the start or from where one stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tokctl.idfiles.chunks import BEGIN, FIRST, Before, Chunk, Place, without
from tokctl.idfiles.tracking import Progress, Tracked
from tokctl.sources import Document, Records, Source


class Encoder(Protocol):
    """What makes chunks of a source; see `tokctl.idfiles.encoding.NativeEncoder`."""

    def chunks(self, source: Document | Records, start: Before = ...) -> Iterator[Chunk]:
        """The ids of a source, from `start` on, as they come."""


@dataclass(frozen=True)
class Position:
    """Where a stream of chunks can be gone on with.

    Attributes:
        place: the source.
        before: how far it was read where encoding can begin again.
        documents: of this source, those that have ended.
        ids: of the document that has not ended.
    """

    place: Place = FIRST
    before: Before = BEGIN
    documents: int = 0
    ids: int = 0

    @property
    def is_inside(self) -> bool:
        """Was something of its source taken?"""
        return bool(self.documents or self.ids or self.place.member)


#: Where everything begins.
START = Position()


class Stream:
    """Sources, and how they become chunks. `progress` is told of the phase `encode`."""

    def __init__(
        self, sources: Sequence[Source], encoder: Encoder, progress: Progress | None = None
    ) -> None:
        self.sources = sources
        self.encoder = encoder
        self._tracked = Tracked(sources, progress)

    def chunks(self, start: Position = START) -> Iterator[Chunk]:
        """The chunks from `start` on, each with its place."""
        for number, member, source in self._tracked.each(*start.place):
            place = Place(number, member)
            if place == start.place and start != START:
                before = start.before
                same = start.documents == before.documents
                found = without(
                    self.encoder.chunks(source, before),
                    start.documents - before.documents,
                    start.ids - before.ids if same else start.ids,
                )
            else:
                found = self.encoder.chunks(source)
            for chunk in found:
                yield replace(chunk, place=place)
                self._tracked.tell()
