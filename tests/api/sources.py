"""Sources made by hand, as the readers of `tokctl.sources` make them of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokctl.sources import Archive, Batch, Document, Records


def document(data: bytes, block: int = 7, name: str = "a.txt") -> Document:
    """A text in blocks of so many bytes."""

    def blocks() -> Iterator[bytes]:
        for start in range(0, len(data), block):
            yield data[start : start + block]

    return Document(name, len(data), blocks, prompt=True)


def records(texts: Sequence[bytes], size: int = 3, name: str = "a.jsonl") -> Records:
    """Texts in batches of so many."""

    def batches() -> Iterator[Batch]:
        for start in range(0, len(texts), size):
            yield Batch(texts[start : start + size], first=start + 1)

    return Records(name, sum(map(len, texts)), batches, lambda: 0, prompt=True)


def archive(members: Sequence[Document | Records], name: str = "a.tar") -> Archive:
    return Archive(name, None, lambda: iter(members), lambda: 0)
