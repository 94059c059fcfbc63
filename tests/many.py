"""The same documents as sources of every kind, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from tokctl.sources import Archive, Batch, Document, Records


def files(documents: Sequence[bytes]) -> list[Document]:
    """A source for each; its blocks are cut at any place."""

    def one(number: int, data: bytes) -> Document:
        half = len(data) // 2
        return Document(f"{number}.txt", len(data), lambda: iter([data[:half], data[half:]]))

    return [one(number, data) for number, data in enumerate(documents)]


def records(
    documents: Sequence[bytes],
    counts: Sequence[int] | None = None,
    *,
    name: str = "many.jsonl",
    batch: int = 3,
    unit: str = "line",
) -> Records:
    """All of them in one source."""

    def batches():  # type: ignore[no-untyped-def]
        left = iter(documents)
        first = 0
        while texts := list(islice(left, batch)):
            own = None if counts is None else counts[first : first + batch]
            yield Batch(texts, own, first + 1)
            first += batch

    size = sum(map(len, documents))
    return Records(name, size, batches, lambda: size, unit=unit)


def archive(documents: Sequence[bytes], name: str = "many.tar") -> Archive:
    """Some of them as files, the others as records, in one archive."""
    half = len(documents) // 2
    members: list[Document | Records] = [*files(documents[:half]), records(documents[half:])]
    size = sum(map(len, documents))
    return Archive(name, size, lambda: iter(members), lambda: size)
