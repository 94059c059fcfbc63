"""Texts for analyses: weighted documents, checked, whole in memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

from tokctl import _native
from tokctl.core.errors import BadInput, Unsupported
from tokctl.core.values import cached_property
from tokctl.sources import (
    Archive,
    Batch,
    Document,
    Records,
    Source,
    check_errors,
    check_utf8,
    checked_batch,
    flat,
    open_sources,
)
from tokctl.tokenizer import Tokenizer

#: Bytes of the documents in one batch.
_BATCH = 1 << 20
#: Limit of a text's weighted size in bytes, so that no count overflows 64 bits.
MOST = 1 << 55


@dataclass(frozen=True)
class Text:
    """A text in memory: a document, or a sequence of documents.

    Nothing that is measured, counted or shown spans two documents.

    Attributes:
        name: Name for tables and messages.
        data: The bytes of all documents, end to end.
        ends: End offset of each document in `data`; None: the text is one document.
        counts: Weight of each document, at least 1; None: each counts once.
        is_utf8: Whether all documents are known to be UTF-8.
    """

    name: str
    data: bytes
    ends: Sequence[int] | None = None
    counts: Sequence[int] | None = None
    is_utf8: bool = field(default=False, compare=False)

    @property
    def documents(self) -> int:
        """Return the number of documents, counted by weight."""
        if self.ends is None:
            return 1
        return len(self.ends) if self.counts is None else sum(self.counts)

    @property
    def size(self) -> int:
        """Return the number of bytes, counted by the weight of each document."""
        if self.counts is None:
            return len(self.data)
        spans = zip(self.spans(), self.counts, strict=True)
        return sum((end - start) * count for (start, end), count in spans)

    def spans(self, first: int = 0) -> Iterator[tuple[int, int]]:
        """Yield the start and end offset of each document, beginning with document `first`."""
        ends = (len(self.data),) if self.ends is None else self.ends
        start = ends[first - 1] if first else 0
        for number in range(first, len(ends)):
            yield start, ends[number]
            start = ends[number]

    def document_at(self, place: int) -> int:
        """Return the number, from 0, of the document that contains the byte at offset `place`."""
        return 0 if self.ends is None else bisect_right(self.ends, place)

    def document(self, number: int) -> bytes:
        """Return the bytes of the document with this number, from 0."""
        return self.data[slice(*next(self.spans(number)))]

    def documents_with(self, found: bytes) -> Iterator[int]:
        """Yield the numbers of the documents that contain `found`, which must not be empty."""
        at = self.data.find(found)
        while at >= 0:
            number = self.document_at(at)
            end = len(self.data) if self.ends is None else self.ends[number]
            if at + len(found) <= end:
                yield number
                at = end - 1
            at = self.data.find(found, at + 1)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 that a model trained on this text alone has in its training record."""
        digest = sha256()
        if self.ends is None:
            digest.update(self.data)
            return digest.hexdigest()
        for batch in self.batches():
            digest.update(_native.framed(batch.texts, batch.counts))
        return digest.hexdigest()

    def batches(self) -> Iterator[Batch]:
        """Yield the documents in batches of about 1 MiB."""
        spans = list(self.spans())
        first = 0
        while first < len(spans):
            # At least one document per batch, and a limited number of empty ones.
            start = spans[first][0]
            last = first + 1
            if self.ends is not None:
                last = max(last, bisect_left(self.ends, start + _BATCH, first))
                last = min(last, first + _BATCH // 64)
            counts = None if self.counts is None else self.counts[first:last]
            documents = [self.data[start:end] for start, end in spans[first:last]]
            yield Batch(documents, counts, first + 1)
            first = last

    def source(self) -> Document | Records:
        """Return the text as a source of training."""
        if self.ends is None:
            return Document(self.name, len(self.data), lambda: iter([self.data]))
        size = len(self.data)
        return Records(self.name, size, self.batches, lambda: size)


def checked_batches(sources: Iterable[Source], errors: str | None) -> Iterator[tuple[str, Batch]]:
    """Yield the documents of some sources that count at least once, with the name of their source.

    A source that is one document gives a batch of one.

    Args:
        sources: Documents, sources of records and archives.
        errors: Treatment of text that is not UTF-8: `strict`, or `replace`, which puts U+FFFD in
            its place; None: bytes are not checked.

    Raises:
        TokctlError: A text can't be read, or is not UTF-8.
    """
    for source in flat(sources):
        if isinstance(source, Document):
            yield source.name, Batch([b"".join(check_utf8(source, errors))])
            continue
        for batch in source.batches():
            batch = checked_batch(batch, source, errors)
            if batch.counts is not None and 0 in batch.counts:
                kept = [pair for pair in zip(batch.texts, batch.counts, strict=True) if pair[1]]
                batch = Batch([text for text, _ in kept], [count for _, count in kept])
            yield source.name, batch


def errors_of(tokenizer: Tokenizer, errors: str) -> str | None:
    """Return `errors` for `checked_batches`, or None for a model that reads bytes."""
    return None if tokenizer.recipe.is_byte_level else errors


def count_words(texts: Sequence[Text], pre_tokenizer: str, threads: int) -> dict[bytes, int]:
    """Count the words of texts, in first-seen order.

    Words are the pre-tokens of a named pre-tokenizer, and end at the end of a document.
    """
    counter = _native.Counter(pre_tokenizer, [], threads)
    for text in texts:
        for batch in text.batches():
            counter.feed_documents(batch.texts, batch.counts)
    return dict(counter.finish(1).items())


def read_texts(
    sources: Sequence[str | Path | Source | Text], *, characters: bool, errors: str
) -> list[Text]:
    """Read paths and sources, each once.

    A path can name many texts (a folder). An archive is one text with all of its documents.

    Args:
        sources: Paths, open sources, or texts that are in memory.
        characters: Whether some model reads characters, so that the texts must be UTF-8.
        errors: `strict`, or `replace`: all models then get the same text, with U+FFFD.

    Raises:
        TokctlError: A text can't be read, or is not UTF-8; the message names file, line and byte.
    """
    check_errors(errors)
    opened = [_opened(source) for source in sources]  # check every path before any is read
    return [
        read_text(source.name, [source], characters=characters, errors=errors)
        for found in opened
        for source in found
    ]


def _opened(given: str | Path | Source | Text) -> Sequence[Source | Text]:
    """Return the sources that a path names, or the given source or text itself."""
    return open_sources([given]) if isinstance(given, (str, Path)) else [given]


def read_together(
    name: str,
    given: str | Path | Source | Text | Sequence[Source],
    *,
    characters: bool,
    errors: str,
) -> Text:
    """Read everything that a path or sources name as one text of this name; see `read_texts`."""
    sources: Iterable[Source | Text] = (
        _opened(given)
        if isinstance(given, (str, Path, Text, Document, Records, Archive))
        else given
    )
    return read_text(name, sources, characters=characters, errors=errors)


def read_text(
    name: str, sources: Iterable[Source | Text], *, characters: bool, errors: str
) -> Text:
    """Read all documents of some sources as one text of this name; see `read_texts`."""
    given = list(sources)
    if len(given) == 1 and isinstance(given[0], Text):
        text = replace(given[0], name=name)
        if not characters or text.is_utf8 or _is_utf8(text):
            return text
    documents = _Collector()
    opened = [one.source() if isinstance(one, Text) else one for one in given]
    try:
        for source, batch in checked_batches(opened, errors if characters else None):
            documents.add(batch.texts, batch.counts, source)
        return documents.text(name, is_utf8=characters)
    except MemoryError:
        raise Unsupported(
            f"{name} does not fit in memory, where compared texts are held whole",
            "compare on a part of the text",
            "out-of-memory",
        ) from None


def _is_utf8(text: Text) -> bool:
    """Return whether each document is UTF-8.

    The whole text must be UTF-8, and no document may begin inside a character.
    """
    if text.ends is not None and any(
        text.data[end] & 0xC0 == 0x80 for end in text.ends if end < len(text.data)
    ):
        return False
    try:
        text.data.decode()
    except UnicodeDecodeError:
        return False
    return True


class _Collector:
    """Collects documents end to end into one text."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.ends = array("Q")
        self.counts = array("Q")
        self.weighted = False
        self.size = 0  # bytes in `parts`
        self.bytes = 0  # weighted size, with one more byte per document

    def add(self, texts: Sequence[bytes], counts: Sequence[int] | None, name: str) -> None:
        """Append documents with their weights; `name` is the source's name for messages."""
        if counts is not None:
            self.weighted = self.weighted or any(count != 1 for count in counts)
            both = zip(texts, counts, strict=True)
            self.bytes += sum((len(text) + 1) * count for text, count in both)
            if self.bytes >= MOST:
                raise BadInput(
                    f"{name}: the texts are too large to measure with these counts",
                    "scale all counts down: metrics that are shares stay the same",
                    "too-large",
                )
        self.parts.append(texts[0] if len(texts) == 1 else b"".join(texts))
        self.ends.extend(accumulate(map(len, texts), initial=self.size))
        del self.ends[-len(texts) - 1]  # drop the start of the first document
        self.counts.extend([1] * len(texts) if counts is None else counts)
        self.size = self.ends[-1] if self.ends else 0

    def text(self, name: str, *, is_utf8: bool) -> Text:
        """Return the collected documents as a text of this name."""
        data = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        counts = self.counts if self.weighted else None
        one = len(self.ends) == 1 and counts is None
        return Text(name, data, None if one else self.ends, counts, is_utf8)
