"""The corpus of a recommendation, or a sample of it, in a training part and a held-out part."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate

from tokctl.analysis.held_out import SHARE, split
from tokctl.analysis.texts import Text
from tokctl.core.errors import BadInput, BadOption
from tokctl.core.humanize import listed
from tokctl.sources import Document, Source, check_utf8, checked_batch, flat
from tokctl.training.counting import Progress

#: Maximum bytes of a corpus that are kept in memory; a longer corpus is sampled.
SAMPLE_SIZE = 20 << 20


#: Approximate bytes of a piece of the sample, which ends at a line end.
_PIECE = 1 << 16
#: With at least this many documents, whole documents are held out, not blocks of each.
_MANY = 20


@dataclass(frozen=True)
class HeldOutCorpus:
    """A corpus, or a sample of it, in a training part and a held-out part.

    Attributes:
        documents: Number of documents that were read.
        bytes: Number of bytes that were read.
        sampled: Bytes of the sample; None: the whole corpus is used.
        training: Texts to train candidates on.
        measured: Texts to measure candidates on.
        unit: Unit of the held-out part: `documents`, `paragraphs`, `lines`, or `pieces` (of a
            sample, or of text without lines); empty if another text is measured.
    """

    documents: int
    bytes: int
    sampled: int | None
    training: tuple[Text, ...]
    measured: tuple[Text, ...]
    unit: str

    @property
    def training_bytes(self) -> int:
        """Return the size of the training part in bytes."""
        return sum(text.size for text in self.training)

    @property
    def measured_bytes(self) -> int:
        """Return the size of the held-out part in bytes."""
        return sum(text.size for text in self.measured)


def _pieces(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a document in pieces, cut at line ends if possible, whatever its blocks are."""
    remainder = b""
    for block in blocks:
        remainder += block
        start = 0
        while len(remainder) - start > 2 * _PIECE:
            end = remainder.find(b"\n", start + _PIECE, start + 2 * _PIECE) + 1
            if not end:
                end = start + 2 * _PIECE
                # A UTF-8 character has at most three bytes after its first.
                end -= next(
                    (overlap for overlap in range(4) if remainder[end - overlap] & 0xC0 != 0x80), 0
                )
            yield remainder[start:end]
            start = end
        remainder = remainder[start:]
    if remainder:
        yield remainder


class _Sampler:
    """Keeps pieces up to a total size: those whose numbers have the smallest hashes.

    Each piece of the corpus is equally likely to be kept.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.room = size
        self.seed = seed
        self.kept: list[tuple[int, int, int, bytes, int]] = []
        self.most = 1 << 64
        self.pieces = 0

    def add(self, document: int, piece: bytes, count: int) -> None:
        """Add a piece of a document; drop the largest hashes if the total size is exceeded."""
        number, self.pieces = self.pieces, self.pieces + 1
        key = int.from_bytes(sha256(f"{self.seed}:{number}".encode()).digest()[:8], "big")
        if key >= self.most:
            return
        heapq.heappush(self.kept, (-key, number, document, piece, count))
        self.room -= len(piece)
        while self.room < 0:
            dropped = heapq.heappop(self.kept)
            self.most = -dropped[0]
            self.room += len(dropped[3])

    def documents(self) -> list[tuple[bytes, int]]:
        """Return the kept documents in order, with their counts; pieces if some were dropped."""
        sampled = sorted(self.kept, key=lambda entry: entry[1])
        if self.is_all:
            pieces_by_document: dict[int, list[bytes]] = {}
            counts: dict[int, int] = {}
            for _, _, document, piece, count in sampled:
                pieces_by_document.setdefault(document, []).append(piece)
                counts[document] = count
            return [
                (b"".join(parts), counts[document])
                for document, parts in pieces_by_document.items()
            ]
        return [(piece, count) for _, _, _, piece, count in sampled]

    @property
    def is_all(self) -> bool:
        """Return whether no piece was dropped."""
        return self.most == 1 << 64


def _read(
    sources: Sequence[Source], size: int, seed: int, errors: str, progress: Progress | None
) -> tuple[_Sampler, int, int]:
    """Return a sample of the sources, and their numbers of documents and bytes."""
    sampler, documents, read = _Sampler(size, seed), 0, 0
    for source in flat(sources):
        if isinstance(source, Document):
            for piece in _pieces(check_utf8(source, errors)):
                sampler.add(documents, piece, 1)
                read += len(piece)
                if progress:
                    progress("count", read, None)
            documents += 1
            continue
        for raw_batch in source.batches():
            batch = checked_batch(raw_batch, source, errors)
            counts = batch.counts or [1] * len(batch.texts)
            for text, count in zip(batch.texts, counts, strict=True):
                for piece in _pieces([text]) if count else ():
                    sampler.add(documents, piece, count)
                read += len(text)
                documents += 1
            if progress:
                progress("count", read, None)
    return sampler, documents, read


def _text(documents: Sequence[tuple[bytes, int]]) -> Text:
    """Return documents with counts as one text."""
    data = b"".join(text for text, _ in documents)
    text_ends = array("Q", accumulate(len(text) for text, _ in documents))
    counts = array("Q", (count for _, count in documents))
    weighted = any(count != 1 for count in counts)
    return Text("", data, text_ends, counts if weighted else None, is_utf8=True)


def read_corpus(
    sources: Sequence[Source],
    *,
    held_out: float | Sequence[Source] = SHARE,
    seed: int = 0,
    sample_size: int = SAMPLE_SIZE,
    errors: str = "strict",
    progress: Progress | None = None,
) -> HeldOutCorpus:
    """Read sources once, sample them if they are too long, and hold a part of them out.

    The part is held out as in `tokctl.analysis.held_out`.

    Args:
        sources: Sources of the corpus.
        held_out: Share to hold out, or other sources to measure on.
        seed: Random seed for the sample and the held-out part.
        sample_size: Maximum number of bytes to keep.
        errors: `strict` or `replace`, for text that is not UTF-8.
        progress: Called with (`count`, bytes read, None).

    Raises:
        TokctlError: The sources are unreadable or empty, a text is not UTF-8, or the text is too
            short to hold a part out.
    """
    sampler, count, read = _read(sources, sample_size, seed, errors, progress)
    documents = sampler.documents()
    if not documents and read:
        raise BadOption(
            f"a sample of {sample_size:,} bytes is too small: no piece of the text fits into it",
            f"pieces have up to {2 * _PIECE >> 10} kB: take a larger sample (--sample-size)",
            "bad-value",
        )
    if not documents:
        raise BadInput("the text is empty", "name a text to train a tokenizer on")
    sampled = None if sampler.is_all else sum(len(text) for text, _ in documents)
    if not isinstance(held_out, (int, float)):
        held_out_text, _, _ = _read(held_out, sample_size, seed, errors, progress)
        if not held_out_text.kept:
            raise BadInput("the text to measure on is empty", "name another with --held-out")
        parts = [_text(documents)], [_text(held_out_text.documents())], ""
    else:
        parts = _split_held_out(documents, held_out, seed)
    training, measured, unit = parts
    unit = "pieces" if unit and sampled is not None else unit
    return HeldOutCorpus(count, read, sampled, tuple(training), tuple(measured), unit)


def _split_held_out(
    documents: Sequence[tuple[bytes, int]], share: float, seed: int
) -> tuple[list[Text], list[Text], str]:
    """Return the texts to train on, the held-out texts, and the unit of the held-out part."""
    if not share:
        raise BadOption(
            "nothing is held out: on its own training text a larger vocabulary always seems better",
            "hold out a share of the text: --held-out 0.1",
            "bad-value",
        )
    if len(documents) < _MANY:
        texts = [Text("", text, None, None, is_utf8=True) for text, _ in documents]
        texts = [
            text if count == 1 else _text([(text.data, count)])
            for text, (_, count) in zip(texts, documents, strict=True)
        ]
        splits = [split(text, share, seed=seed) for text in texts]
        if units := {part.unit for part in splits if part.unit}:
            measured = [part.measured for part in splits if part.unit]
            return [part.training for part in splits], measured, listed(sorted(units))
    pieces = [(piece, count) for text, count in documents for piece in _pieces([text])]
    for unit, parts in (("documents", documents), ("pieces", pieces)):
        part = split(_text(parts), share, seed=seed)
        if part.unit:
            return [part.training], [part.measured], unit
    raise BadInput(
        "the text is too short: no part of it can be held out",
        "give more of it: candidates are measured on text that they were not trained on",
    )
