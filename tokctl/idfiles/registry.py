"""Registry of the forms of files of ids, each with its module, writer and reader."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

#: Megatron-LM uses 16 bits for fewer ids than this and 32 bits otherwise (`optimal_dtype` in its
#: `indexed_dataset.py`).
_MEGATRON_16_BITS = 65_500


class Form(NamedTuple):
    """A form of files of ids.

    Attributes:
        name: name on the command line and in manifests.
        module: module of the form in this folder, imported when the form is used.
        writer: name of its `IdFileWriter`; empty: the form is only read.
        reader: name of its function from an `IdInput` to `IdPart`s; empty: it holds lines.
        magic: first bytes of every file; empty: they show nothing.
        endings: endings that are added to the target's name, the largest file first.
        has_index: whether the form stores no ends of documents, so that an index can be beside it.
            Shards then have exactly the given number of ids.
        wide_from: size of a vocabulary from which on the ids are `wide`, and not uint16.
        wide: type of ids of large vocabularies.
    """

    name: str
    module: str
    writer: str
    reader: str
    magic: bytes = b""
    endings: tuple[str, ...] = ("",)
    has_index: bool = False
    wide_from: int = (1 << 16) + 1
    wide: str = "uint32"

    @property
    def writer_class(self) -> Any:
        """The class of the writer, an `IdFileWriter`."""
        return self._load(self.writer)

    def read(self, source: Any) -> Iterator[Any]:
        """Return the ids of an `IdInput` as `IdPart`s."""
        ids: Iterator[Any] = self._load(self.reader)(source)
        return ids

    def _load(self, name: str) -> Any:
        return getattr(import_module(f"tokctl.idfiles.{self.module}"), name)


_ROWS = (
    Form("bin", "raw", "RawWriter", "read_bin", has_index=True),
    Form("npy", "npy", "NpyWriter", "read_npy", b"\x93NUMPY", has_index=True),
    # Hugging Face writes int32.
    Form("parquet", "parquet", "ParquetWriter", "read_parquet", b"PAR1", wide_from=0, wide="int32"),
    Form("arrow", "parquet", "", "read_arrow", b"ARROW1"),
    Form(
        *("megatron", "megatron", "MegatronWriter", "read_megatron", b"MMIDIDX\0\0"),
        endings=(".bin", ".idx"),
        wide_from=_MEGATRON_16_BITS,
        wide="int32",
    ),
    Form("safetensors", "safetensors", "SafetensorsWriter", "read_safetensors"),
    Form("jsonl", "raw", "RawWriter", ""),
)

#: All forms but `ids`, lines that only `decode` reads.
BY_NAME = {form.name: form for form in _ROWS}

#: Forms that hold ids without text beside them.
BINARY_FORMS = tuple(form.name for form in _ROWS if form.writer and form.reader)

#: Forms that a folder of shards can have.
SHARDED = tuple(form.name for form in _ROWS if form.writer)

#: Forms of numbers that are read.
READABLE = tuple(form.name for form in _ROWS if form.reader)
