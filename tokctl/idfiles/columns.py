"""Files of ids with more columns beside the ids: masks, positions, lengths.

A row is a document or a packed sequence. JSON Lines has an object for each row. Parquet has a list
for each row in every column. safetensors has a tensor for each column, rows end to end, and
`offsets`: 0, then the end of the ids of each row.
"""

from __future__ import annotations

import contextlib
import shutil
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from tokctl.core.files import whole_files
from tokctl.idfiles.dtypes import DTYPES, Dtype, little_endian
from tokctl.idfiles.packing import IDS, Columns
from tokctl.idfiles.parquet import GROUP_IDS, WRITING_NEEDS_PYARROW, CountedFile, pyarrow
from tokctl.idfiles.safetensors import OFFSETS, describe_tensor

#: Forms that can hold several columns.
COLUMN_FORMS = ("jsonl", "parquet", "safetensors")

#: Bytes before the first tensor; enough for a header with the longest numbers.
_HEADER_ROOM = 1024


class ColumnWriter:
    """Base class of the writers of rows.

    Attributes:
        out: stream that is written to.
        dtypes: type of each column, by name.
        rows: number of rows written so far.
        ids: number of ids written so far.
    """

    def __init__(self, out: BinaryIO, dtypes: dict[str, Dtype]) -> None:
        """Write to `out`; `dtypes` has the type of each column by name, the ids first."""
        self.out = out
        self.dtypes = dtypes
        self.rows = self.ids = 0

    def add(self, row: Columns) -> None:
        """Write a row, and count it."""
        self.write(row)
        self.rows += 1
        self.ids += len(row[IDS])

    def write(self, row: Columns) -> None:
        """Write a row; `rows` and `ids` do not count it yet."""
        raise NotImplementedError

    def finish(self) -> None:
        """Write what depends on the whole file, such as a header with the final counts."""

    def abandon(self) -> None:
        """Release an unfinished file; write nothing more."""


class JsonlColumns(ColumnWriter):
    """Writer of JSON Lines with an object for each row."""

    def write(self, row: Columns) -> None:
        """Write a row as a line."""
        from tokctl.core import orjson

        self.out.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


class ParquetColumns(ColumnWriter):
    """Writer of Parquet with a column of lists for each column of the rows, compressed by zstd.

    A row group ends with the row that reaches `GROUP_IDS` ids.
    """

    def __init__(self, out: BinaryIO, dtypes: dict[str, Dtype]) -> None:
        super().__init__(out, dtypes)
        self._pa = pa = pyarrow(WRITING_NEEDS_PYARROW)
        from pyarrow import parquet  # type: ignore[import-untyped, unused-ignore]

        kinds = {name: getattr(pa, dtype.name)() for name, dtype in dtypes.items()}
        self._schema = pa.schema([pa.field(name, pa.list_(kind)) for name, kind in kinds.items()])
        self._out = CountedFile(out)
        self._file = parquet.ParquetWriter(self._out, self._schema, compression="zstd")
        self._reset()

    def _reset(self) -> None:
        self._values = {name: array(dtype.code) for name, dtype in self.dtypes.items()}
        self._offsets = {name: array("i", [0]) for name in self.dtypes}

    def write(self, row: Columns) -> None:
        """Add a row to the row group, and write the group if it is full."""
        for name, values in self._values.items():
            values.extend(row[name])
            self._offsets[name].append(len(values))
        if len(self._values[IDS]) >= GROUP_IDS:
            self._write_group()

    def _write_group(self) -> None:
        pa, columns = self._pa, []
        for field in self._schema:
            values, offsets = self._values[field.name], self._offsets[field.name]
            kind = field.type.value_type
            inner = pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
            buffers = [None, pa.py_buffer(offsets)]
            rows = len(offsets) - 1
            columns.append(pa.ListArray.from_buffers(field.type, rows, buffers, children=[inner]))
        table = pa.Table.from_arrays(columns, schema=self._schema)
        self._file.write_table(table, row_group_size=max(rows, 1))
        self._reset()

    def finish(self) -> None:
        """Write the last row group and the footer."""
        if len(self._offsets[IDS]) > 1:
            self._write_group()
        self._file.close()

    def abandon(self) -> None:
        """Drop the unfinished file."""
        self._out.is_open = False
        self._file.close()


class SafetensorsColumns(ColumnWriter):
    """Writer of safetensors with a tensor for each column.

    The ids are first, then the columns with wider numbers before narrower ones, so that all are
    aligned.
    """

    def __init__(self, out: BinaryIO, dtypes: dict[str, Dtype], stack: ExitStack) -> None:
        import tempfile

        super().__init__(out, dtypes)
        self._dtypes = {**dtypes, OFFSETS: DTYPES["int64"]}
        names = sorted(self._dtypes, key=lambda name: (name != IDS, -self._dtypes[name].width))
        # The ids are written to `out` at once; the other columns are kept in unnamed temporary
        # files.
        open_spool = tempfile.TemporaryFile
        self._spools = {name: stack.enter_context(open_spool()) for name in names[1:]}
        self._counts = dict.fromkeys(names, 0)
        out.write(bytes(_HEADER_ROOM))
        self._append(OFFSETS, [0])

    def write(self, row: Columns) -> None:
        """Append the values of a row to the tensor of each column."""
        for name in self.dtypes:
            self._append(name, row[name])
        self._append(OFFSETS, [self._counts[IDS]])

    def _append(self, name: str, values: Sequence[int]) -> None:
        data = little_endian(array(self._dtypes[name].code, values))
        self._spools.get(name, self.out).write(data)
        self._counts[name] += len(values)

    def finish(self) -> None:
        """Append the tensors that were kept in temporary files, and write the header."""
        from tokctl.core import orjson

        tensors: dict[str, dict[str, Any]] = {}
        offset = 0
        for name, count in self._counts.items():
            dtype = self._dtypes[name]
            if padding := -offset % dtype.width:
                # PyTorch can't read unaligned tensors, and every byte must belong to a tensor.
                tensors["padding"] = describe_tensor("U8", padding, offset, offset + padding)
                self.out.write(bytes(padding))
                offset += padding
            end = offset + count * dtype.width
            tensors[name] = describe_tensor(dtype.safetensors, count, offset, end)
            if spool := self._spools.get(name):
                spool.seek(0)
                shutil.copyfileobj(spool, self.out, 1 << 20)
            offset = end
        self.out.seek(0)
        self.out.write((_HEADER_ROOM - 8).to_bytes(8, "little"))
        self.out.write(orjson.dumps(tensors).ljust(_HEADER_ROOM - 8))
        self.out.seek(0, 2)


@contextlib.contextmanager
def open_columns(
    form: str, target: str | Path | BinaryIO, dtypes: dict[str, Dtype]
) -> Iterator[ColumnWriter]:
    """Open a writer of rows; its file appears, complete, when the block ends without error.

    Args:
        form: one of `COLUMN_FORMS`.
        target: a path or a stream. `safetensors` writes to a stream when the block ends.
        dtypes: type of each column, `input_ids` first.

    Raises:
        TokctlError: the file can't be written; `parquet` without pyarrow.
    """
    from tokctl.idfiles.output import spooled

    if form == "parquet":
        pyarrow(WRITING_NEEDS_PYARROW)
    with whole_files() as files, ExitStack() as stack:
        out = files.open(target) if isinstance(target, (str, Path)) else target
        writer: ColumnWriter
        if form == "safetensors":
            is_file = isinstance(target, (str, Path)) and out.seekable()
            out = out if is_file else stack.enter_context(spooled(out))
            writer = SafetensorsColumns(out, dtypes, stack)
        else:
            writer = (JsonlColumns if form == "jsonl" else ParquetColumns)(out, dtypes)
        try:
            yield writer
            writer.finish()
        except BaseException:
            writer.abandon()
            raise
