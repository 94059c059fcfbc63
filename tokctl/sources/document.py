"""What text comes from: documents, records, archives of both.

A document is one text: no merge, no pre-token and no token crosses its end.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from tokctl import _native
from tokctl.errors import TokctlError


class Places(NamedTuple):
    """How several processes share out a source that lies in a regular file.

    Attributes:
        of: given a number of bytes, the places where parts of about so many begin, and the end of
            the last: bytes of the file, or numbers of its row groups.
        between: given these places and the number of a part, from 0: its batches; of a document
            a `TextPart`, where a third argument gives the first place in a stretch of it, which
            starts anywhere, where it may be cut.
        unit: what the places count.
    """

    of: Callable[[int], list[int]]
    between: Callable[..., Any]
    unit: str = "bytes"


class Document(NamedTuple):
    """One text that comes in blocks: a file, stdin, a member of an archive.

    Attributes:
        name: for messages, and for people who count tokens file by file.
        size: bytes, as they lie there (compressed ones are fewer than the text's); None if
            that is not known.
        blocks: the text, anew at each call.
        prompt: blocks come without waiting for anyone, so that another thread may ask for them.
        tell: bytes read so far, as they lie there; None: as many as the blocks had.
        note: what should be said of it to a person; "" for nothing.
        places: how it is read in parts; None: it is not.
    """

    name: str
    size: int | None
    blocks: Callable[[], Iterator[bytes]]
    prompt: bool = False
    tell: Callable[[], int] | None = None
    note: str = ""
    places: Callable[[], Places] | None = None


class Batch(NamedTuple):
    """Some documents of a source of records, each whole.

    Attributes:
        texts: in the order of the source; UTF-8 where the source says so itself (JSON).
        counts: how often each stands for itself, from 0 up; None: once each.
        first: the number of the first text in its source, from 1: a line, or a row.
    """

    texts: Sequence[bytes]
    counts: Sequence[int] | None = None
    first: int = 1

    @property
    def size(self) -> int:
        """Bytes of all texts."""
        texts = self.texts
        return texts.size if isinstance(texts, _native.TextColumn) else sum(map(len, texts))


class Records(NamedTuple):
    """Many small documents in one source: the lines of JSON Lines, the rows of a table.

    Attributes:
        name, size, prompt, tell: as a document's; `tell` is always there.
        batches: the documents, some at a time, anew at each call. A batch has up to some
            megabytes, or one document that is longer.
        unit: what a document is called there: `line` or `row`.
        places: how they are read in parts; None: they are not.
    """

    name: str
    size: int | None
    batches: Callable[[], Iterator[Batch]]
    tell: Callable[[], int]
    prompt: bool = False
    unit: str = "line"
    places: Callable[[], Places] | None = None


class Archive(NamedTuple):
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


Source: TypeAlias = Document | Records | Archive


def flat(sources: Iterable[Source]) -> Iterator[Document | Records]:
    """The sources, and in the place of an archive what is in it."""
    for source in sources:
        if isinstance(source, Archive):
            yield from source.members()
        else:
            yield source


def total_size(sources: Sequence[Source]) -> int | None:
    """Bytes of all sources, as they lie there; None if one does not know."""
    sizes = [source.size for source in sources]
    return sum(size for size in sizes if size is not None) if None not in sizes else None


#: What a file can hold; `auto` is what its name and its first bytes say.
FORMATS = ("auto", "text", "jsonl", "parquet", "arrow", "tsv", "tar", "raw")


class Reading(NamedTuple):
    """How sources are read.

    Attributes:
        format: one of `FORMATS`. `raw` takes every byte as it is: nothing is decompressed.
        text_field: the field of records (JSON Lines, tables) that holds the text; `a.b` is the
            field b of the object a. None: `text`.
        include: of the files in a folder, those whose path in it, or whose name, is one of
            these patterns; empty: all that are not hidden.
        exclude: not these, whatever `include` says.
        columns: of a table, each row is a JSON object of those of these columns that it has; and
            JSON Lines are a text, whose lines are such objects. Empty: one field is the text.
    """

    format: str = "auto"
    text_field: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


#: As names and first bytes say.
AUTO = Reading()


def check_errors(errors: str) -> None:
    """TokctlError if nothing is called so that can be done about text that is not UTF-8."""
    if errors not in ("strict", "replace"):
        raise TokctlError(f"errors can't be {errors!r}", "choose strict or replace")


class Utf8Checker:
    """Checks text that comes in blocks to be UTF-8.

    `errors` is `strict` (TokctlError that names file, line and byte) or `replace` (each maximal
    ill-formed sequence becomes U+FFFD, as the Unicode Standard advises).
    """

    def __init__(self, name: str, errors: str) -> None:
        self._name = name
        self._check = None if errors == "replace" else _native.Utf8Check()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, block: bytes) -> bytes:
        """The block, or with `replace` what it has become."""
        if self._check is None:
            return self._decoder.decode(block).encode()
        if place := self._check.feed(block):
            raise invalid_utf8(self._name, *place)
        return block

    def end(self) -> bytes:
        """What the end of the text adds."""
        if self._check is None:
            return self._decoder.decode(b"", True).encode()
        if place := self._check.end():
            raise invalid_utf8(self._name, *place)
        return b""


def check_utf8(document: Document, errors: str | None) -> Iterator[bytes]:
    """The document's blocks, checked to be UTF-8; `errors` as `Utf8Checker` has it, or None for a
    byte-level model, which reads any."""
    return document.blocks() if errors is None else _checked_blocks(document, errors)


def _checked_blocks(document: Document, errors: str) -> Iterator[bytes]:
    checker = Utf8Checker(document.name, errors)
    for block in document.blocks():
        yield checker.feed(block)
    if rest := checker.end():
        yield rest


def invalid_utf8(name: str, line: int, byte: int) -> TokctlError:
    """The error for text that a character-level model can't read; `byte` counts from 0."""
    return TokctlError(
        f"{name}: line {line}, byte {byte} is not UTF-8, and this model reads characters",
        "use --errors replace to put U+FFFD in its place, or a byte-level model",
    )


def checked_batch(batch: Batch, source: Records, errors: str | None) -> Batch:
    """The batch of a source, its texts checked to be UTF-8; `errors` as `check_utf8` has it."""
    column = batch.texts if isinstance(batch.texts, _native.TextColumn) else None
    if errors is None or (column is not None and column.first_not_utf8() is None):
        return batch
    try:
        # A line feed is no part of a character: all together are UTF-8 where each is.
        b"\n".join(batch.texts).decode()
    except UnicodeDecodeError:
        pass
    else:
        return batch
    texts = []
    for number, text in enumerate(batch.texts, batch.first):
        try:
            text.decode()
        except UnicodeDecodeError as error:
            if errors != "replace":
                raise invalid_utf8(
                    f"{source.name}: {source.unit} {number}", 1, error.start
                ) from None
            text = text.decode("utf-8", "replace").encode()
        texts.append(text)
    return Batch(texts, batch.counts, batch.first)
