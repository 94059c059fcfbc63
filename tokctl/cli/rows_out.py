"""Chunks for files of ids, made text by text: where something is put around each text, or each is
a line of jsonl."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from tokctl.idfiles.chunks import SOURCE_START, Chunk, ResumePoint
from tokctl.sources import Document, Records

if TYPE_CHECKING:
    from tokctl.cli.forms import Forms


class RowEncoder:
    """An encoder of `tokctl.idfiles.writer`: each row is a document there."""

    def __init__(self, forms: Forms, *, lines: bool) -> None:
        """With `lines`, each line of a document is a text."""
        self._forms = forms
        self._lines = lines
        self._width = 0 if forms.form == "jsonl" else forms.width

    def chunks(
        self, source: Document | Records, start: ResumePoint = SOURCE_START
    ) -> Iterator[Chunk]:
        """The rows of a source, from `start` on."""
        forms = self._forms
        forms.texts_done = max(forms.texts_done, start.drawn)
        resume = start
        for texts, read, records, first, unit in self._texts(source, start):
            resume = resume._replace(text=read, records=records, drawn=forms.texts_done)
            found = forms.rows(texts, source.name, first, unit)
            chunk = self._chunk([row for rows in found for row in rows], resume)
            resume = resume._replace(documents=resume.documents + len(chunk.ends))
            yield chunk

    def _chunk(self, rows: Sequence[tuple[bytes, int]], resume: ResumePoint) -> Chunk:
        ends = array("q", accumulate(count for _, count in rows))
        count = ends[-1] if ends else 0
        self._forms.tokens += count
        end = b"" if self._width else b"\n"
        shown = [text + end for text, _ in rows]
        lines = () if self._width else array("q", accumulate(map(len, shown)))
        return Chunk(b"".join(shown), count, ends, self._width, lines, resume=resume)

    def _texts(
        self, source: Document | Records, start: ResumePoint
    ) -> Iterator[tuple[Sequence[bytes], int, int, int, str | None]]:
        """Some texts; how far their document, or source of records, had been read before them; the
        number of the first in it, and what that is a number of (None: lines)."""
        from tokctl.cli.texts_out import batches, portions
        from tokctl.idfiles.encoding import readable

        forms = self._forms
        if isinstance(source, Records):
            records = 0
            for batch in batches(source):
                passed = max(0, start.records - records)
                texts = readable(forms.tokenizer, batch, source, forms.errors).texts[passed:]
                forms.bytes_read += sum(map(len, batch.texts[passed:]))
                if texts:
                    yield texts, 0, records + passed, batch.first + passed, source.unit
                records += len(batch.texts)
            return
        if not self._lines:
            yield [b"".join(forms.blocks(source))], 0, 0, 1, None
            return
        read, line = 0, 1
        for block in portions(forms, source):
            if passed := min(max(0, start.text - read), len(block)):
                read, line = read + passed, line + block.count(b"\n", 0, passed)
                block = block[passed:]
            if block:
                lines = block[: -1 if block.endswith(b"\n") else None].split(b"\n")
                yield lines, read, 0, line, None
            read, line = read + len(block), line + block.count(b"\n")
