"""From a place to a source: what its name, its first bytes and `Reading` say it is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain

from tokctl.errors import TokctlError
from tokctl.sources import content
from tokctl.sources.document import Archive, Batch, Document, Records, Source
from tokctl.sources.files import Place
from tokctl.sources.reading import Reading

#: The field of records that holds the text.
FIELD = "text"

#: From this size on a thread of its own pays for a compressed file, in bytes.
_WORTH_A_THREAD = 1 << 18

_LINES = (".jsonl", ".ndjson", ".jsonlines")
_COMPRESSED = (".gz", ".zst", ".xz", ".bz2")

Blocks = Callable[[], Iterator[bytes]]


def plain(place: Place) -> Generator[bytes, None, None]:
    """The blocks of a place, decompressed where they are compressed."""
    head, blocks = peek(place.blocks(), content.may_be_compressed)
    kind = content.compression(head)
    if kind is None:
        yield from blocks
        return
    from tokctl.sources.compressed import decompressed

    head, text = peek(decompressed(blocks, kind, place.name), content.may_be_compressed)
    if inner := content.compression(head):
        raise TokctlError(
            f"{place.name} is compressed twice: its {kind} data holds {inner} data",
            "unpack it once before: zcat FILE | tokctl …, or zstdcat, xzcat, bzcat",
        )
    if place.prompt and place.size and place.size >= _WORTH_A_THREAD:
        from tokctl.sources.ahead import read_ahead

        text = read_ahead(text)
    yield from text


def peek(
    blocks: Iterator[bytes], undecided: Callable[[bytes], bool]
) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, as many as it takes to decide, and all blocks."""
    first: list[bytes] = []
    head = b""
    while undecided(head):
        block = next(blocks, None)
        if block is None:
            break
        first.append(block)
        head += block[: content.HEAD]
    return head, chain(first, blocks)


def document(place: Place, *, raw: bool = False) -> Document:
    """The place as one text, decompressed unless it is `raw`; nothing is read yet."""
    blocks = place.blocks if raw else partial(plain, place)
    return Document(place.name, place.size, blocks, place.prompt, place.tell)


def source(place: Place, reading: Reading, *, is_stdin: bool = False, depth: int = 0) -> Source:
    """What lies at a place, whose first bytes are read for it unless `reading` says the form.

    stdin and pipes are taken for JSON Lines where a field is named and their bytes say nothing
    else. The first bytes of a named pipe may be long in coming, so that its name alone says
    what it is, and a form that its bytes show when it is read is an error.
    """
    form = reading.format
    if form == "raw":
        return document(place, raw=True)
    blocks: Blocks = partial(plain, place)
    direct = False
    if form in ("auto", "parquet", "arrow") and place.again:
        head, direct = _head(place)
    elif form == "auto" and not place.waits:
        head, rest = peek(plain(place), content.undecided)
        blocks = partial(iter, rest)
    else:
        head = b""
    if form == "auto":
        nameless = is_stdin or place.waits
        lines = is_lines(place.name) or (nameless and reading.text_field is not None)
        form = content.form(head) or ("jsonl" if lines else "text")
        if form == "text" and _is_empty_tar(place.name, head):
            form = "tar"
        if form in ("text", "jsonl") and not place.again:
            certain = blocks

            def blocks() -> Iterator[bytes]:
                return _surely_text(place.name, certain())

    if form == "text":
        return Document(place.name, place.size, blocks, place.prompt, place.tell)
    if form == "tar":
        return _archive(place, blocks, reading, depth)
    return _records(place, form, blocks, reading.text_field or FIELD, direct=direct)


def is_lines(name: str) -> bool:
    """Does the name say JSON Lines, compressed or not?"""
    return _bare(name).endswith(_LINES)


def _is_empty_tar(name: str, head: bytes) -> bool:
    """An archive without members begins with zeros, as its end does: its name alone says it."""
    return bool(head) and not head.strip(b"\0") and _bare(name).endswith((".tar", ".tgz"))


def _bare(name: str) -> str:
    """A name without what compression has put behind it."""
    name = name.lower()
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    return name


def _head(place: Place) -> tuple[bytes, bool]:
    """The first bytes of the text, and whether they lie in a regular file as they are."""
    if place.head is not None and content.compression(place.head) is None:
        return place.head, place.path is not None
    with closing(plain(place)) as blocks:
        return peek(blocks, content.undecided)[0], False


def _archive(place: Place, blocks: Blocks, reading: Reading, depth: int) -> Archive:
    inside = replace(reading, format="auto")

    def members() -> Iterator[Document | Records]:
        from tokctl.sources import archives

        def open_member(member: Place) -> Source:
            return source(member, inside, depth=depth + 1)

        return archives.members(place, blocks, open_member, depth)

    return Archive(place.name, place.size, members, place.tell, place.prompt)


def _records(place: Place, form: str, blocks: Blocks, field: str, *, direct: bool) -> Records:
    unit = "line"
    if form in ("parquet", "arrow"):
        from tokctl.sources import tables

        unit = "row"
        tables.pyarrow(place.name)
        if direct:
            tables.check(place, form, field)

    def batches() -> Iterator[Batch]:
        if form in ("parquet", "arrow"):
            return tables.read(place, form, field, blocks, direct=direct)
        from tokctl.sources import lines

        if form == "tsv":
            return lines.tsv(blocks(), place.name)
        return lines.jsonl(blocks(), place.name, field)

    return Records(place.name, place.size, batches, place.tell, place.prompt, unit)


def _surely_text(name: str, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks of what was taken for text before so much of it had come that it is sure; an
    error where it is found out to be something else."""
    head = b""
    for block in blocks:
        if len(head) < content.HEAD:
            head += block[: content.HEAD]
            if form := content.form(head):
                raise TokctlError(
                    f"{name} was taken for text, and what comes out of it is {form}",
                    f"say so with --format {form}: the first bytes of a pipe are not waited for",
                )
        yield block
