"""Texts as analyses take them: documents with how often each counts, checked, whole in memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

from tokctl import _native
from tokctl.errors import TokctlError
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
from tokctl.values import cached_property

#: Bytes of documents that are handed on together.
_BATCH = 1 << 20
#: Bytes of a text, each as often as it counts, are fewer: so no count leaves 64 bits.
MOST = 1 << 55


@dataclass(frozen=True)
class Text:
    """One text in memory: a document, or many of them one after the other.

    Nothing that is measured, counted or shown goes from one document to the next.

    Attributes:
        ends: where each document ends in `data`; None: it is one document.
        counts: how often each document counts, from 1 up; None: once.
        is_utf8: each document is known to be.
    """

    name: str
    data: bytes
    ends: Sequence[int] | None = None
    counts: Sequence[int] | None = None
    is_utf8: bool = field(default=False, compare=False)

    @property
    def documents(self) -> int:
        """How many documents it is, each as often as it counts."""
        if self.ends is None:
            return 1
        return len(self.ends) if self.counts is None else sum(self.counts)

    @property
    def size(self) -> int:
        """Bytes, those of each document as often as it counts."""
        if self.counts is None:
            return len(self.data)
        spans = zip(self.spans(), self.counts, strict=True)
        return sum((end - start) * count for (start, end), count in spans)

    def spans(self, first: int = 0) -> Iterator[tuple[int, int]]:
        """Where each document starts and ends, from the document `first` on."""
        ends = (len(self.data),) if self.ends is None else self.ends
        start = ends[first - 1] if first else 0
        for number in range(first, len(ends)):
            yield start, ends[number]
            start = ends[number]

    def document_at(self, place: int) -> int:
        """The number, from 0, of the document that has the byte at `place`."""
        return 0 if self.ends is None else bisect_right(self.ends, place)

    def document(self, number: int) -> bytes:
        """A document, of this number from 0."""
        return self.data[slice(*next(self.spans(number)))]

    def documents_with(self, found: bytes) -> Iterator[int]:
        """The numbers of the documents that have these bytes, which are some."""
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
        """SHA-256 as a model's file has it that was trained on this text alone."""
        digest = sha256()
        if self.ends is None:
            digest.update(self.data)
            return digest.hexdigest()
        for batch in self.batches():
            digest.update(_native.framed(batch.texts, batch.counts))
        return digest.hexdigest()

    def batches(self) -> Iterator[Batch]:
        """The documents, some at a time."""
        spans = list(self.spans())
        first = 0
        while first < len(spans):
            # At least one; and a million empty ones are many, too.
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
        """The text as a source of training."""
        if self.ends is None:
            return Document(self.name, len(self.data), lambda: iter([self.data]))
        size = len(self.data)
        return Records(self.name, size, self.batches, lambda: size)


def checked_batches(sources: Iterable[Source], errors: str | None) -> Iterator[tuple[str, Batch]]:
    """All documents of some sources that count at all, with the name of their source. A source
    that is one document is a batch of one.

    Args:
        errors: what to do with text that is not UTF-8: `strict`, or `replace`, which puts U+FFFD
            in its place; None: bytes are taken as they are.

    Raises:
        TokctlError: text that can't be read, or that is not UTF-8.
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
    """What `checked_batches` is to do with text for a model: one of bytes reads any."""
    return None if tokenizer.recipe.is_byte_level else errors


def count_words(texts: Sequence[Text], pre_tokenizer: str, threads: int) -> dict[bytes, int]:
    """How often the texts have each word, in first-seen order; words are what a named
    pre-tokenizer makes of them, and end where a document ends."""
    counter = _native.Counter(pre_tokenizer, [], threads)
    for text in texts:
        for batch in text.batches():
            counter.feed_documents(batch.texts, batch.counts)
    return dict(counter.finish(1).items())


def read_texts(
    sources: Sequence[str | Path | Source | Text], *, characters: bool, errors: str
) -> list[Text]:
    """Reads paths and sources, each once.

    A path may name many texts (a folder). An archive is one text, of all that is in it.

    Args:
        characters: some model reads characters, so that the texts must be UTF-8.
        errors: `strict`, or `replace`: then all models get the same text, with U+FFFD.

    Raises:
        TokctlError: unreadable text; text that is not UTF-8, naming file, line and byte.
    """
    check_errors(errors)
    opened = [_opened(source) for source in sources]  # each is checked before any is read
    return [
        read_text(source.name, [source], characters=characters, errors=errors)
        for found in opened
        for source in found
    ]


def _opened(given: str | Path | Source | Text) -> Sequence[Source | Text]:
    return open_sources([given]) if isinstance(given, (str, Path)) else [given]


def read_together(
    name: str,
    given: str | Path | Source | Text | Sequence[Source],
    *,
    characters: bool,
    errors: str,
) -> Text:
    """All that a path or sources name, as one text of this name; see `read_texts`."""
    sources: Iterable[Source | Text] = (
        _opened(given)
        if isinstance(given, (str, Path, Text, Document, Records, Archive))
        else given
    )
    return read_text(name, sources, characters=characters, errors=errors)


def read_text(
    name: str, sources: Iterable[Source | Text], *, characters: bool, errors: str
) -> Text:
    """One text of all documents of some sources; see `read_texts`."""
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
        raise TokctlError(
            f"{name} does not fit the memory: texts that are compared are held there whole",
            "compare on a part of it",
        ) from None


def _is_utf8(text: Text) -> bool:
    """Is each document? Then all of it is, and none begins inside a character."""
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
    """Puts documents together, one after the other."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.ends = array("Q")
        self.counts = array("Q")
        self.weighted = False
        self.size = 0  # bytes of `parts`
        self.bytes = 0  # each as often as it counts

    def add(self, texts: Sequence[bytes], counts: Sequence[int] | None, name: str) -> None:
        if counts is not None:
            self.weighted = self.weighted or any(count != 1 for count in counts)
            both = zip(texts, counts, strict=True)
            self.bytes += sum((len(text) + 1) * count for text, count in both)
            if self.bytes >= MOST:
                raise TokctlError(
                    f"{name}: with their counts the texts are too large to be measured",
                    "give smaller counts: figures that are shares stay the same",
                )
        self.parts.append(texts[0] if len(texts) == 1 else b"".join(texts))
        self.ends.extend(accumulate(map(len, texts), initial=self.size))
        del self.ends[-len(texts) - 1]  # where they start
        self.counts.extend([1] * len(texts) if counts is None else counts)
        self.size = self.ends[-1] if self.ends else 0

    def text(self, name: str, *, is_utf8: bool) -> Text:
        data = self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)
        counts = self.counts if self.weighted else None
        one = len(self.ends) == 1 and counts is None
        return Text(name, data, None if one else self.ends, counts, is_utf8)
