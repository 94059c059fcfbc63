"""Types of sources: documents, records, and archives of both.

A document is one text: no merge, no pre-token and no token crosses its end.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from tokctl import _native
from tokctl.core.errors import BadInput, BadOption, TokctlError


class Splitter(NamedTuple):
    """Functions that divide a source in a regular file between several processes.

    Attributes:
        boundaries: function of a number of bytes; returns the starts of parts of about this size,
            and the end of the last part: bytes of the file, or numbers of row groups.
        read: function of these starts and the index of a part; returns the batches of the part.
            For a document it returns a `TextPart`, and its third argument is a function that finds
            the first position in any stretch of the text where the document may be cut.
        unit: what the starts count.
    """

    boundaries: Callable[[int], list[int]]
    read: Callable[..., Any]
    unit: str = "bytes"


class Document(NamedTuple):
    """A text that comes in blocks: a file, stdin, or a member of an archive.

    Attributes:
        name: name in messages, and in counts by file.
        size: size in bytes as stored (possibly compressed); None if unknown.
        blocks: function that returns the text from its start.
        prompt: whether blocks come without waiting for a person or a program, so that another
            thread may read ahead.
        tell: function that returns the bytes read so far, as stored; None: count the blocks.
        note: sentence to tell the user about the text; "" for nothing.
        splitter: function that returns how to read the text in parts; None: only as a whole.
    """

    name: str
    size: int | None
    blocks: Callable[[], Iterator[bytes]]
    prompt: bool = False
    tell: Callable[[], int] | None = None
    note: str = ""
    splitter: Callable[[], Splitter] | None = None


class Batch(NamedTuple):
    """Several whole documents of a source of records.

    Attributes:
        texts: texts in the order of the source; UTF-8 if the format guarantees it (JSON).
        counts: number of times that each text counts, from 0 up; None: once each.
        first: number of the first text in its source, from 1: a line, or a row.
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
    """A source of many small documents: the lines of JSON Lines, or the rows of a table.

    Attributes:
        name: name in messages.
        size: size in bytes as stored; None if unknown.
        batches: function that returns the documents from the start. A batch has up to a few
            megabytes, or one longer document.
        tell: function that returns the bytes read so far, as stored.
        prompt: whether batches come without waiting for a person or a program.
        unit: name of a document in messages: `line` or `row`.
        splitter: function that returns how to read the source in parts; None: only as a whole.
    """

    name: str
    size: int | None
    batches: Callable[[], Iterator[Batch]]
    tell: Callable[[], int]
    prompt: bool = False
    unit: str = "line"
    splitter: Callable[[], Splitter] | None = None


class Archive(NamedTuple):
    """Several sources in one stream, such as the files of a tar.

    Each source is read before the next one is requested.

    Attributes:
        name: name in messages.
        size: size in bytes as stored; None if unknown.
        members: function that returns the sources from the start.
        tell: function that returns the bytes read so far, as stored.
        prompt: whether members come without waiting for a person or a program.
    """

    name: str
    size: int | None
    members: Callable[[], Iterator[Document | Records]]
    tell: Callable[[], int]
    prompt: bool = False


Source: TypeAlias = Document | Records | Archive


def flat(sources: Iterable[Source]) -> Iterator[Document | Records]:
    """Yield the sources, with the members of archives in place of the archives."""
    for source in sources:
        if isinstance(source, Archive):
            yield from source.members()
        else:
            yield source


def total_size(sources: Sequence[Source]) -> int | None:
    """Return the bytes of all sources as stored; None if the size of any source is unknown."""
    sizes = [source.size for source in sources]
    return sum(size for size in sizes if size is not None) if None not in sizes else None


#: Formats of files. `auto` finds the format from the name and the first bytes.
FORMATS = ("auto", "text", "jsonl", "parquet", "arrow", "tsv", "tar", "raw")


class ReadOptions(NamedTuple):
    """Options for reading sources.

    Attributes:
        format: one of `FORMATS`. `raw` reads all bytes as they are, without decompression.
        text_field: field of records (JSON Lines, tables) that holds the text; `a.b` is the field b
            of the object a. None: `text`.
        include: patterns for files in folders. A file is read if a pattern matches its name or its
            path in the folder. Empty: all files that are not hidden.
        exclude: patterns for files that are not read, even if `include` matches.
        columns: names of columns. Each row of a table becomes a JSON object of those columns that
            it has; JSON Lines are read as one text with such objects as lines. Empty: one field is
            the text.
    """

    format: str = "auto"
    text_field: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


#: Reading by names and first bytes.
AUTO = ReadOptions()


def check_errors(errors: str) -> None:
    """Raise TokctlError if `errors` is not `strict` or `replace`."""
    if errors not in ("strict", "replace"):
        raise BadOption(
            f"invalid value {errors!r} for errors", "choose strict or replace", "bad-value"
        )


class Utf8Checker:
    """Checker for text that comes in blocks and must be UTF-8."""

    def __init__(self, name: str, errors: str) -> None:
        """Start before the first block.

        Args:
            name: name of the text in messages.
            errors: `strict`: TokctlError that names file, line and byte. `replace`: each maximal
                ill-formed sequence becomes U+FFFD, as the Unicode Standard recommends.
        """
        self._name = name
        self._check = None if errors == "replace" else _native.Utf8Check()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, block: bytes) -> bytes:
        """Return the block, with `replace` after replacements."""
        if self._check is None:
            return self._decoder.decode(block).encode()
        if location := self._check.feed(block):
            raise invalid_utf8(self._name, *location)
        return block

    def end(self) -> bytes:
        """Return what the end of the text adds: U+FFFD for an incomplete character.

        With `strict`, an incomplete character is an error.
        """
        if self._check is None:
            return self._decoder.decode(b"", True).encode()
        if location := self._check.end():
            raise invalid_utf8(self._name, *location)
        return b""


def check_utf8(document: Document, errors: str | None) -> Iterator[bytes]:
    """Return the blocks of a document, checked to be UTF-8.

    Args:
        document: the document.
        errors: see `Utf8Checker`; None: no check, for a byte-level model.
    """
    return document.blocks() if errors is None else _checked_blocks(document, errors)


def _checked_blocks(document: Document, errors: str) -> Iterator[bytes]:
    checker = Utf8Checker(document.name, errors)
    for block in document.blocks():
        yield checker.feed(block)
    if rest := checker.end():
        yield rest


def invalid_utf8(name: str, line: int, byte: int) -> TokctlError:
    """Return the error for text that a character-level model can't read.

    Args:
        name: name of the text.
        line: number of the line, from 1.
        byte: index of the byte in the whole text, from 0.
    """
    return BadInput(
        f"{name}: line {line}, byte {byte} is not UTF-8, and this model reads characters",
        "use --errors replace to put U+FFFD in its place, or a byte-level model",
        "not-utf8",
    )


def checked_batch(batch: Batch, source: Records, errors: str | None) -> Batch:
    """Return a batch with its texts checked to be UTF-8.

    Args:
        batch: the batch.
        source: source of the batch, for messages.
        errors: see `Utf8Checker`; None: no check, for a byte-level model.
    """
    column = batch.texts if isinstance(batch.texts, _native.TextColumn) else None
    if errors is None or (column is not None and column.first_not_utf8() is None):
        return batch
    try:
        # No character contains a line feed, so the joined texts are UTF-8 if and only if each text
        # is.
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
