"""Parquet and Arrow: a column of lists of ids, each row a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokctl.errors import TokctlError
from tokctl.idfiles.readers.contract import Part
from tokctl.idfiles.readers.given import Given, Opened
from tokctl.idfiles.readers.kinds import KINDS, numbers

#: Columns that are looked for where none is named.
FIELDS = ("input_ids", "ids")

#: Ids that are read at a time, as nearly as whole rows allow.
_IDS = 1 << 20
_MOST_ROWS = 1 << 16

_ARROW_MAGIC = b"ARROW1"

#: What pyarrow raises, beside its own, for a damaged file.
_DAMAGE = (OSError, ValueError, LookupError, OverflowError)


def pyarrow(name: str) -> Any:
    """pyarrow; TokctlError where it is not installed."""
    try:
        import pyarrow  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise TokctlError(
            f"reading {name} needs the package pyarrow", "pip install 'tokctl[parquet]'"
        ) from None
    return pyarrow


def parquet_parts(given: Given, field: str | None) -> Iterator[Part]:
    """The rows of a Parquet file.

    Raises:
        TokctlError: it is damaged, has no such column, or holds something else in it.
    """
    pa = pyarrow(given.name)
    from pyarrow import parquet  # type: ignore[import-untyped, unused-ignore]

    with given.opened() as opened:
        row, before = 1, opened.meter.done
        try:
            file = parquet.ParquetFile(_file(pa, opened), pre_buffer=False)
            column = _column(opened.name, file.schema_arrow.names, field)
            place = file.schema_arrow.get_field_index(column)
            _check(pa, opened.name, column, file.schema_arrow.field(place).type)
            for group in range(file.num_row_groups):
                step = _rows(file.metadata.row_group(group), column)
                batches = file.iter_batches(step, row_groups=[group], columns=[column])
                for batch in batches:
                    opened.meter.done = before + opened.file.tell()
                    yield from _parts(pa, opened.name, batch.column(0), row)
                    row += batch.num_rows
        except (pa.ArrowException, *_DAMAGE) as error:
            raise _damaged(opened.name, row, error) from None


def arrow_parts(given: Given, field: str | None) -> Iterator[Part]:
    """The rows of an Arrow file, or of a stream of record batches in a file.

    Raises:
        TokctlError: as `parquet_parts`.
    """
    pa = pyarrow(given.name)
    with given.opened() as opened:
        row, before = 1, opened.meter.done
        try:
            is_file = opened.size >= 6 and opened.read(0, 6) == _ARROW_MAGIC
            file = _file(pa, opened)
            reader = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
            column = _column(opened.name, reader.schema.names, field)
            place = reader.schema.get_field_index(column)
            _check(pa, opened.name, column, reader.schema.field(place).type)
            count = reader.num_record_batches if is_file else None
            batches = map(reader.get_batch, range(count)) if count is not None else reader
            for batch in batches:
                batch.validate()
                opened.meter.done = before + opened.file.tell()
                yield from _parts(pa, opened.name, batch.column(place), row)
                row += batch.num_rows
        except (pa.ArrowException, *_DAMAGE) as error:
            raise _damaged(opened.name, row, error) from None


def _file(pa: Any, opened: Opened) -> Any:
    opened.file.seek(0)
    return pa.PythonFile(opened.file, mode="r")


def _damaged(name: str, row: int, error: Exception) -> TokctlError:
    reason = str(error).strip().partition("\n")[0]
    return TokctlError(
        f"{name} can't be read from row {row:,} on: {reason}",
        "is it damaged, cut off, or of another form? --from names it",
    )


def _column(name: str, names: list[str], field: str | None) -> str:
    wanted = FIELDS if field is None else (field,)
    found = next((each for each in wanted if names.count(each) == 1), None)
    if found is None:
        hint = f"it has: {', '.join(names[:20]) or 'none'}; --ids-field names one"
        raise TokctlError(f"{name} has no column {' or '.join(map(repr, wanted))}", hint)
    return found


def _check(pa: Any, name: str, column: str, kind: Any) -> None:
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not is_list or not types.is_integer(kind.value_type):
        raise TokctlError(
            f"{name}: the column {column!r} is {kind}, not lists of whole numbers",
            "--ids-field names another column",
        )


def _rows(group: Any, column: str) -> int:
    """So many rows of a row group have about as many ids as are read at a time."""
    ids = 0
    for place in range(group.num_columns):
        found = group.column(place)
        if found.path_in_schema.split(".")[0] == column:
            ids = found.num_values
    rows: int = _IDS * group.num_rows // max(ids, 1)
    return max(1, min(_MOST_ROWS, rows))


def _parts(pa: Any, name: str, lists: Any, first: int) -> Iterator[Part]:
    """Each row of a chunk of a column; the ids are read where they stand in it."""
    values = lists.values
    if lists.null_count or values.null_count:
        _refuse_nulls(name, lists, first)
    kind = KINDS[str(values.type)]
    width = kind.width
    data = values.buffers()[1]
    view = memoryview(data if data is not None else b"")
    view = view[values.offset * width : (values.offset + len(values)) * width]
    ends = _ends(pa, lists)
    begin = next(ends)
    for row, end in enumerate(ends, first):
        if not 0 <= begin <= end <= len(values):
            raise ValueError(f"a list from {begin} to {end} of {len(values)} numbers")
        ids = numbers(view[begin * width : end * width], kind)
        yield Part(ids, lambda at, row=row: f"{name}: row {row}, number {1 + at}", ends=True)  # type: ignore[misc]
        begin = end


def _ends(pa: Any, lists: Any) -> Iterator[int]:
    """Where the first row begins among the values, and where each ends."""
    if pa.types.is_fixed_size_list(lists.type):
        size = lists.type.list_size
        start = lists.offset * size
        yield from (
            range(start, start + size * len(lists) + 1, size) if size else [0] * (1 + len(lists))
        )
        return
    offsets = lists.offsets
    kind = KINDS[str(offsets.type)]
    buffer = memoryview(offsets.buffers()[1])
    begin, end = offsets.offset * kind.width, (offsets.offset + len(offsets)) * kind.width
    yield from numbers(buffer[begin:end], kind)


def _refuse_nulls(name: str, lists: Any, first: int) -> None:
    for row, ids in enumerate(lists, first):
        if not ids.is_valid or ids.values.null_count:
            raise TokctlError(
                f"{name}: row {row} has no ids, or a number is missing in it",
                "leave such rows out",
            )
