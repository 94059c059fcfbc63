"""Ids of sources as chunks: encoders of one source, and the stream of all sources."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from tokctl.idfiles.chunks import (
    SOURCE_START,
    STREAM_START,
    Chunk,
    ResumePoint,
    SourceIndex,
    StreamPosition,
    skip_leading,
)
from tokctl.sources import Document, Records, Source
from tokctl.tokenizer.documents import DocumentEncoder, Progress, TrackedSources

if TYPE_CHECKING:
    from tokctl._native import TokenNames


class Encoder(Protocol):
    """Encoder of sources into chunks. It can be pickled.

    Attributes:
        documents: how documents become ids.
    """

    documents: DocumentEncoder

    @property
    def cuts(self) -> str:
        """Name of the cuts that divide a document into parts for several encoders.

        See `DocumentEncoder.cuts`.
        """

    def chunks(self, source: Document | Records, start: ResumePoint = ...) -> Iterator[Chunk]:
        """Yield the ids of a source as chunks, from `start` on."""


class NativeEncoder:
    """Encoder of the documents of a source into chunks of packed ids or of JSON lines."""

    def __init__(
        self,
        documents: DocumentEncoder,
        width: int,
        end_id: int | None = None,
        names: Callable[[], TokenNames] | None = None,
    ) -> None:
        """Set the form of the chunks.

        Args:
            documents: how documents become ids.
            width: bytes of an id, 2 or 4; every id must fit.
            end_id: id added after the ids of each document; None: nothing is added.
            names: function that returns the field names for JSON; each document is then a line.
                None: packed ids.
        """
        self.documents = documents
        self.end_id = end_id
        self._arguments = width, names
        self.width = 0 if names else width
        self._form = names() if names else str(8 * width)

    def __reduce__(self) -> tuple[Any, ...]:
        width, names = self._arguments
        return NativeEncoder, (self.documents, width, self.end_id, names)

    @property
    def cuts(self) -> str:
        """`DocumentEncoder.cuts`, but `nowhere` if a whole document becomes one line."""
        is_line = not self.width and not self.documents.lines
        return "nowhere" if is_line else self.documents.cuts

    def chunks(
        self, source: Document | Records, start: ResumePoint = SOURCE_START
    ) -> Iterator[Chunk]:
        """Yield the ids of a source as chunks, from `start` on.

        Args:
            source: a document or a source of records.
            start: point in the source to start from.

        Raises:
            TokctlError: as `DocumentEncoder.encode`.
        """
        return self._chunks(source, start, self.end_id)

    def open_chunks(self, document: Document) -> Iterator[Chunk]:
        """Yield the ids of a part of a document that continues after the part.

        The part must end where the document may be cut. No chunk has the end of a document.
        """
        for chunk in self._chunks(document, SOURCE_START, None):
            yield replace(chunk, ends=())

    def _chunks(
        self, source: Document | Records, start: ResumePoint, end_id: int | None
    ) -> Iterator[Chunk]:
        is_text = isinstance(source, Document)
        encoded = self.documents.encode(
            source,
            self._form,
            end_id=end_id,
            skipped=start.text if is_text else start.records,
        )
        documents, ids = start.documents, start.ids
        for data, count, ends, position in encoded:
            if not is_text:
                resume = ResumePoint(records=position, documents=position)
            elif self.documents.lines:
                resume = ResumePoint(position, documents=documents)
            elif self.width:
                resume = ResumePoint(position, ids=ids)
            else:
                resume = start
            if self.width:
                yield Chunk(data, count, ends, self.width, resume=resume)
            elif data:
                lines = data if data.endswith(b"\n") else data + b"\n"
                byte_ends = array("q", (encoded.end() for encoded in re.finditer(b"\n", lines)))
                yield Chunk(lines, count, ends, 0, byte_ends, resume=resume)
            documents += len(ends)
            ids += count


class ChunkStream:
    """Sources, and the encoder that turns them into chunks.

    Attributes:
        sources: the sources, in the order of their ids.
        encoder: encoder of each source.
        progress: called with the phase `encode`, and with `verify` for the shards of an earlier
            run.
        tell: called with a sentence for each damaged shard of an earlier run that is encoded again.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        encoder: Encoder,
        progress: Progress | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.sources = sources
        self.encoder = encoder
        self.progress = progress
        self.tell = tell
        self._tracked = TrackedSources(sources, progress)

    def chunks(self, start: StreamPosition = STREAM_START) -> Iterator[Chunk]:
        """Yield the chunks from position `start` on, each with its source."""
        documents = ids = 0
        for number, member, source in self._tracked.each(*start.source):
            index = SourceIndex(number, member)
            if index == start.source and start != STREAM_START:
                resume = start.resume
                is_same_document = start.documents == resume.documents
                source_chunks = skip_leading(
                    self.encoder.chunks(source, resume),
                    start.documents - resume.documents,
                    start.ids - resume.ids if is_same_document else start.ids,
                )
            else:
                source_chunks = self.encoder.chunks(source)
            for chunk in source_chunks:
                yield replace(chunk, source=index)
                documents, ids = documents + len(chunk.ends), ids + chunk.count
                self._tracked.documents, self._tracked.ids = documents, ids
                self._tracked.tell()
