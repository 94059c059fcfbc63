"""Sources made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tokctl.core.errors import TokctlError
from tokctl.sources import Archive, Batch, Document, Records


def document(name: str, text: bytes, cut: int = 7) -> Document:
    """A text that comes in blocks of `cut` bytes."""
    blocks = [text[at : at + cut] for at in range(0, len(text), cut)]
    return Document(name, len(text), lambda: iter(blocks))


def records(
    name: str,
    texts: Sequence[bytes],
    counts: Sequence[int] | None = None,
    size: int = 3,
    unit: str = "line",
) -> Records:
    """Records that come `size` at a time; each takes 10 bytes where it lies."""
    read = 0

    def batches() -> Iterator[Batch]:
        nonlocal read
        for at in range(0, len(texts), size):
            some = counts[at : at + size] if counts is not None else None
            read += 10 * len(texts[at : at + size])
            yield Batch(texts[at : at + size], some, at + 1)

    return Records(name, 10 * len(texts), batches, lambda: read, unit=unit)


def archive(name: str, members: Sequence[Document | Records]) -> Archive:
    """An archive of 1,000 bytes, each of whose members must be read before the next."""

    def each() -> Iterator[Document | Records]:
        for member in members:
            state = {"read": False}
            yield _noting(member, state)
            assert state["read"], f"{member.name} was not read to its end"

    return Archive(name, 1000, each, lambda: 1000)


def _noting(member: Document | Records, state: dict[str, bool]) -> Document | Records:
    """The member, which says whether it was read to its end."""

    def noted(parts: Callable[[], Iterator[object]]) -> Iterator[object]:
        yield from parts()
        state["read"] = True

    if isinstance(member, Document):
        return Document(member.name, member.size, lambda: noted(member.blocks))  # type: ignore[arg-type, return-value]
    batches = member.batches
    return Records(member.name, member.size, lambda: noted(batches), member.tell, unit=member.unit)  # type: ignore[arg-type, return-value]


def broken(name: str, text: bytes = b"") -> Document:
    """A file that can't be read to its end."""

    def blocks() -> Iterator[bytes]:
        if text:
            yield text
        raise TokctlError(f"can't read {name} to its end: it vanished", "look for it")

    return Document(name, 100, blocks)
