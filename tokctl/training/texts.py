"""Texts of every kind of source, to a counter."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import compress

from tokctl import _native
from tokctl.model import Recipe
from tokctl.model.parts import native_parts
from tokctl.sources import (
    BLOCK_SIZE,
    Archive,
    Batch,
    Document,
    Records,
    Source,
    check_utf8,
    checked_batch,
    total_size,
)
from tokctl.sources.blocks import read_ahead
from tokctl.training.counting import Progress, Read, digest_of, finish, memory_limit, scaled, weigh
from tokctl.training.options import Options, available_threads, share


def count(
    sources: Sequence[Source],
    recipe: Recipe,
    options: Options,
    progress: Progress | None = None,
) -> tuple[_native.Counts, Read]:
    """Counts the pre-tokens of all documents of all sources, in first-seen order.

    No pre-token crosses the end of a document. Of records, `options.sample` keeps or drops a
    document as a whole, as it does a line of a text; a batch's counts multiply the weight of
    their source; and a document that counts 0 times is not read.
    """
    weights, scale = weigh([source.name for source in sources], options.weights)
    least = scaled(options.min_count, scale)
    texts = _Texts(recipe, options, progress, total_size(sources))
    for number, source in enumerate(sources):
        texts.read(source, int(weights[number] * scale) if weights else 1)
    counts = finish(texts.counter, least, progress)
    read = Read(texts.documents, texts.bytes, digest_of(texts.digests), tuple(weights), scale)
    return counts, read


class _Texts:
    """Reads sources one after the other, and keeps what is told of them.

    Attributes:
        documents, bytes: read so far; bytes of text, however it lies there.
        digests: of each document that comes in blocks, and of each source of records.
    """

    def __init__(
        self, recipe: Recipe, options: Options, progress: Progress | None, total: int | None
    ) -> None:
        self.threads = options.threads or available_threads()
        parts = native_parts(recipe.pre_tokenizers), native_parts(recipe.normalizers)
        self.counter = _native.Counter(*parts, self.threads, **memory_limit(options))
        self.documents = self.bytes = 0
        self.digests: list[str] = []
        self._errors = options.errors if not recipe.is_byte_level else None
        sampled = share("sample", options.sample)
        self._sampler = _native.LineSampler(sampled, options.seed) if sampled else None
        self._progress = progress
        self._total = total
        self._before = 0  # bytes of the sources that are done, as they lie there

    def read(self, source: Source, weight: int) -> None:
        """Counts all documents of a source, each occurrence `weight` times."""
        self.counter.set_weight(weight)
        start = self.bytes
        tell = source.tell or (lambda: self.bytes - start)
        if isinstance(source, Archive):
            for member in source.members():
                self._read_one(member, tell)
        else:
            self._read_one(source, tell)
        self._before += tell() if source.size is None else source.size

    def _read_one(self, source: Document | Records, tell: Callable[[], int]) -> None:
        digest = hashlib.sha256()
        ready: Generator[tuple[bytes | Batch, int], None, None] = (
            self._blocks(source, digest, tell)
            if isinstance(source, Document)
            else self._batches(source, digest, tell)
        )
        if self.threads > 1 and source.prompt and source.size and source.size > BLOCK_SIZE:
            ready = read_ahead(ready)
        with closing(ready):
            for part, done in ready:
                if isinstance(part, Batch):
                    self.counter.feed_documents(part.texts, part.counts)
                else:
                    self.counter.feed(part)
                if self._progress:
                    self._progress("count", done, self._total)
        if isinstance(source, Document):
            self.documents += 1
            self.counter.end_document()
            if self._sampler:
                self._sampler.end_document()
        self.digests.append(digest.hexdigest())

    def _blocks(
        self, text: Document, digest: hashlib._Hash, tell: Callable[[], int]
    ) -> Generator[tuple[bytes, int], None, None]:
        """The blocks to be counted, and how much has been read of all sources by then."""

        def hashed() -> Generator[bytes, None, None]:
            for block in text.blocks():
                digest.update(block)
                self.bytes += len(block)
                yield block

        watched = Document(text.name, text.size, hashed)
        blocks = hashed() if self._errors is None else check_utf8(watched, self._errors)
        for block in blocks:
            kept = self._sampler.keep(block) if self._sampler else block
            yield kept, self._before + tell()

    def _batches(
        self, records: Records, digest: hashlib._Hash, tell: Callable[[], int]
    ) -> Generator[tuple[Batch, int], None, None]:
        """The documents to be counted, and how much has been read of all sources by then.

        The digest is that of the texts, each behind its length and its count: it is the same
        however they are batched, compressed or written.
        """
        for batch in records.batches():
            given = _without_unread(batch)
            digest.update(_native.framed(given.texts, given.counts))
            self.bytes += sum(map(len, given.texts))
            self.documents += len(given.texts) - (given.counts or []).count(0)
            if self._errors is not None:
                given = checked_batch(given, records.name, self._errors, records.unit)
            yield self._sampled(given), self._before + tell()

    def _sampled(self, batch: Batch) -> Batch:
        if self._sampler is None:
            return batch
        texts, counts = batch.texts, batch.counts
        if counts is not None:
            texts = list(compress(texts, counts))
            counts = [count for count in counts if count]
        kept = self._sampler.choose(len(texts))
        return Batch(
            list(compress(texts, kept)), None if counts is None else list(compress(counts, kept))
        )


def _without_unread(batch: Batch) -> Batch:
    """The batch, where a text that counts 0 times is empty: places keep their numbers."""
    if batch.counts is None or 0 not in batch.counts:
        return batch
    pairs = zip(batch.texts, batch.counts, strict=True)
    texts = [text if count else b"" for text, count in pairs]
    return Batch(texts, batch.counts, batch.first)
