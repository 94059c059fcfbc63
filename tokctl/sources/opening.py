"""Sources of paths: the files that a path names, and their formats.

The format follows from the options, the name and the first bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import BinaryIO, TypeAlias

from tokctl.core.errors import BadInput, BadOption, Unsupported
from tokctl.core.values import brief
from tokctl.sources.blocks import (
    HEAD,
    ByteSource,
    file_source,
    read_ahead,
    stdin_source,
    without_compression_suffix,
)
from tokctl.sources.document import (
    AUTO,
    Archive,
    Batch,
    Document,
    ReadOptions,
    Records,
    Source,
    Splitter,
)

STDIN = "-"

#: A path, `-` for stdin, or an open source.
Named: TypeAlias = str | os.PathLike[str] | Source

#: Function that returns blocks of bytes from the start.
_Blocks: TypeAlias = Callable[[], Iterator[bytes]]

#: Default field of records that holds the text.
_DEFAULT_FIELD = "text"

#: Compressed files of at least this size in bytes are decompressed in a thread of their own.
_THREAD_FROM = 1 << 18

_JSONL_SUFFIXES = (".jsonl", ".ndjson", ".jsonlines")
_TABLE_SUFFIXES = (".parquet", ".arrow", ".feather")


def open_sources(
    paths: Sequence[str | Path], reading: ReadOptions = AUTO, *, stdin: BinaryIO | None = None
) -> list[Source]:
    """Return the sources that `paths` name, after checking each one.

    A path is a file of any format, a folder, a pattern or an address; `-` is stdin. Only what shows
    the format is read: the first bytes, and the columns of a table.

    Args:
        paths: the paths.
        reading: how the paths are read.
        stdin: stream to read for `-`; None: the stdin of the process.

    Raises:
        TokctlError: a path is missing or can't be read, a folder or a pattern has no files, a table
            lacks the column, or a package for a format is missing.

    Example:
        open_sources(["corpus/", "more.jsonl.gz"], ReadOptions(text_field="body"))
    """
    _check_stdin(paths)
    sources = [source for path in paths for source in _open_path(str(path), reading, stdin)]
    are_texts = all(isinstance(source, Document) for source in sources)
    if reading.text_field is not None and reading.format == "auto" and are_texts and sources:
        raise BadOption(
            f"can't read the field {reading.text_field}: {sources[0].name} is plain text",
            "JSON Lines are known by their name (.jsonl, .ndjson); else add --format jsonl",
            "conflict",
        )
    return sources


def opened(sources: Named | Iterable[Named], reading: ReadOptions = AUTO) -> list[Source]:
    """Return sources in the given order: paths are opened and checked, open sources stay.

    A folder or a pattern becomes one source for each of its files.

    Args:
        sources: one, or several; `-` is stdin.
        reading: how the paths are read.

    Raises:
        TokctlError: a path is missing, or can't be read.
    """
    if isinstance(sources, (str, os.PathLike, Document, Records, Archive)):
        sources = [sources]
    if not isinstance(sources, Iterable):
        raise BadOption(
            f"invalid value {brief(sources)} for the sources",
            "give a path, or a list of paths",
            "bad-value",
        )
    if not isinstance(reading, ReadOptions):
        raise BadOption(
            f"invalid value {brief(reading)} for reading",
            "give tokctl.sources.ReadOptions, for example ReadOptions('jsonl', text_field='body')",
            "bad-value",
        )
    opened_sources: list[Source] = []
    for are_paths, group in groupby(sources, lambda source: isinstance(source, (str, os.PathLike))):
        if are_paths:
            paths = [path if isinstance(path, str) else Path(path) for path in group]  # type: ignore[arg-type]
            opened_sources += open_sources(paths, reading)
        else:
            opened_sources += group  # type: ignore[arg-type]
    return opened_sources


def documents(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    raw: bool = False,
) -> list[Document]:
    """Return one document for each path, after checking each one.

    Args:
        paths: paths of files; `-` is stdin.
        stdin: stream to read for `-`; None: the stdin of the process.
        raw: whether to leave compressed files as they are.

    Raises:
        TokctlError: a path is missing, is a folder, or can't be read.
    """
    _check_stdin(paths)
    return [
        _document(stdin_source(stdin) if str(path) == STDIN else file_source(path), raw=raw)
        for path in paths
    ]


def _check_stdin(paths: Sequence[str | Path]) -> None:
    if sum(str(path) == STDIN for path in paths) > 1:
        raise BadOption("stdin (-) is named twice", "it can be read only once")


def _open_path(path: str, reading: ReadOptions, stdin: BinaryIO | None) -> Iterator[Source]:
    if path == STDIN:
        yield _detect_source(stdin_source(stdin), reading, is_stdin=True)
        return
    if "://" in path:
        from tokctl.sources import remote

        if remote.is_address(path):
            for data in remote.files_at(path, reading):
                yield _detect_source(data, reading)
            return
    for data, file_options in _local_files(path, reading):
        yield _detect_source(data, file_options)


def _local_files(path: str, reading: ReadOptions) -> Iterator[tuple[ByteSource, ReadOptions]]:
    """Yield the files that a path names, and how each is read."""
    if os.path.isdir(path):  # noqa: PTH112
        from tokctl.sources import folders

        if reading.format in ("auto", "arrow") and folders.is_saved_dataset(path):
            arrow = reading._replace(format="arrow")
            yield from ((file_source(file), arrow) for file in folders.arrow_files(path))
            return
        yield from ((file_source(file), reading) for file in folders.files_of(path, reading))
        return
    if any(char in path for char in "*?[") and not os.path.lexists(path):
        from tokctl.sources import folders

        for match in folders.expand(path):
            yield from _local_files(match, reading)
        return
    yield file_source(path), reading


def _decompressed_blocks(data: ByteSource) -> Generator[bytes, None, None]:
    """Yield the blocks, decompressed if they are compressed."""
    head, blocks = _peek(data.blocks(), _needs_more_for_compression)
    kind = _compression(head)
    if kind is None:
        yield from blocks
        return
    from tokctl.sources.compressed import decompressed

    head, text = _peek(decompressed(blocks, kind, data.name), _needs_more_for_compression)
    if inner := _compression(head):
        raise Unsupported(
            f"{data.name} is compressed twice: its {kind} data holds {inner} data",
            "decompress it once first: zcat FILE | tokctl …, or zstdcat, xzcat, bzcat",
        )
    if data.prompt and data.size and data.size >= _THREAD_FROM:
        text = read_ahead(text)
    yield from text


def _peek(
    blocks: Iterator[bytes], needs_more: Callable[[bytes], bool]
) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes, as many as `needs_more` asks for, and all blocks."""
    taken: list[bytes] = []
    head = b""
    while needs_more(head):
        block = next(blocks, None)
        if block is None:
            break
        taken.append(block)
        head += block[:HEAD]
    return head, chain(taken, blocks)


def _document(data: ByteSource, *, raw: bool = False) -> Document:
    """Return the data as one text, decompressed unless `raw`; nothing is read yet."""
    blocks = data.blocks if raw else partial(_decompressed_blocks, data)
    return Document(data.name, data.size, blocks, data.prompt, data.tell)


def _detect_source(
    data: ByteSource, reading: ReadOptions, *, is_stdin: bool = False, depth: int = 0
) -> Source:
    """Return the source that the bytes hold.

    Its format is `reading.format`, or is found from the first bytes. stdin and pipes are read as
    JSON Lines if a field is named and the bytes show no other format. The first bytes of a named
    pipe can be late, so its name alone decides. If its bytes show another format later, that is an
    error.
    """
    form = reading.format
    if form == "raw":
        return _document(data, raw=True)._replace(
            splitter=partial(_text_splitter, data) if data.path else None
        )
    blocks: _Blocks = partial(_decompressed_blocks, data)
    is_direct = False
    if form in ("auto", "parquet", "arrow") and data.is_rereadable:
        head, is_direct = _stored_head(data)
    elif form == "auto" and not data.may_block:
        head, rest = _peek(_decompressed_blocks(data), _needs_more_for_form)
        blocks = partial(iter, rest)
    else:
        head = b""
    if form == "auto":
        has_no_name = is_stdin or data.may_block
        is_jsonl = _has_jsonl_name(data.name) or (has_no_name and reading.text_field is not None)
        form = _detect_form(head) or ("jsonl" if is_jsonl else "text")
        if form == "text" and _is_empty_tar(data.name, head):
            form = "tar"
        if form == "text":
            _check_is_text(data.name, head)
        if form in ("text", "jsonl") and not data.is_rereadable:
            unchecked = blocks

            def blocks() -> Iterator[bytes]:
                return _checked_text(data.name, unchecked())

    if form == "text" or (form == "jsonl" and reading.columns):
        note = _encoding_note(data.name, head)
        splitter = partial(_text_splitter, data) if _is_stored_plain(data) else None
        return Document(data.name, data.size, blocks, data.prompt, data.tell, note, splitter)
    if form == "tar":
        return _archive(data, blocks, reading, depth)
    return _records(
        data,
        form,
        blocks,
        reading.columns or reading.text_field or _DEFAULT_FIELD,
        is_direct=is_direct,
    )


#: Byte order marks of UTF-16 and UTF-32. The ones of UTF-32 come first: they can begin like
#: UTF-16's.
_BYTE_ORDER_MARKS = (
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)


def _encoding_note(name: str, head: bytes) -> str:
    """Return a note to the user about a text that is hardly UTF-8; else ""."""
    encoding = next((kind for mark, kind in _BYTE_ORDER_MARKS if head.startswith(mark)), None)
    if encoding is None and (len(head) < 4 or 4 * head.count(0) < len(head)):
        return ""
    if encoding is None:
        # ASCII text has NULs in the unused bytes of each code unit.
        residues = {index % 4 for index, byte in enumerate(head) if byte == 0}
        encoding = {1: "UTF-16", 2: "UTF-16", 3: "UTF-32"}.get(len(residues))
    if encoding is None:
        return f"{name} has many NUL bytes: it is not a text, and is read byte by byte"
    return (
        f"{name} looks like {encoding}, and is read byte by byte: "
        f"iconv -f {encoding} -t UTF-8 FILE | tokctl …"
    )


def _has_jsonl_name(name: str) -> bool:
    """Return whether the name is one of JSON Lines, compressed or not."""
    return without_compression_suffix(name).endswith(_JSONL_SUFFIXES)


def _is_empty_tar(name: str, head: bytes) -> bool:
    """Return whether the file is an archive without members.

    It begins with zeros, like the end of any archive, so only its name shows the format.
    """
    return (
        bool(head)
        and not head.strip(b"\0")
        and without_compression_suffix(name).endswith((".tar", ".tgz"))
    )


def _check_is_text(name: str, head: bytes) -> None:
    """Raise TokctlError for a file with the name of a table whose first bytes are wrong."""
    if without_compression_suffix(name).endswith(_TABLE_SUFFIXES) and not _CONTROL_BYTES.isdisjoint(
        head
    ):
        raise BadInput(
            f"{name} does not start like the format in its name, and is not text",
            "download or write it again; --format overrides the format",
            "damaged",
        )


def _stored_head(data: ByteSource) -> tuple[bytes, bool]:
    """Return the first bytes of the text, and whether they are stored so in a regular file."""
    if data.head is not None and _compression(data.head) is None:
        return data.head, data.path is not None
    with closing(_decompressed_blocks(data)) as blocks:
        return _peek(blocks, _needs_more_for_form)[0], False


def _archive(data: ByteSource, blocks: _Blocks, reading: ReadOptions, depth: int) -> Archive:
    member_options = reading._replace(format="auto")

    def members() -> Iterator[Document | Records]:
        from tokctl.sources import archives

        def open_member(member: ByteSource) -> Source:
            return _detect_source(member, member_options, depth=depth + 1)

        return archives.members(data, blocks, open_member, depth)

    return Archive(data.name, data.size, members, data.tell, data.prompt)


def _records(
    data: ByteSource, form: str, blocks: _Blocks, field: str | tuple[str, ...], *, is_direct: bool
) -> Records:
    unit = "line"
    if form in ("parquet", "arrow"):
        from tokctl.sources import tables

        unit = "row"
        tables.pyarrow(data.name)
        if is_direct:
            tables.check(data, form, field)

    def batches() -> Iterator[Batch]:
        if form in ("parquet", "arrow"):
            return tables.read(data, form, field, blocks, is_direct=is_direct)
        return of_lines(blocks())

    def of_lines(blocks: Iterator[bytes], opens: bool = True) -> Iterator[Batch]:
        from tokctl.sources import lines

        if form == "tsv":
            return lines.tsv(blocks, data.name)
        assert isinstance(field, str)
        return lines.jsonl(blocks, data.name, field, opens=opens)

    def splitter() -> Splitter:
        from tokctl.sources import parts

        if form == "parquet":
            from tokctl.sources import tables

            return tables.row_group_splitter(data, field)
        return parts.line_splitter(data, of_lines)

    can_split = is_direct if form == "parquet" else form != "arrow" and _is_stored_plain(data)
    return Records(
        data.name, data.size, batches, data.tell, data.prompt, unit, splitter if can_split else None
    )


def _is_stored_plain(data: ByteSource) -> bool:
    """Return whether the text is stored uncompressed in a regular file."""
    return data.path is not None and data.head is not None and _compression(data.head) is None


def _text_splitter(data: ByteSource) -> Splitter:
    from tokctl.sources import parts

    return parts.text_splitter(data)


def _checked_text(name: str, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a stream that was taken for text before enough bytes had come.

    An error is raised when the first `HEAD` bytes show another format.
    """
    head = b""
    for block in blocks:
        if len(head) < HEAD:
            head += block[:HEAD]
            if form := _detect_form(head):
                raise BadInput(
                    f"{name} was read as text, but its data is {form}",
                    f"add --format {form}: tokctl does not wait for the first bytes of a pipe",
                )
        yield block


_ANY_BYTE = bytes(range(256))
#: High bytes of dictionary sizes that are powers of two or one and a half times a power of two.
_DICTIONARY_SIZES = b"\0\x01\x02\x03\x04\x06\x08\x0c\x10\x18\x20\x30\x40\x60\x80\xc0"

#: For each byte of a magic number, the values that it can have. The numbers are long enough that no
#: text, and hardly any row of numbers, looks like one: RFC 1952 (gzip: deflate, and no reserved
#: flag), RFC 8878 (zstd: a frame, or one to be skipped), the descriptions of .xz, .lzma and bzip2
#: (a first block, or the end of empty data).
_COMPRESSION_MAGIC: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("gzip", (b"\x1f", b"\x8b", b"\x08", bytes(range(32)))),
    ("zstd", (b"\x28", b"\xb5", b"\x2f", b"\xfd")),
    ("zstd", (bytes(range(0x50, 0x60)), b"\x2a", b"\x4d", b"\x18")),
    ("xz", (b"\xfd", b"7", b"z", b"X", b"Z", b"\0")),
    # Usual properties, a dictionary of at least 64 kB, and a size that is unknown or small.
    (
        "lzma",
        (b"]", b"\0", b"\0", *(2 * [_DICTIONARY_SIZES]), *(6 * [_ANY_BYTE]), b"\0\xff", b"\0\xff"),
    ),
    ("bz2", (b"B", b"Z", b"h", b"123456789", b"1", b"A", b"Y", b"&", b"S", b"Y")),
    ("bz2", (b"B", b"Z", b"h", b"123456789", b"\x17", b"r", b"E", b"8", b"P", b"\x90")),
)
_ARROW_FILE = b"ARROW1\0\0"
_PARQUET = b"PAR1"
#: Bytes that no text has after its first word; Parquet continues with a Thrift structure.
_CONTROL_BYTES = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")
_ARROW_STREAM = b"\xff\xff\xff\xff"
_COMPRESSION_FIRST = frozenset(byte for _, magic in _COMPRESSION_MAGIC for byte in magic[0])
_FORM_FIRST = frozenset((_ARROW_FILE[0], _PARQUET[0], _ARROW_STREAM[0]))


def _compression(head: bytes) -> str | None:
    """Return `gzip`, `zstd`, `xz`, `lzma` or `bz2`; None if the bytes are not compressed.

    If the data ends inside a magic number, it counts as compressed only if it can't be text.
    """
    if not head or head[0] not in _COMPRESSION_FIRST:
        return None
    for name, magic in _COMPRESSION_MAGIC:
        if _matches_magic(head, magic) and (len(head) >= len(magic) or _is_long_enough(head)):
            return name
    return None


def _needs_more_for_compression(head: bytes) -> bool:
    """Return whether more bytes are needed to find the compression."""
    return not head or (
        head[0] in _COMPRESSION_FIRST
        and any(
            len(head) < len(magic) and _matches_magic(head, magic)
            for _, magic in _COMPRESSION_MAGIC
        )
    )


def _detect_form(head: bytes) -> str | None:
    """Return `parquet`, `arrow` or `tar`; None for any other format."""
    if head.startswith(_PARQUET) and len(head) > 4 and head[4] in _CONTROL_BYTES:
        return "parquet"
    if head.startswith(_ARROW_FILE) or (len(head) >= 8 and _may_be_arrow_stream(head)):
        return "arrow"
    return "tar" if head[257:262] == b"ustar" else None


def _needs_more_for_form(head: bytes) -> bool:
    """Return whether more bytes are needed to find the format."""
    if not head:
        return True
    if head[0] in _FORM_FIRST and (
        _ARROW_FILE.startswith(head)
        or _PARQUET.startswith(head)
        or (len(head) < 8 and _may_be_arrow_stream(head))
    ):
        return True
    return len(head) < 262 and _may_be_tar(head)


def _matches_magic(head: bytes, magic: tuple[bytes, ...]) -> bool:
    return all(byte in allowed for byte, allowed in zip(head, magic, strict=False))


def _is_long_enough(head: bytes) -> bool:
    return len(head) >= 7 or (len(head) >= 2 and not head.isascii())


def _may_be_arrow_stream(head: bytes) -> bool:
    """Return whether the bytes are the mark of a message and a possible length of a schema."""
    if not _ARROW_STREAM.startswith(head[:4]):
        return False
    length = int.from_bytes(head[4:8], "little")
    return len(head) < 8 or (0 < length < 1 << 28 and length % 8 == 0)


def _may_be_tar(head: bytes) -> bool:
    """Return whether the bytes can begin a header: a name padded with NULs, and an octal mode.

    A name alone could be any text, which must not wait for more bytes. Writers of tar write whole
    headers, so the NULs are available with the name.
    """
    name, padding, _ = head[:100].partition(b"\0")
    if not name or (not padding and len(head) < 100):
        return False
    return not head[len(name) : 100].strip(b"\0") and not head[100:108].strip(b"01234567 \0")
