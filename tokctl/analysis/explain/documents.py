"""The documents of sources, each whole, for what must see all of one at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokctl.sources import Document, Source, check_utf8, checked_batch, flat

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer


def documents_of(
    tokenizer: Tokenizer, sources: Sequence[Source], errors: str
) -> Iterator[tuple[bytes, int]]:
    """Every document, and how often it counts: from 1 up.

    Raises:
        TokctlError: text that is not UTF-8, for a character model; `errors="replace"` puts
            U+FFFD in its place.
    """
    reads_bytes = tokenizer.recipe.units == "bytes"
    for source in flat(sources):
        if isinstance(source, Document):
            yield b"".join(source.blocks() if reads_bytes else check_utf8(source, errors)), 1
            continue
        for batch in source.batches():
            if not reads_bytes:
                batch = checked_batch(batch, source.name, errors, source.unit)
            if batch.counts is None:
                yield from ((text, 1) for text in batch.texts)
            else:
                both = zip(batch.texts, batch.counts, strict=True)
                yield from ((text, count) for text, count in both if count)
