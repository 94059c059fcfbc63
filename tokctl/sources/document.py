"""What text comes from: documents, records, archives of both.

A document is one text: no merge, no pre-token and no token crosses its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tokctl.values import Fixed


@dataclass(init=False, eq=False, repr=False)
class Document(Fixed):
    """One text that comes in blocks: a file, stdin, a member of an archive.

    Attributes:
        name: for messages, and for people who count tokens file by file.
        size: bytes, as they lie there (compressed ones are fewer than the text's); None where
            that is not known.
        blocks: the text, anew at each call.
        prompt: blocks come without waiting for anyone, so that another thread may ask for them.
        tell: bytes read so far, as they lie there; None: as many as the blocks had.
    """

    name: str
    size: int | None
    blocks: Callable[[], Iterator[bytes]]
    prompt: bool = False
    tell: Callable[[], int] | None = None

    def __init__(
        self,
        name: str,
        size: int | None,
        blocks: Callable[[], Iterator[bytes]],
        prompt: bool = False,
        tell: Callable[[], int] | None = None,
    ) -> None:
        self.__dict__.update(name=name, size=size, blocks=blocks, prompt=prompt, tell=tell)


@dataclass(init=False, eq=False, repr=False)
class Batch(Fixed):
    """Some documents of a source of records, each whole.

    Attributes:
        texts: in the order of the source; UTF-8 where the source says so itself (JSON).
        counts: how often each stands for itself, from 0 up; None: once each.
        first: the number of the first text in its source, from 1: a line, or a row.
    """

    texts: Sequence[bytes]
    counts: Sequence[int] | None = None
    first: int = 1

    def __init__(
        self,
        texts: Sequence[bytes],
        counts: Sequence[int] | None = None,
        first: int = 1,
    ) -> None:
        self.__dict__.update(texts=texts, counts=counts, first=first)


@dataclass(init=False, eq=False, repr=False)
class Records(Fixed):
    """Many small documents in one source: the lines of JSON Lines, the rows of a table.

    Attributes:
        name, size, prompt, tell: as a document's; `tell` is always there.
        batches: the documents, some at a time, anew at each call. A batch has up to some
            megabytes, or one document that is longer.
        unit: what a document is called there: `line` or `row`.
    """

    name: str
    size: int | None
    batches: Callable[[], Iterator[Batch]]
    tell: Callable[[], int]
    prompt: bool = False
    unit: str = "line"

    def __init__(
        self,
        name: str,
        size: int | None,
        batches: Callable[[], Iterator[Batch]],
        tell: Callable[[], int],
        prompt: bool = False,
        unit: str = "line",
    ) -> None:
        self.__dict__.update(
            name=name, size=size, batches=batches, tell=tell, prompt=prompt, unit=unit
        )


@dataclass(init=False, eq=False, repr=False)
class Archive(Fixed):
    """Many sources in one stream, such as the files of a tar; each is read before the next is
    asked for.

    Attributes:
        name, size, prompt, tell: as a document's; `tell` is always there.
        members: the sources, anew at each call.
    """

    name: str
    size: int | None
    members: Callable[[], Iterator[Document | Records]]
    tell: Callable[[], int]
    prompt: bool = False

    def __init__(
        self,
        name: str,
        size: int | None,
        members: Callable[[], Iterator[Document | Records]],
        tell: Callable[[], int],
        prompt: bool = False,
    ) -> None:
        self.__dict__.update(name=name, size=size, members=members, tell=tell, prompt=prompt)


Source: TypeAlias = Document | Records | Archive


def flat(sources: Iterable[Source]) -> Iterator[Document | Records]:
    """The sources, and in the place of an archive what is in it."""
    for source in sources:
        if isinstance(source, Archive):
            yield from source.members()
        else:
            yield source


def total_size(sources: Sequence[Source]) -> int | None:
    """Bytes of all sources, as they lie there; None where one does not know."""
    sizes = [source.size for source in sources]
    return sum(size for size in sizes if size is not None) if None not in sizes else None
