"""Sources that tell how far they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tokctl.sources.document import total_size

if TYPE_CHECKING:
    from tokctl.sources.document import Document


def watched(
    tell: Callable[[str, int, int | None], None], phase: str, texts: Sequence[Document]
) -> Iterator[Document]:
    """The documents, which tell how many bytes of them all are read, of how many, as they lie
    on the disk. Each must be read before the next is asked for."""
    total = total_size(texts)
    before = 0

    def reading(text: Document) -> Iterator[bytes]:
        nonlocal before
        read = 0
        for block in text.blocks():
            read = text.tell() if text.tell else read + len(block)
            yield block
            tell(phase, before + read, total)
        before += read

    tell(phase, 0, total)
    for text in texts:
        yield replace(text, blocks=partial(reading, text))
