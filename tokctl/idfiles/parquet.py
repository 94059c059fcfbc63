"""Parquet and Arrow: a column with a list of ids for each document. Arrow is only read."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from tokctl.core.errors import BadInput, Unsupported
from tokctl.idfiles.chunks import Chunk, FormFiles, IdFileWriter, IdPart
from tokctl.idfiles.dtypes import DTYPES, Dtype, numbers
from tokctl.idfiles.random_access import IdInput, RandomAccessFile
from tokctl.sources.tables import column_chunks

#: Columns to look for if none is named; the first one is used for writing.
FIELDS = ("input_ids", "ids")

#: A row group ends with the document that reaches this number of ids, or this number of documents.
GROUP_IDS = 1 << 22
GROUP_DOCUMENTS = 1 << 20

#: Largest number of ids in a row group: positions in it are 32-bit numbers.
_MAX_GROUP_IDS = 2**31 - 1

#: Ids read at a time, as nearly as whole rows allow, and the largest number of rows.
_BATCH_IDS = 1 << 20
_MOST_ROWS = 1 << 16

_ARROW_MAGIC = b"ARROW1"

#: Errors beside pyarrow's own that it raises for a damaged file.
_DAMAGE_ERRORS = (OSError, ValueError, LookupError, OverflowError)


WRITING_NEEDS_PYARROW = "writing Parquet needs pyarrow"


def pyarrow(needed_for: str) -> Any:
    """Return pyarrow; raise TokctlError with the message `needed_for` if it is not installed."""
    try:
        import pyarrow  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise Unsupported(needed_for, "pip install 'tokctl[parquet]'", "missing-package") from None
    return pyarrow


class ParquetWriter(IdFileWriter):
    """Writer of the column `input_ids`, compressed by zstd, one row group at a time."""

    def __init__(self, output: FormFiles, dtype: Dtype) -> None:
        super().__init__(output, dtype)
        self._pa = pa = pyarrow(WRITING_NEEDS_PYARROW)
        from pyarrow import parquet  # type: ignore[import-untyped, unused-ignore]

        self._type = getattr(pa, dtype.name)()
        self._schema = pa.schema([pa.field(FIELDS[0], pa.list_(self._type))])
        self._counted = CountedFile(self._out)
        self._file = parquet.ParquetWriter(self._counted, self._schema, compression="zstd")
        self._parts: list[bytes | memoryview] = []
        self._group_ids = 0
        self._offsets = array("i", [0])

    @classmethod
    def libraries(cls) -> dict[str, str]:
        """Return the version of pyarrow; raise TokctlError if it is missing."""
        return {"pyarrow": pyarrow(WRITING_NEEDS_PYARROW).__version__}

    def write(self, chunk: Chunk) -> None:
        """Add a chunk to the row group, and write the groups that it completes."""
        ids = end = 0
        while True:
            last = bisect_left(chunk.ends, ids + GROUP_IDS - self._group_ids, lo=end)
            last = min(last, end + GROUP_DOCUMENTS - len(self._offsets))
            if last >= len(chunk.ends):
                self._add_to_group(chunk.part(ids, end))
                return
            stop = chunk.ends[last]
            self._add_to_group(chunk.part(ids, end, stop, last + 1))
            self._write_group()
            ids, end = stop, last + 1

    def _add_to_group(self, chunk: Chunk) -> None:
        ids_before = self._group_ids
        self._group_ids += chunk.count
        if self._group_ids > _MAX_GROUP_IDS:
            raise Unsupported(
                "a document has about two billion ids, too many for a row of Parquet",
                "make each line a document with --lines, or take another form",
            )
        self._parts.append(chunk.data)
        self._offsets.extend([ids_before + end for end in chunk.ends])

    def _write_group(self) -> None:
        pa = self._pa
        data = pa.py_buffer(b"".join(self._parts))
        ids = pa.Array.from_buffers(self._type, self._group_ids, [None, data])
        offsets = pa.py_buffer(self._offsets)
        rows = len(self._offsets) - 1
        lists = pa.ListArray.from_buffers(
            self._schema[0].type, rows, [None, offsets], children=[ids]
        )
        table = pa.Table.from_arrays([lists], schema=self._schema)
        self._file.write_table(table, row_group_size=max(rows, 1))
        self._parts, self._group_ids, self._offsets = [], 0, array("i", [0])

    def finish(self) -> None:
        """Write the last row group and the footer."""
        if len(self._offsets) > 1:
            self._write_group()
        self._file.close()

    def abandon(self) -> None:
        """Drop the unfinished file."""
        self._counted.is_open = False
        self._file.close()


class CountedFile:
    """Output file for pyarrow that counts its position, which a pipe does not know."""

    closed = False
    #: If False, data is dropped: pyarrow completes its files even after an error.
    is_open = True

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._position = 0

    def write(self, data: Any) -> int:
        """Write data unless the file was abandoned, and return its size."""
        if self.is_open:
            self._out.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._position

    def flush(self) -> None:
        """Flush the output."""
        if self.is_open:
            self._out.flush()

    def writable(self) -> bool:
        """Return whether the file can be written: always."""
        return True

    def readable(self) -> bool:
        """Return whether the file can be read: never."""
        return False

    def seekable(self) -> bool:
        """Return whether the position can be set: never."""
        return False

    def close(self) -> None:
        """Mark the file as closed; the output stays open."""
        self.closed = True


#: Schema of a table, and a function that yields a column of it in record batches.
_OpenTable = tuple[Any, Callable[[str], Iterator[Any]]]


def read_parquet(source: IdInput) -> Iterator[IdPart]:
    """Yield the ids of each row of a Parquet file.

    Args:
        source: the file, and the name of the column; None: one of `FIELDS`.

    Raises:
        TokctlError: the file is damaged, or the column is missing or does not hold lists of ids.
    """
    return _read_table(source, _parquet_table)


def read_arrow(source: IdInput) -> Iterator[IdPart]:
    """Yield the ids of each row of an Arrow file, or of a stream of record batches in a file.

    Args:
        source: as in `read_parquet`.

    Raises:
        TokctlError: as `read_parquet`.
    """
    return _read_table(source, _arrow_table)


def _read_table(
    source: IdInput, open_table: Callable[[Any, RandomAccessFile], _OpenTable]
) -> Iterator[IdPart]:
    pa = pyarrow(f"reading {source.file.name} needs the package pyarrow")
    with source.file.opened() as opened:
        name, meter = opened.name, opened.meter
        row, bytes_before = 1, meter.bytes_read
        try:
            schema, batches = open_table(pa, opened)
            column = _find_column(name, schema.names, source.field)
            _check_type(pa, name, column, schema.field(schema.get_field_index(column)).type)
            for lists in batches(column):
                meter.bytes_read = bytes_before + opened.file.tell()
                yield from _row_parts(pa, name, lists, row)
                row += len(lists)
        except (pa.ArrowException, *_DAMAGE_ERRORS) as error:
            reason = str(error).strip().partition("\n")[0]
            raise BadInput(
                f"{name} can't be read from row {row:,} on: {reason}",
                "the file may be damaged, cut off, or of another form: name its form with --from",
                "damaged",
            ) from None


def _parquet_table(pa: Any, opened: RandomAccessFile) -> _OpenTable:
    from pyarrow import parquet

    opened.file.seek(0)
    file = parquet.ParquetFile(
        pa.PythonFile(opened.file, mode="r"), pre_buffer=False, page_checksum_verification=True
    )

    def batches(column: str) -> Iterator[Any]:
        for group in range(file.num_row_groups):
            rows = _rows_per_batch(
                file.metadata.row_group(group), column_chunks(file, group, column)
            )
            for batch in file.iter_batches(rows, row_groups=[group], columns=[column]):
                yield batch.column(0)

    return file.schema_arrow, batches


def _arrow_table(pa: Any, opened: RandomAccessFile) -> _OpenTable:
    is_file = opened.size >= 6 and opened.read(0, 6) == _ARROW_MAGIC
    opened.file.seek(0)
    file = pa.PythonFile(opened.file, mode="r")
    reader = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)

    def batches(column: str) -> Iterator[Any]:
        index = reader.schema.get_field_index(column)
        for batch in map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader:
            batch.validate()
            yield batch.column(index)

    return reader.schema, batches


def _find_column(name: str, names: list[str], field: str | None) -> str:
    candidates = FIELDS if field is None else (field,)
    column = next((candidate for candidate in candidates if names.count(candidate) == 1), None)
    if column is None:
        hint = f"choose one with --ids-field: {', '.join(names[:20]) or 'none'}"
        raise BadInput(
            f"{name} has no column {' or '.join(map(repr, candidates))}", hint, "bad-record"
        )
    return column


def _check_type(pa: Any, name: str, column: str, kind: Any) -> None:
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not is_list or not types.is_integer(kind.value_type):
        raise BadInput(
            f"{name}: the column {column!r} is {kind}, not lists of whole numbers",
            "--ids-field names another column",
            "bad-record",
        )


def _rows_per_batch(group: Any, chunks: list[Any]) -> int:
    """Return the number of rows of a row group that have about `_BATCH_IDS` ids."""
    ids = sum(chunk.num_values for chunk in chunks)
    rows: int = _BATCH_IDS * group.num_rows // max(ids, 1)
    return max(1, min(_MOST_ROWS, rows))


def _row_parts(pa: Any, name: str, lists: Any, first_row: int) -> Iterator[IdPart]:
    """Yield the ids of each row of a record batch's column, without copying them."""
    values = lists.values
    if lists.null_count or values.null_count:
        _refuse_nulls(name, lists, first_row)
    dtype = DTYPES[str(values.type)]
    width = dtype.width
    data = values.buffers()[1]
    view = memoryview(data if data is not None else b"")
    view = view[values.offset * width : (values.offset + len(values)) * width]
    ends = _row_ends(pa, lists)
    begin = next(ends)
    for row, end in enumerate(ends, first_row):
        if not 0 <= begin <= end <= len(values):
            raise ValueError(f"a list from {begin} to {end} of {len(values)} numbers")
        ids = numbers(view[begin * width : end * width], dtype)
        yield IdPart(ids, lambda i, row=row: f"{name}: row {row}, number {1 + i}", ends=True)  # type: ignore[misc]
        begin = end


def _row_ends(pa: Any, lists: Any) -> Iterator[int]:
    """Yield the index of the first value, then the index after the last value of each row."""
    if pa.types.is_fixed_size_list(lists.type):
        size = lists.type.list_size
        start = lists.offset * size
        yield from (
            range(start, start + size * len(lists) + 1, size) if size else [0] * (1 + len(lists))
        )
        return
    offsets = lists.offsets
    dtype = DTYPES[str(offsets.type)]
    buffer = memoryview(offsets.buffers()[1])
    begin, end = offsets.offset * dtype.width, (offsets.offset + len(offsets)) * dtype.width
    yield from numbers(buffer[begin:end], dtype)


def _refuse_nulls(name: str, lists: Any, first_row: int) -> None:
    for row, ids in enumerate(lists, first_row):
        if not ids.is_valid or ids.values.null_count:
            raise BadInput(
                f"{name}: row {row} has no ids, or a number is missing in it",
                "leave such rows out",
                "bad-record",
            )
