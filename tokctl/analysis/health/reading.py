"""The texts that a model is checked on, with their ids."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokctl import _native
from tokctl.sources import Document, Source, check_utf8, checked_batch, flat

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Ids that become Python objects together.
_IDS_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class Read:
    """Documents in memory, and the ids that they are encoded to, each by itself.

    Attributes:
        ids: of all documents, one behind the other.
        offsets: where those of each document begin, and where the last ones end.
        counts: how often each document counts; None: once.
    """

    documents: Sequence[bytes]
    ids: _native.IdArray
    offsets: Sequence[int]
    counts: Sequence[int] | None = None

    def _each(self) -> Iterator[tuple[int, int]]:
        """Bytes and ids of each document, as often as it counts."""
        for number, size in enumerate(map(len, self.documents)):
            count = 1 if self.counts is None else self.counts[number]
            yield size * count, (self.offsets[number + 1] - self.offsets[number]) * count

    @property
    def number(self) -> int:
        """Of the documents, each as often as it counts."""
        return len(self.documents) if self.counts is None else sum(self.counts)

    @property
    def bytes(self) -> int:
        return sum(size for size, _ in self._each())

    @property
    def tokens(self) -> int:
        return sum(tokens for _, tokens in self._each())

    def count_ids(self, counts: Counter[int]) -> None:
        """Adds how often each id is used."""
        if self.counts is None:
            for start in range(0, len(self.ids), _IDS_AT_A_TIME):
                counts.update(self.ids[start : start + _IDS_AT_A_TIME].tolist())
            return
        for number, times in enumerate(self.counts):
            for id_ in self.ids[self.offsets[number] : self.offsets[number + 1]].tolist():
                counts[id_] += times


def read(tokenizer: Tokenizer, sources: Sequence[Source], errors: str, threads: int) -> list[Read]:
    """All documents of the sources, a batch of a source of records together.

    Raises:
        TokctlError: text that is not UTF-8, for a character model; `errors="replace"` puts
            U+FFFD in its place.
    """
    encoder, matcher = tokenizer.encoder, tokenizer.special_matcher("none")
    reads_bytes = tokenizer.recipe.units == "bytes"
    found = []
    for source in flat(sources):
        if isinstance(source, Document):
            blocks = source.blocks() if reads_bytes else check_utf8(source, errors)
            data = b"".join(blocks)
            ids = encoder.array(data, threads, matcher)
            found.append(Read([data], ids, (0, len(ids))))
            continue
        for batch in source.batches():
            if not reads_bytes:
                batch = checked_batch(batch, source.name, errors, source.unit)
            texts, counts = batch.texts, batch.counts
            if counts is not None and 0 in counts:
                kept = [pair for pair in zip(texts, counts, strict=True) if pair[1]]
                texts, counts = [text for text, _ in kept], [count for _, count in kept]
            ids, offsets = encoder.batch_array(texts, threads, matcher)
            found.append(Read(texts, ids, array("q", offsets), counts))
    return found
