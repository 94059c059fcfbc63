"""Tables of Parquet and Arrow: one column of them, some rows at a time.

Parquet: https://parquet.apache.org/docs/file-format. Arrow: its IPC format, as a file
(Feather version 2 is the same) or as a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from types import ModuleType
from typing import Any, BinaryIO, cast

from tokctl.errors import TokctlError
from tokctl.sources import columns, content
from tokctl.sources.document import Batch
from tokctl.sources.files import Place
from tokctl.sources.streams import Stream, opened, spooled

#: Rows of Parquet that are decoded at a time, at most.
_MOST_ROWS = 1 << 12
#: Bytes that are read at a time of a column of Parquet.
_BUFFER = 1 << 20
#: How a stream of Arrow ends.
_END = b"\xff\xff\xff\xff\0\0\0\0"


def pyarrow(name: str) -> ModuleType:
    """pyarrow; TokctlError where it is missing."""
    try:
        import pyarrow as module
    except ImportError as error:
        raise TokctlError(
            f"{name}: reading Parquet and Arrow needs pyarrow", "pip install 'tokctl[parquet]'"
        ) from error
    return module  # type: ignore[no-any-return, unused-ignore]


def check(place: Place, form: str, field: str) -> None:
    """TokctlError unless the regular file `place` has that column: before the work begins."""
    if place.path is not None:
        with opened(place) as file, _named(place.name, form):
            if form == "parquet":
                with _parquet_file(place.name, file) as table:
                    columns.path_to(table.schema_arrow, field, place.name)
            else:
                columns.path_to(_arrow_reader(place.name, file).schema, field, place.name)


def read(
    place: Place, form: str, field: str, blocks: Callable[[], Iterator[bytes]], *, direct: bool
) -> Iterator[Batch]:
    """The texts of a table, `parquet` or `arrow`.

    `blocks` are its bytes; where they are not those of a file that can be read `direct`, a
    form that must be read from its end is copied to a temporary file first.

    Raises:
        TokctlError: names the file, and the column or the row, where something is wrong.
    """
    pyarrow(place.name)
    if direct:
        with opened(place) as file:
            stream = form == "arrow" and not content.is_arrow_file(file.read(8))
            file.seek(0)
            if not stream:
                place.done = 0
                yield from _whole(place.name, form, field, file, place)
                return
    with closing(Stream(blocks())) as source:
        if form == "arrow" and not content.is_arrow_file(source.peek(8)):
            yield from _stream(place.name, field, source)
            return
        with spooled(source.rest(), place.name) as file:
            yield from _whole(place.name, form, field, cast(BinaryIO, file), None)


def _whole(
    name: str, form: str, field: str, file: BinaryIO, place: Place | None
) -> Iterator[Batch]:
    """A table that can be read anywhere; `place` is told how far it is, by its rows."""
    with _named(name, form):
        if form == "parquet":
            yield from _parquet(name, field, file, place)
        else:
            yield from _arrow_file(name, field, file, place)


def _parquet(name: str, field: str, file: BinaryIO, place: Place | None) -> Iterator[Batch]:
    with _parquet_file(name, file) as table:
        columns.path_to(table.schema_arrow, field, name)
        about, row = table.metadata, 1
        for number in range(table.num_row_groups):
            group = about.row_group(number)
            rows = _rows_at_a_time(group, field)
            for batch in table.iter_batches(rows, [number], [field], use_threads=False):
                first, *below = columns.path_to(batch.schema, field, name)
                yield from columns.batches(batch.column(first), below, field, name, row)
                row += batch.num_rows
                if place is not None and place.size:
                    place.done = place.size * (row - 1) // max(1, about.num_rows)
    if row - 1 != about.num_rows:
        raise TokctlError(
            f"{name} is damaged: {row - 1} of {about.num_rows} rows came", "fetch it again"
        )
    if place is not None and place.size:
        place.done = place.size


def _rows_at_a_time(group: Any, field: str) -> int:
    """So many that a group of long texts is not decoded at once."""
    parts = (group.column(place) for place in range(group.num_columns))
    size: int = sum(
        part.total_uncompressed_size
        for part in parts
        if f"{part.path_in_schema}.".startswith(f"{field}.")
    )
    each: int = max(1, size // max(1, group.num_rows))
    return max(1, min(_MOST_ROWS, columns.BATCH_SIZE // each))


def _parquet_file(name: str, file: BinaryIO) -> Any:
    pyarrow(name)
    from pyarrow import parquet

    return parquet.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER)


def _arrow_file(name: str, field: str, file: BinaryIO, place: Place | None) -> Iterator[Batch]:
    from pyarrow import ipc

    first, *below = columns.path_to(_arrow_reader(name, file).schema, field, name)
    file.seek(0)
    reader = ipc.open_file(file, options=_only(first))
    row = 1
    for number in range(reader.num_record_batches):
        batch = reader.get_batch(number)
        yield from columns.batches(batch.column(0), below, field, name, row)
        row += batch.num_rows
        if place is not None and place.size:
            place.done = place.size * (number + 1) // reader.num_record_batches
    if place is not None and place.size:
        place.done = place.size


def _stream(name: str, field: str, source: Stream) -> Iterator[Batch]:
    """A stream of Arrow, which must have its end: without it, nobody knows what is missing."""
    from pyarrow import ipc

    with _named(name, "arrow"):
        reader = ipc.open_stream(source)
        first, *below = columns.path_to(reader.schema, field, name)
        row = 1
        for batch in reader:
            yield from columns.batches(batch.column(first), below, field, name, row)
            row += batch.num_rows
    if source.tail != _END:
        raise TokctlError(
            f"{name} is cut short: its Arrow stream has no end",
            "write it again; a writer that is closed marks the end",
        )
    source.skip_rest()


def _arrow_reader(name: str, file: BinaryIO) -> Any:
    pyarrow(name)
    from pyarrow import ipc

    whole = content.is_arrow_file(file.read(8))
    file.seek(0)
    return ipc.open_file(file) if whole else ipc.open_stream(file)


def _only(column: int) -> Any:
    from pyarrow import ipc

    return ipc.IpcReadOptions(included_fields=[column], use_threads=False)


class _named:  # noqa: N801  (a context manager, called like a function)
    """pyarrow's errors as TokctlErrors that name the table."""

    def __init__(self, name: str, form: str) -> None:
        self.name, self.form = name, form

    def __enter__(self) -> None:
        pyarrow(self.name)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if isinstance(error, (pa.ArrowException, OSError, ValueError, LookupError)):
            said = str(error).strip().partition("\n")[0].rstrip(".")
            what = {"parquet": "Parquet", "arrow": "Arrow"}[self.form]
            raise TokctlError(
                f"{self.name} is damaged, or no {what}: {said}",
                "fetch or write it again; --format says what a file is",
            ) from None
