"""Ids in files with further columns beside them: masks, positions, lengths.

A row is a document, or a packed sequence. JSON Lines has an object for each; Parquet a list in each
column; safetensors a tensor for each column, end to end, and `offsets`: 0, and where the ids of
each row end.
"""

from __future__ import annotations

import contextlib
import shutil
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from tokctl.files import whole_files
from tokctl.idfiles.dtypes import DTYPES, Dtype, little_endian
from tokctl.idfiles.packing import IDS, Columns
from tokctl.idfiles.parquet import GROUP_IDS, WRITING_NEEDS_PYARROW, CountedFile, pyarrow
from tokctl.idfiles.safetensors import OFFSETS, described

#: The forms that hold several columns.
FORMS = ("jsonl", "parquet", "safetensors")

#: Bytes before the first tensor; room for the longest numbers.
_FRONT = 1024


class ColumnWriter:
    """The base of the writers.

    Attributes:
        rows, ids: written so far.
    """

    def __init__(self, out: BinaryIO, dtypes: dict[str, Dtype]) -> None:
        """`dtypes` are those of the columns, the ids first."""
        self.out = out
        self.dtypes = dtypes
        self.rows = self.ids = 0

    def add(self, row: Columns) -> None:
        """Writes a row."""
        self.write(row)
        self.rows += 1
        self.ids += len(row[IDS])

    def write(self, row: Columns) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """Writes what is known only at the end."""

    def abandon(self) -> None:
        """Releases what is not finished."""


class JsonlColumns(ColumnWriter):
    """An object on each line."""

    def write(self, row: Columns) -> None:
        from tokctl import orjson

        self.out.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))


class ParquetColumns(ColumnWriter):
    """A column of lists for each, compressed by zstd; a row group ends with the row that reaches
    `GROUP_IDS` ids."""

    def __init__(self, out: BinaryIO, dtypes: dict[str, Dtype]) -> None:
        super().__init__(out, dtypes)
        self._pa = pa = pyarrow(WRITING_NEEDS_PYARROW)
        from pyarrow import parquet  # type: ignore[import-untyped, unused-ignore]

        kinds = {name: getattr(pa, dtype.name)() for name, dtype in dtypes.items()}
        self._schema = pa.schema([pa.field(name, pa.list_(kind)) for name, kind in kinds.items()])
        self._out = CountedFile(out)
        self._file = parquet.ParquetWriter(self._out, self._schema, compression="zstd")
        self._empty()

    def _empty(self) -> None:
        self._values = {name: array(dtype.code) for name, dtype in self.dtypes.items()}
        self._offsets = {name: array("i", [0]) for name in self.dtypes}

    def write(self, row: Columns) -> None:
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
        self._empty()

    def finish(self) -> None:
        if len(self._offsets[IDS]) > 1:
            self._write_group()
        self._file.close()

    def abandon(self) -> None:
        self._out.is_open = False
        self._file.close()


class SafetensorsColumns(ColumnWriter):
    """A tensor for each column, wider numbers first after the ids, so that all are aligned."""

    def __init__(self, out: BinaryIO, dtypes: dict[str, Dtype], stack: ExitStack) -> None:
        import tempfile

        super().__init__(out, dtypes)
        self._dtypes = {**dtypes, OFFSETS: DTYPES["int64"]}
        names = sorted(self._dtypes, key=lambda name: (name != IDS, -self._dtypes[name].width))
        # The ids go to their place at once, the others wait in files without names.
        spool = tempfile.TemporaryFile
        self._spools = {name: stack.enter_context(spool()) for name in names[1:]}
        self._counts = dict.fromkeys(names, 0)
        out.write(bytes(_FRONT))
        self._put(OFFSETS, [0])

    def write(self, row: Columns) -> None:
        for name in self.dtypes:
            self._put(name, row[name])
        self._put(OFFSETS, [self._counts[IDS]])

    def _put(self, name: str, values: Sequence[int]) -> None:
        data = little_endian(array(self._dtypes[name].code, values))
        self._spools.get(name, self.out).write(data)
        self._counts[name] += len(values)

    def finish(self) -> None:
        from tokctl import orjson

        tensors: dict[str, dict[str, Any]] = {}
        place = 0
        for name, count in self._counts.items():
            dtype = self._dtypes[name]
            if padding := -place % dtype.width:
                # PyTorch can't read what is not aligned, and no byte may be in no tensor.
                tensors["padding"] = described("U8", padding, place, place + padding)
                self.out.write(bytes(padding))
                place += padding
            end = place + count * dtype.width
            tensors[name] = described(dtype.safetensors, count, place, end)
            if spool := self._spools.get(name):
                spool.seek(0)
                shutil.copyfileobj(spool, self.out, 1 << 20)
            place = end
        self.out.seek(0)
        self.out.write((_FRONT - 8).to_bytes(8, "little"))
        self.out.write(orjson.dumps(tensors).ljust(_FRONT - 8))
        self.out.seek(0, 2)


@contextlib.contextmanager
def open_columns(
    form: str, target: str | Path | BinaryIO, dtypes: dict[str, Dtype]
) -> Iterator[ColumnWriter]:
    """A writer of one of `FORMS`; the file is there, whole, when the block ends without an error.

    Args:
        target: the file, or a stream, which `safetensors` writes to at the end.
        dtypes: the columns with their types, `input_ids` first.

    Raises:
        TokctlError: the file can't be written; `parquet` without pyarrow.
    """
    from tokctl.idfiles.writer import spooled

    if form == "parquet":
        pyarrow(WRITING_NEEDS_PYARROW)
    with whole_files() as together, ExitStack() as stack:
        out = together.open(target) if isinstance(target, (str, Path)) else target
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
