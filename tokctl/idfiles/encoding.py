"""From sources to chunks of ids, by the native encoder."""

from __future__ import annotations

from collections.abc import Iterator

from tokctl.idfiles.chunks import SOURCE_START, Chunk, ResumePoint
from tokctl.sources import Document, Records
from tokctl.tokenizer.documents import DocumentEncoder


class NativeEncoder:
    """An encoder of `tokctl.idfiles.writer` that writes packed ids, a document of the source
    being a document there."""

    def __init__(self, documents: DocumentEncoder, width: int, end_id: int | None = None) -> None:
        """`width` is the number of bytes of an id, 2 or 4, which every id must fit; `end_id`
        stands behind the ids of each document (None: nothing does)."""
        self.documents = documents
        self.width = width
        self.end_id = end_id

    def chunks(
        self, source: Document | Records, start: ResumePoint = SOURCE_START
    ) -> Iterator[Chunk]:
        """The ids of a source, from `start` on, as they come.

        Raises:
            TokctlError: as `DocumentEncoder.encode`.
        """
        is_text = isinstance(source, Document)
        found = self.documents.encode(
            source,
            str(8 * self.width),
            end_id=self.end_id,
            skipped=start.text if is_text else start.records,
        )
        documents, ids = start.documents, start.ids
        for data, count, ends, position in found:
            if not is_text:
                resume = ResumePoint(records=position, documents=position)
            elif self.documents.lines:
                resume = ResumePoint(position, documents=documents)
            else:
                resume = ResumePoint(position, ids=ids)
            yield Chunk(data, count, ends, self.width, resume=resume)
            documents += len(ends)
            ids += count
