"""Ids in files: the forms that programs read, and shards of them. `docs/idfiles.md` has each
form's layout.

    from tokctl import Tokenizer, idfiles

    tok = Tokenizer.load("book.json")
    idfiles.write(tok, ["a.txt", "b.jsonl"], "ids.npy", form="npy", eos="<|endoftext|>")

`open_writer` writes ids that were made elsewhere.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokctl.idfiles.chunks import Chunk
    from tokctl.idfiles.dtypes import Dtype, dtype_for
    from tokctl.idfiles.writers import open_writer
    from tokctl.idfiles.writing import Written, write

#: Files that hold ids, without text beside them.
FORMS = ("bin", "npy", "parquet", "megatron", "safetensors")

#: What a folder of shards can be made of.
SHARDED = (*FORMS, "jsonl")

_HOMES = {
    "Chunk": "tokctl.idfiles.chunks",
    "Dtype": "tokctl.idfiles.dtypes",
    "Written": "tokctl.idfiles.writing",
    "dtype_for": "tokctl.idfiles.dtypes",
    "open_writer": "tokctl.idfiles.writers",
    "write": "tokctl.idfiles.writing",
}

__all__ = [
    "FORMS",
    "SHARDED",
    "Chunk",
    "Dtype",
    "Written",
    "dtype_for",
    "open_writer",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tokctl.idfiles' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
