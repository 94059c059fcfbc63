"""Tables of Parquet and Arrow: one column as texts, or rows of several columns, in batches.

Parquet: https://parquet.apache.org/docs/file-format. Arrow: its IPC format, as a file (Feather
version 2 is the same) or as a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from tokctl import _native
from tokctl.core.errors import BadInput, Unsupported
from tokctl.sources.blocks import BlockStream, ByteSource, opened_file, spooled
from tokctl.sources.document import Batch, Places

if TYPE_CHECKING:
    import pyarrow as pa

#: Most rows of Parquet decoded at a time.
_MOST_ROWS = 1 << 12
#: Bytes of a Parquet column read at a time if the file is larger than `_SMALL`. The size that a
#: damaged page claims is then allocated before the page turns out to be too short. For a column
#: that is read at once, the size is checked against the file.
_BUFFER = 1 << 20
_SMALL = 1 << 25
#: End of an Arrow stream.
_END = b"\xff\xff\xff\xff\0\0\0\0"


def pyarrow(name: str) -> ModuleType:
    """Return pyarrow; raise TokctlError if it is not installed."""
    try:
        import pyarrow as module
    except ImportError as error:
        raise Unsupported(
            f"{name}: reading Parquet and Arrow needs pyarrow",
            "pip install 'tokctl[parquet]'",
            "missing-package",
        ) from error
    return module  # type: ignore[no-any-return, unused-ignore]


#: The column of the texts; or several columns, whose names and values become JSON texts.
Field: TypeAlias = str | tuple[str, ...]


def check(data: ByteSource, form: str, field: Field) -> None:
    """Check that a table has the column before the work begins.

    Args:
        data: the table; only a regular file is checked.
        form: `parquet` or `arrow`.
        field: the column or columns.

    Raises:
        TokctlError: the file is damaged or the column is missing.
    """
    if data.path is not None:
        with opened_file(data) as file, _named(data.name, form):
            if form == "parquet":
                with _parquet_file(data.name, file) as table:
                    _columns(table.schema_arrow, field, data.name)
            else:
                _columns(_arrow_reader(data.name, file).schema, field, data.name)


def read(
    data: ByteSource,
    form: str,
    field: Field,
    blocks: Callable[[], Iterator[bytes]],
    *,
    direct: bool,
) -> Iterator[Batch]:
    """Yield the texts of a table.

    A format that is read from its end is copied to a temporary file, unless it is read directly.

    Args:
        data: the table.
        form: `parquet` or `arrow`.
        field: the column or columns.
        blocks: function that returns the bytes of the table.
        direct: whether the bytes are stored uncompressed in a regular file that can be read
            instead.

    Raises:
        TokctlError: the table is damaged, or a text is missing. The message names the file, and the
            column or the row.
    """
    pyarrow(data.name)
    if direct:
        with opened_file(data) as file:
            stream = form == "arrow" and not _is_arrow_file(file.read(8))
            file.seek(0)
            if not stream:
                data.done = 0
                yield from _whole(data.name, form, field, file, data)
                return
    with closing(BlockStream(blocks())) as source:
        if form == "arrow" and not _is_arrow_file(source.peek(8)):
            yield from _stream(data.name, field, source)
            return
        with spooled(source.rest(), data.name) as file:
            yield from _whole(data.name, form, field, cast(BinaryIO, file), None)


def places(data: ByteSource, field: Field) -> Places:
    """Return how to divide the row groups of a Parquet file between processes."""

    def of(size: int) -> list[int]:
        with (
            opened_file(data) as file,
            _named(data.name, "parquet"),
            _parquet_file(data.name, file) as table,
        ):
            about = table.metadata
            rows = [about.row_group(number).num_rows for number in range(about.num_row_groups)]
        found, behind = [0], 0
        for number, some in enumerate(rows, 1):
            behind += some
            if behind * (data.size or 0) >= size * sum(rows) or number == len(rows):
                found.append(number)
                behind = 0
        return found

    def between(found: Sequence[int], number: int) -> Iterator[Batch]:
        with opened_file(data) as file, _named(data.name, "parquet"):
            yield from _parquet(data.name, field, file, None, range(*found[number : number + 2]))

    return Places(of, between, "row groups")


def _whole(
    name: str, form: str, field: Field, file: BinaryIO, data: ByteSource | None
) -> Iterator[Batch]:
    """Yield the texts of a table with random access; count the progress of `data` by rows."""
    with _named(name, form):
        if form == "parquet":
            yield from _parquet(name, field, file, data)
        else:
            yield from _arrow_file(name, field, file, data)


def _parquet(
    name: str,
    field: Field,
    file: BinaryIO,
    data: ByteSource | None,
    groups: range | None = None,
) -> Iterator[Batch]:
    with _parquet_file(name, file) as table:
        schema = table.schema_arrow
        columns = [schema.names[place] for place in _columns(schema, field, name)]
        columns = [field] if isinstance(field, str) else columns
        about, row = table.metadata, 1
        for number in range(table.num_row_groups) if groups is None else groups:
            group = about.row_group(number)
            chunks = [each for column in columns for each in column_chunks(table, number, column)]
            rows = _rows_at_a_time(group, chunks)
            for batch in table.iter_batches(rows, [number], columns, use_threads=False):
                yield from _texts(batch, field, name, row)
                row += batch.num_rows
                if data is not None and data.size:
                    data.done = data.size * (row - 1) // max(1, about.num_rows)
    if groups is None and row - 1 != about.num_rows:
        raise BadInput(
            f"{name} is damaged: {row - 1} of {about.num_rows} rows came",
            "download the file again",
            "damaged",
        )
    if data is not None and data.size:
        data.done = data.size


def column_chunks(table: Any, number: int, field: str) -> list[Any]:
    """Return the metadata of a row group for the columns that hold a field.

    If the metadata is damaged, pyarrow ends the process when it is requested, but raises an error
    when the column is read. So one row is read first.

    Args:
        table: the open Parquet file.
        number: index of the row group.
        field: name of the column.
    """
    about = table.metadata
    if not about.row_group(number).num_rows:
        return []
    for _ in table.iter_batches(1, [number], [field], use_threads=False):
        break
    paths = (about.schema.column(place).path for place in range(len(about.schema)))
    places = [at for at, path in enumerate(paths) if f"{path}.".startswith(f"{field}.")]
    return [about.row_group(number).column(place) for place in places]


def _rows_at_a_time(group: Any, chunks: list[Any]) -> int:
    """Return the number of rows to decode at a time: fewer for long texts."""
    size: int = sum(part.total_uncompressed_size for part in chunks)
    each: int = max(1, size // max(1, group.num_rows))
    return max(1, min(_MOST_ROWS, BATCH_SIZE // each))


def _parquet_file(name: str, file: BinaryIO) -> Any:
    pyarrow(name)
    from pyarrow import parquet

    buffer = _BUFFER if file.seek(0, 2) > _SMALL else 0
    file.seek(0)
    return parquet.ParquetFile(
        file, pre_buffer=False, buffer_size=buffer, page_checksum_verification=True
    )


def _arrow_file(
    name: str, field: Field, file: BinaryIO, data: ByteSource | None
) -> Iterator[Batch]:
    from pyarrow import ipc

    columns = _columns(_arrow_reader(name, file).schema, field, name)
    file.seek(0)
    options = ipc.IpcReadOptions(included_fields=columns, use_threads=False)
    reader = ipc.open_file(file, options=options)
    row = 1
    for number in range(reader.num_record_batches):
        batch = reader.get_batch(number)
        yield from _texts(batch, field, name, row)
        row += batch.num_rows
        if data is not None and data.size:
            data.done = data.size * (number + 1) // reader.num_record_batches
    if data is not None and data.size:
        data.done = data.size


def _stream(name: str, field: Field, source: BlockStream) -> Iterator[Batch]:
    """Yield the texts of an Arrow stream; a stream without its end mark is an error.

    Without the mark, missing data would not be noticed.
    """
    from pyarrow import ipc

    with _named(name, "arrow"):
        reader = ipc.open_stream(source)
        _columns(reader.schema, field, name)
        row = 1
        for batch in reader:
            yield from _texts(batch, field, name, row)
            row += batch.num_rows
    if source.tail != _END:
        raise BadInput(
            f"{name} is cut short: its Arrow stream has no end",
            "write it again; a writer that is closed marks the end",
            "damaged",
        )
    source.skip_rest()


def _is_arrow_file(head: bytes) -> bool:
    """Return whether the bytes begin a file with a footer (also Feather's) and not a stream."""
    return head.startswith(b"ARROW1")


def _arrow_reader(name: str, file: BinaryIO) -> Any:
    pyarrow(name)
    from pyarrow import ipc

    whole = _is_arrow_file(file.read(8))
    file.seek(0)
    return ipc.open_file(file) if whole else ipc.open_stream(file)


class _named:  # noqa: N801  (a context manager, called like a function)
    """Context manager that turns pyarrow's errors into TokctlErrors that name the table."""

    def __init__(self, name: str, form: str) -> None:
        self.name, self.form = name, form

    def __enter__(self) -> None:
        pyarrow(self.name)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if isinstance(error, (pa.ArrowException, OSError, ValueError, LookupError)):
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            what = {"parquet": "Parquet", "arrow": "Arrow"}[self.form]
            raise BadInput(
                f"{self.name} is damaged, or not {what}: {reason}",
                "download or write it again; --format overrides the format",
                "damaged",
            ) from None


#: Most bytes of text in a batch, unless a single row has more.
BATCH_SIZE = 1 << 22


def path_to(schema: Any, field: str, name: str, option: str = "--text-field") -> list[int]:
    """Return the index of a column, followed by the indexes of the nested fields.

    `a.b` is the field b of the column a, unless a column has the name "a.b" itself.

    Args:
        schema: schema of the table.
        field: name of the column, or path.
        name: name of the table in messages.
        option: option that names the column, for messages.

    Raises:
        TokctlError: the column is missing (the message lists the columns), or does not hold text.
    """
    found = _find([schema.field(place) for place in range(len(schema.names))], field)
    if found is None:
        columns = ", ".join(map(str, schema.names[:20])) or "none"
        more = ", …" if len(schema.names) > 20 else ""
        raise BadInput(
            f"{name} has no column {field}",
            f"{option} names it; there is: {columns}{more}",
            "bad-record",
        )
    path, last = found
    if not _is_text(last.type):
        raise BadInput(
            f"{name}: column {field} holds {last.type}, not text",
            f"{option} names the column of the texts",
            "bad-record",
        )
    return path


def _columns(schema: Any, field: Field, name: str) -> list[int]:
    """Return the indexes of the columns to read; raise TokctlError if none exists."""
    if isinstance(field, str):
        return path_to(schema, field, name)[:1]
    found = [place for place, column in enumerate(schema.names) if column in field]
    if not found:
        there = ", ".join(map(str, schema.names[:20])) or "none"
        raise BadInput(
            f"{name} has no column {field[0]}; there is: {there}",
            f"these are read: {', '.join(field)}; rename the one that you mean",
            "bad-record",
        )
    return found


def _texts(batch: Any, field: Field, name: str, row: int) -> Iterator[Batch]:
    """Yield the texts of several rows; `row` is the number of the first one."""
    if isinstance(field, str):
        first, *below = path_to(batch.schema, field, name)
        yield from column_batches(batch.column(first), below, field, name, row)
        return
    from tokctl.core import orjson

    batch.validate()
    names = [column for column in batch.schema.names if column in field]
    try:
        rows = batch.select(names).to_pylist()
        yield Batch([orjson.dumps(each) for each in rows], first=row)
    except TypeError as error:
        raise BadInput(
            f"{name}: rows from {row} on hold values without a JSON form: {error}",
            f"the columns {', '.join(names)} hold texts, numbers, lists and structs of these",
            "bad-record",
        ) from None


def column_batches(
    column: pa.Array, path: list[int], field: str, name: str, row: int
) -> Iterator[Batch]:
    """Yield the texts of a column in batches.

    Offsets outside the memory of the column are reported as an error of pyarrow.

    Args:
        column: the column.
        path: result of `path_to` without its first index.
        field: name of the column, for messages.
        name: name of the table, for messages.
        row: number of the first row, from 1.
    """
    texts = texts_at(column, path)
    if null := _first_null(texts):
        raise BadInput(
            f"{name}: row {row + null - 1}: {field} is null", "leave such rows out", "bad-record"
        )
    for some in text_column(texts).batches(BATCH_SIZE):
        yield Batch(some, first=row)
        row += len(some)


def texts_at(column: pa.Array, path: list[int]) -> Any:
    """Return the texts of a column as an array.

    Args:
        column: the column.
        path: result of `path_to` without its first index.
    """
    from pyarrow import compute

    texts: Any = column
    texts.validate()
    for place in path:
        texts = compute.struct_field(_stored(texts), [place])
    return _stored(texts)


def is_valid(texts: Any) -> Any:
    """Return for each row whether it is not null.

    In a dictionary, the value must not be null either.
    """
    from pyarrow import compute

    valid = texts.is_valid()
    if hasattr(texts, "indices") and texts.dictionary.null_count:
        chosen = compute.take(texts.dictionary.is_valid(), texts.indices)
        valid = compute.and_(valid, compute.fill_null(chosen, False))
    return valid


def _first_null(texts: Any) -> int:
    """Return the number of the first row that is null, from 1; 0 if no row is null."""
    from pyarrow import compute

    return int(compute.index(is_valid(texts), False).as_py()) + 1


def text_column(texts: Any, rows: Any = None) -> _native.TextColumn:
    """Return an array of text of any layout in the form that the native module reads.

    The memory is shared, except for views and texts of a fixed size. A null has an arbitrary text.

    Args:
        texts: the array.
        rows: array of 64-bit indexes of the wanted rows, such as all that are not null; None: all.

    Raises:
        ValueError: a text would be outside the memory of the array.
    """
    import pyarrow as pa

    detect = pa.types
    if detect.is_dictionary(texts.type):
        chosen = texts.indices if rows is None else texts.indices.take(rows)
        return text_column(texts.dictionary).chosen(numbers(chosen.cast(pa.int64())))
    wide = detect.is_large_string(texts.type) or detect.is_large_binary(texts.type)
    if not (wide or detect.is_string(texts.type) or detect.is_binary(texts.type)):
        if getattr(detect, "is_string_view", detect.is_string)(texts.type):
            texts = texts.view(pa.binary_view())  # the reader checks whether the texts are UTF-8
        texts.validate(full=True)
        try:
            texts, wide = texts.cast(pa.large_binary()), True
        except pa.ArrowNotImplementedError:  # older releases can't cast views
            texts, wide = pa.array(texts.to_pylist(), pa.large_binary()), True
    _, places, data = texts.buffers()
    column = _native.TextColumn(_bytes(data), _bytes(places), texts.offset, len(texts), wide)
    return column if rows is None else column.chosen(numbers(rows))


def numbers(array: Any) -> memoryview:
    """Return the memory of an array of 64-bit numbers."""
    start = array.offset
    return _bytes(array.buffers()[1])[8 * start : 8 * (start + len(array))]


def _bytes(buffer: Any) -> memoryview:
    return memoryview(b"" if buffer is None else buffer).cast("B")


def _stored(array: Any) -> Any:
    """Return the storage of an array with an extension type; other arrays as they are."""
    return getattr(array, "storage", array)


def _find(fields: list[Any], name: str) -> tuple[list[int], Any] | None:
    """Return the path to a field, and the field; longer names are tried first."""
    names = [field.name for field in fields]
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        own = ".".join(parts[:end])
        if own not in names:
            continue
        place = names.index(own)
        if end == len(parts):
            return [place], fields[place]
        below = _find(_fields(fields[place].type), ".".join(parts[end:]))
        if below is not None:
            return [place, *below[0]], below[1]
    return None


def _fields(kind: Any) -> list[Any]:
    import pyarrow as pa

    kind = getattr(kind, "storage_type", kind)
    if not pa.types.is_struct(kind):
        return []
    return [kind.field(place) for place in range(kind.num_fields)]


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    kind = getattr(kind, "storage_type", kind)
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    return any(
        detect(kind)
        for detect in (
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_large_binary,
            types.is_fixed_size_binary,
            getattr(types, "is_string_view", types.is_string),
            getattr(types, "is_binary_view", types.is_binary),
            types.is_null,
        )
    )
