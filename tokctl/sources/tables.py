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
from tokctl.sources.document import Batch, Splitter

if TYPE_CHECKING:
    import pyarrow as pa

#: Most rows of Parquet decoded at a time.
_MAX_ROWS = 1 << 12
#: Bytes of a Parquet column read at a time if the file is larger than `_BUFFERED_FROM`. The size
#: that a damaged page claims is then allocated before the page turns out to be too short. For a
#: column that is read at once, the size is checked against the file.
_BUFFER = 1 << 20
_BUFFERED_FROM = 1 << 25
#: End of an Arrow stream.
_STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"


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
        with opened_file(data) as file, _table_errors(data.name, form):
            if form == "parquet":
                with _parquet_file(data.name, file) as table:
                    _find_columns(table.schema_arrow, field, data.name)
            else:
                _find_columns(_arrow_reader(data.name, file).schema, field, data.name)


def read(
    data: ByteSource,
    form: str,
    field: Field,
    blocks: Callable[[], Iterator[bytes]],
    *,
    is_direct: bool,
) -> Iterator[Batch]:
    """Yield the texts of a table.

    A format that is read from its end is copied to a temporary file, unless it is read directly.

    Args:
        data: the table.
        form: `parquet` or `arrow`.
        field: the column or columns.
        blocks: function that returns the bytes of the table.
        is_direct: whether the bytes are stored uncompressed in a regular file that can be read
            instead.

    Raises:
        TokctlError: the table is damaged, or a text is missing. The message names the file, and the
            column or the row.
    """
    pyarrow(data.name)
    if is_direct:
        with opened_file(data) as file:
            is_stream = form == "arrow" and not _is_arrow_file(file.read(8))
            file.seek(0)
            if not is_stream:
                data.done = 0
                yield from _read_file(data.name, form, field, file, data)
                return
    with closing(BlockStream(blocks())) as source:
        if form == "arrow" and not _is_arrow_file(source.peek(8)):
            yield from _read_arrow_stream(data.name, field, source)
            return
        with spooled(source.rest(), data.name) as file:
            yield from _read_file(data.name, form, field, cast(BinaryIO, file), None)


def row_group_splitter(data: ByteSource, field: Field) -> Splitter:
    """Return how to divide the row groups of a Parquet file between processes."""

    def boundaries(size: int) -> list[int]:
        with (
            opened_file(data) as file,
            _table_errors(data.name, "parquet"),
            _parquet_file(data.name, file) as table,
        ):
            metadata = table.metadata
            rows = [
                metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)
            ]
        ends, rows_behind = [0], 0
        for number, row_count in enumerate(rows, 1):
            rows_behind += row_count
            if rows_behind * (data.size or 0) >= size * sum(rows) or number == len(rows):
                ends.append(number)
                rows_behind = 0
        return ends

    def read_part(ends: Sequence[int], number: int) -> Iterator[Batch]:
        with opened_file(data) as file, _table_errors(data.name, "parquet"):
            yield from _read_parquet(
                data.name, field, file, None, range(*ends[number : number + 2])
            )

    return Splitter(boundaries, read_part, "row groups")


def _read_file(
    name: str, form: str, field: Field, file: BinaryIO, data: ByteSource | None
) -> Iterator[Batch]:
    """Yield the texts of a table with random access; count the progress of `data` by rows."""
    with _table_errors(name, form):
        if form == "parquet":
            yield from _read_parquet(name, field, file, data)
        else:
            yield from _read_arrow_file(name, field, file, data)


def _read_parquet(
    name: str,
    field: Field,
    file: BinaryIO,
    data: ByteSource | None,
    groups: range | None = None,
) -> Iterator[Batch]:
    with _parquet_file(name, file) as table:
        schema = table.schema_arrow
        columns = [schema.names[index] for index in _find_columns(schema, field, name)]
        columns = [field] if isinstance(field, str) else columns
        metadata, row = table.metadata, 1
        for number in range(table.num_row_groups) if groups is None else groups:
            group = metadata.row_group(number)
            chunks = [chunk for column in columns for chunk in column_chunks(table, number, column)]
            rows = _rows_at_a_time(group, chunks)
            for batch in table.iter_batches(rows, [number], columns, use_threads=False):
                yield from _batch_texts(batch, field, name, row)
                row += batch.num_rows
                if data is not None and data.size:
                    data.done = data.size * (row - 1) // max(1, metadata.num_rows)
    if groups is None and row - 1 != metadata.num_rows:
        raise BadInput(
            f"{name} is damaged: {row - 1} of {metadata.num_rows} rows came",
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
    metadata = table.metadata
    if not metadata.row_group(number).num_rows:
        return []
    for _ in table.iter_batches(1, [number], [field], use_threads=False):
        break
    paths = (metadata.schema.column(column).path for column in range(len(metadata.schema)))
    indexes = [index for index, path in enumerate(paths) if f"{path}.".startswith(f"{field}.")]
    return [metadata.row_group(number).column(column) for column in indexes]


def _rows_at_a_time(group: Any, chunks: list[Any]) -> int:
    """Return the number of rows to decode at a time: fewer for long texts."""
    size: int = sum(chunk.total_uncompressed_size for chunk in chunks)
    row_size: int = max(1, size // max(1, group.num_rows))
    return max(1, min(_MAX_ROWS, BATCH_SIZE // row_size))


def _parquet_file(name: str, file: BinaryIO) -> Any:
    pyarrow(name)
    from pyarrow import parquet

    buffer = _BUFFER if file.seek(0, 2) > _BUFFERED_FROM else 0
    file.seek(0)
    return parquet.ParquetFile(
        file, pre_buffer=False, buffer_size=buffer, page_checksum_verification=True
    )


def _read_arrow_file(
    name: str, field: Field, file: BinaryIO, data: ByteSource | None
) -> Iterator[Batch]:
    from pyarrow import ipc

    columns = _find_columns(_arrow_reader(name, file).schema, field, name)
    file.seek(0)
    options = ipc.IpcReadOptions(included_fields=columns, use_threads=False)
    reader = ipc.open_file(file, options=options)
    row = 1
    for number in range(reader.num_record_batches):
        batch = reader.get_batch(number)
        yield from _batch_texts(batch, field, name, row)
        row += batch.num_rows
        if data is not None and data.size:
            data.done = data.size * (number + 1) // reader.num_record_batches
    if data is not None and data.size:
        data.done = data.size


def _read_arrow_stream(name: str, field: Field, source: BlockStream) -> Iterator[Batch]:
    """Yield the texts of an Arrow stream; a stream without its end mark is an error.

    Without the mark, missing data would not be noticed.
    """
    from pyarrow import ipc

    with _table_errors(name, "arrow"):
        reader = ipc.open_stream(source)
        _find_columns(reader.schema, field, name)
        row = 1
        for batch in reader:
            yield from _batch_texts(batch, field, name, row)
            row += batch.num_rows
    if source.tail != _STREAM_END:
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

    is_file = _is_arrow_file(file.read(8))
    file.seek(0)
    return ipc.open_file(file) if is_file else ipc.open_stream(file)


class _table_errors:  # noqa: N801  (a context manager, called like a function)
    """Context manager that turns pyarrow's errors into TokctlErrors that name the table."""

    def __init__(self, name: str, form: str) -> None:
        self.name, self.form = name, form

    def __enter__(self) -> None:
        pyarrow(self.name)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if isinstance(error, (pa.ArrowException, OSError, ValueError, LookupError)):
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            format_name = {"parquet": "Parquet", "arrow": "Arrow"}[self.form]
            raise BadInput(
                f"{self.name} is damaged, or not {format_name}: {reason}",
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
    match = _find_field([schema.field(index) for index in range(len(schema.names))], field)
    if match is None:
        columns = ", ".join(map(str, schema.names[:20])) or "none"
        ellipsis = ", …" if len(schema.names) > 20 else ""
        raise BadInput(
            f"{name} has no column {field}",
            f"{option} names it; there is: {columns}{ellipsis}",
            "bad-record",
        )
    path, field_type = match
    if not _is_text(field_type.type):
        raise BadInput(
            f"{name}: column {field} holds {field_type.type}, not text",
            f"{option} names the column of the texts",
            "bad-record",
        )
    return path


def _find_columns(schema: Any, field: Field, name: str) -> list[int]:
    """Return the indexes of the columns to read; raise TokctlError if none exists."""
    if isinstance(field, str):
        return path_to(schema, field, name)[:1]
    indexes = [index for index, column in enumerate(schema.names) if column in field]
    if not indexes:
        available = ", ".join(map(str, schema.names[:20])) or "none"
        raise BadInput(
            f"{name} has no column {field[0]}; there is: {available}",
            f"these are read: {', '.join(field)}; rename the one that you mean",
            "bad-record",
        )
    return indexes


def _batch_texts(batch: Any, field: Field, name: str, row: int) -> Iterator[Batch]:
    """Yield the texts of several rows; `row` is the number of the first one."""
    if isinstance(field, str):
        first, *inner_path = path_to(batch.schema, field, name)
        yield from column_batches(batch.column(first), inner_path, field, name, row)
        return
    from tokctl.core import orjson

    batch.validate()
    names = [column for column in batch.schema.names if column in field]
    try:
        rows = batch.select(names).to_pylist()
        yield Batch([orjson.dumps(row_values) for row_values in rows], first=row)
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
    for texts_part in text_column(texts).batches(BATCH_SIZE):
        yield Batch(texts_part, first=row)
        row += len(texts_part)


def texts_at(column: pa.Array, path: list[int]) -> Any:
    """Return the texts of a column as an array.

    Args:
        column: the column.
        path: result of `path_to` without its first index.
    """
    from pyarrow import compute

    texts: Any = column
    texts.validate()
    for index in path:
        texts = compute.struct_field(_storage(texts), [index])
    return _storage(texts)


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

    types = pa.types
    if types.is_dictionary(texts.type):
        indices = texts.indices if rows is None else texts.indices.take(rows)
        return text_column(texts.dictionary).chosen(numbers(indices.cast(pa.int64())))
    is_large = types.is_large_string(texts.type) or types.is_large_binary(texts.type)
    if not (is_large or types.is_string(texts.type) or types.is_binary(texts.type)):
        if getattr(types, "is_string_view", types.is_string)(texts.type):
            texts = texts.view(pa.binary_view())  # the reader checks whether the texts are UTF-8
        texts.validate(full=True)
        try:
            texts, is_large = texts.cast(pa.large_binary()), True
        except pa.ArrowNotImplementedError:  # older releases can't cast views
            texts, is_large = pa.array(texts.to_pylist(), pa.large_binary()), True
    _, offsets, data = texts.buffers()
    column = _native.TextColumn(_bytes(data), _bytes(offsets), texts.offset, len(texts), is_large)
    return column if rows is None else column.chosen(numbers(rows))


def numbers(array: Any) -> memoryview:
    """Return the memory of an array of 64-bit numbers."""
    start = array.offset
    return _bytes(array.buffers()[1])[8 * start : 8 * (start + len(array))]


def _bytes(buffer: Any) -> memoryview:
    return memoryview(b"" if buffer is None else buffer).cast("B")


def _storage(array: Any) -> Any:
    """Return the storage of an array with an extension type; other arrays as they are."""
    return getattr(array, "storage", array)


def _find_field(fields: list[Any], name: str) -> tuple[list[int], Any] | None:
    """Return the path to a field, and the field; longer names are tried first."""
    names = [field.name for field in fields]
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        prefix = ".".join(parts[:end])
        if prefix not in names:
            continue
        index = names.index(prefix)
        if end == len(parts):
            return [index], fields[index]
        inner = _find_field(_subfields(fields[index].type), ".".join(parts[end:]))
        if inner is not None:
            return [index, *inner[0]], inner[1]
    return None


def _subfields(kind: Any) -> list[Any]:
    import pyarrow as pa

    kind = getattr(kind, "storage_type", kind)
    if not pa.types.is_struct(kind):
        return []
    return [kind.field(index) for index in range(kind.num_fields)]


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
