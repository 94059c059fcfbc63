"""From sources to chunks of ids, by the native encoder."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tokctl._native import IdWriter
from tokctl.errors import TokctlError
from tokctl.idfiles.chunks import SOURCE_START, Chunk, ResumePoint
from tokctl.sources import Batch, Document, Records, check_utf8, checked_batch
from tokctl.tokenizer.encoding import no_id_in

if TYPE_CHECKING:
    from tokctl._native import Matchers
    from tokctl.tokenizer import Special, Tokenizer
    from tokctl.tokenizer.described import Described

#: Bytes of text that one thread encodes at a time: what is written for them fits into the
#: processor's cache, and the system has no new memory to clear.
PART = 1 << 18


@dataclass
class NativeEncoder:
    """How documents become ids.

    Attributes:
        width: bytes of an id in the chunks: 2 or 4. Every id must fit.
        last_id: stands behind the ids of each document; None: nothing does.
        lines: each line of a document is a document.
        special: special tokens that a text may spell.
        errors: `strict` or `replace`, for text that is not UTF-8 (character models).
        threads: share out each block, or the documents of a batch.
        bytes_read: of all texts so far, as they were before any replacement.
        tokens: of all documents so far; `last_id` is one.
    """

    tokenizer: Tokenizer
    width: int
    last_id: int | None = None
    lines: bool = False
    special: Special = "none"
    errors: str = "strict"
    threads: int = 1
    bytes_read: int = 0
    tokens: int = 0

    def chunks(
        self, source: Document | Records, start: ResumePoint = SOURCE_START
    ) -> Iterator[Chunk]:
        """The ids of a source, from `start` on, as they come.

        Raises:
            TokctlError: naming the source and the line or row: text that is not UTF-8, a
                character that has no id, a source that can't be read.
        """
        if isinstance(source, Records):
            chunks = self._of_records(source, start)
        elif self.lines:
            chunks = self._of_lines(source, start)
        else:
            chunks = self._of_document(source, start)
        for chunk in chunks:
            self.tokens += chunk.count
            yield chunk

    def _of_document(self, document: Document, start: ResumePoint) -> Iterator[Chunk]:
        at_once = self.tokenizer.recipe.normalizers or self._matcher
        fed = _Feeding(self, document, "nowhere" if at_once else "pieces", start)
        ids = start.ids
        for data, count, text, is_last in fed:
            ends: tuple[int, ...] = ()
            if is_last:
                if self.last_id is not None:
                    data += self.last_id.to_bytes(self.width, "little")
                    count += 1
                ends = (count,)
            resume = ResumePoint(text, ids=ids)
            ids += count
            yield Chunk(data, count, ends, self.width, resume=resume)

    def _of_lines(self, document: Document, start: ResumePoint) -> Iterator[Chunk]:
        fed = _Feeding(self, document, "lines", start)
        documents = start.documents
        for data, count, text, _ in fed:
            ends = array("q", fed.writer.ends())
            resume = ResumePoint(text, documents=documents)
            documents += len(ends)
            yield Chunk(data, count, ends, self.width, resume=resume)

    def _of_records(self, source: Records, start: ResumePoint) -> Iterator[Chunk]:
        records = 0
        for batch in source.batches():
            first = max(0, start.records - records)
            resume = ResumePoint(records=records + first, documents=records + first)
            records += len(batch.texts)
            if first >= len(batch.texts):
                continue
            if first:
                batch = Batch(batch.texts[first:], None, batch.first + first)
            yield self._of_batch(batch, source, resume)

    def _of_batch(self, batch: Batch, source: Records, resume: ResumePoint) -> Chunk:
        self.bytes_read += sum(map(len, batch.texts))
        batch = readable(self.tokenizer, batch, source, self.errors)
        data, ends, lacking = self.tokenizer.encoder.rows(
            batch.texts, self.threads, self._matcher, str(8 * self.width), self.last_id
        )
        if lacking is not None:
            where = f"{source.name}: {source.unit} {batch.first + lacking}"
            raise no_id_in(self.tokenizer, batch.texts[lacking], self.special, where)
        return Chunk(data, len(data) // self.width, array("q", ends), self.width, resume=resume)

    def blocks(self, document: Document) -> Iterator[bytes]:
        """The document's blocks, which this model can read; TokctlError where it can't."""

        def counted() -> Iterator[bytes]:
            for block in document.blocks():
                self.bytes_read += len(block)
                yield block

        if self.tokenizer.recipe.is_byte_level:
            return counted()
        return check_utf8(Document(document.name, document.size, counted), self.errors)

    @cached_property
    def _matcher(self) -> Matchers | None:
        return self.tokenizer.special_matcher(self.special)


class _Feeding:
    """A document that goes to an `IdWriter` part by part: what comes back each time, how many
    ids that is, where in the text the encoder had been before, and whether it is the last."""

    def __init__(self, encoder: NativeEncoder, document: Document, cuts: str, start: ResumePoint):
        self.encoder = encoder
        self.document = document
        self.cuts = cuts
        self.start = start
        self.lines = 0  # that were passed over
        self.writer = IdWriter(
            encoder.tokenizer.encoder,
            encoder._matcher,
            cuts=cuts,
            form=str(8 * encoder.width),
            threads=encoder.threads,
            last_id=encoder.last_id if cuts == "lines" else None,
        )

    def __iter__(self) -> Iterator[tuple[bytes, int, int, bool]]:
        threads = self.encoder.threads
        blocks = self._rest(self.encoder.blocks(self.document))
        if self.cuts == "nowhere":
            yield *self._fed(b"".join(blocks), 0, None, last=True), 0, True
            return
        text = given = self.start.text
        for block in blocks:
            part = PART if threads == 1 else len(block)
            for start in range(0, len(block), part or 1):
                end = min(start + part, len(block))
                data, count = self._fed(block, start, end)
                yield data, count, text, False
                given += end - start
                text = given - self.writer.waiting
        yield *self._fed(b"", 0, 0, last=True), text, True

    def _rest(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """What was not encoded before."""
        left = self.start.text
        for block in blocks:
            if left:
                passed = min(left, len(block))
                left -= passed
                self.lines += block.count(b"\n", 0, passed)
                block = block[passed:]
            if block:
                yield block

    def _fed(
        self, block: bytes, start: int, end: int | None, *, last: bool = False
    ) -> tuple[bytes, int]:
        data, count, lacking = self.writer.feed(block, last, start, end)
        if lacking is not None:
            encoder = self.encoder
            line, text = lacking
            line += self.lines + 1
            raise no_id_in(encoder.tokenizer, text, encoder.special, self.document.name, line)
        return data, count


def readable(tokenizer: Tokenizer, batch: Batch, source: Records, errors: str) -> Batch:
    """The batch, which this model can read; TokctlError, naming line or row, where it can't."""
    if tokenizer.recipe.is_byte_level:
        return batch
    return checked_batch(batch, source.name, errors, source.unit)


def eos_id(tokenizer: Described, token: str) -> int:
    """The id of the token that stands behind each document, by its text.

    Raises:
        TokctlError: the model has no such token.
    """
    found = tokenizer.special_ids.get(token)
    if found is None:
        found = tokenizer.vocabulary.get(token)
    if found is None:
        known = ", ".join(list(tokenizer.special_ids)[:50])
        hint = (
            f"its special tokens are: {known}"
            if known
            else "it has no special token at all: train it with --special '<|endoftext|>'"
        )
        raise TokctlError(f"--eos: {token!r} is no token of this model", hint)
    return found
