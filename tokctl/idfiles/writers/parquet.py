"""Parquet: one row for each document, its ids as a list."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Any, BinaryIO

from tokctl.errors import TokctlError
from tokctl.idfiles.chunks import Chunk
from tokctl.idfiles.dtypes import Dtype
from tokctl.idfiles.writers.contract import Writer

#: A row group ends with the document that reaches so many ids, or with so many documents.
GROUP_IDS = 1 << 22
GROUP_DOCUMENTS = 1 << 20

#: The longest row group: where rows begin in it are 32-bit numbers.
_LONGEST = 2**31 - 1


def pyarrow() -> Any:
    """pyarrow and its Parquet part; TokctlError where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise TokctlError(
            "writing Parquet needs pyarrow", "pip install 'tokctl[parquet]'"
        ) from error
    return pyarrow


class ParquetWriter(Writer):
    """One column, `input_ids`, compressed by zstd, a row group at a time."""

    def __init__(self, out: BinaryIO, dtype: Dtype) -> None:
        super().__init__(dtype)
        self._pa = pa = pyarrow()
        self._type = getattr(pa, dtype.name)()
        self._schema = pa.schema([pa.field("input_ids", pa.list_(self._type))])
        self._out = _Counted(out)
        self._file = pa.parquet.ParquetWriter(self._out, self._schema, compression="zstd")
        self._parts: list[bytes | memoryview] = []
        self._group_ids = 0
        self._offsets = array("i", [0])

    def write(self, chunk: Chunk) -> None:
        ids = end = 0
        while True:
            wanted = bisect_left(chunk.ends, ids + GROUP_IDS - self._group_ids, lo=end)
            wanted = min(wanted, end + GROUP_DOCUMENTS - len(self._offsets))
            if wanted >= len(chunk.ends):
                self._keep(chunk.part(ids, end))
                return
            stop = chunk.ends[wanted]
            self._keep(chunk.part(ids, end, stop, wanted + 1))
            self._write_group()
            ids, end = stop, wanted + 1

    def _keep(self, chunk: Chunk) -> None:
        before = self._group_ids
        self._group_ids += chunk.count
        if self._group_ids > _LONGEST:
            raise TokctlError(
                "a document has about two billion ids, too many for a row of Parquet",
                "make each line a document with --lines, or take another form",
            )
        self._parts.append(chunk.data)
        self._offsets.extend([before + end for end in chunk.ends])

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
        if len(self._offsets) > 1:
            self._write_group()
        self._file.close()

    def abandon(self) -> None:
        self._out.is_open = False
        self._file.close()


class _Counted:
    """A file for pyarrow, which asks where it is; a pipe does not know."""

    closed = False
    #: Else what comes is dropped: pyarrow ends its files whatever has happened.
    is_open = True

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._place = 0

    def write(self, data: Any) -> int:
        if self.is_open:
            self._out.write(data)
        self._place += len(data)
        return len(data)

    def tell(self) -> int:
        return self._place

    def flush(self) -> None:
        if self.is_open:
            self._out.flush()

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True
