"""Files of ids in formats that training programs read, and shards of them.

`docs/idfiles.md` describes each format.

    from tokctl import Tokenizer, idfiles

    tok = Tokenizer.load("book.json")
    idfiles.write(tok, ["a.txt", "b.jsonl"], "ids.npy", form="npy", eos="<|endoftext|>")

`open_writer` writes ids from any other source; `read_text` decodes a file of ids.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tokctl.idfiles.registry import BINARY_FORMS, SHARDED

if TYPE_CHECKING:
    from tokctl.idfiles.chunks import Chunk
    from tokctl.idfiles.dtypes import Dtype, dtype_for
    from tokctl.idfiles.output import Written, open_writer
    from tokctl.idfiles.reader import read_text
    from tokctl.idfiles.writer import write

_MODULES = {
    "Chunk": "tokctl.idfiles.chunks",
    "Dtype": "tokctl.idfiles.dtypes",
    "Written": "tokctl.idfiles.output",
    "dtype_for": "tokctl.idfiles.dtypes",
    "open_writer": "tokctl.idfiles.output",
    "read_text": "tokctl.idfiles.reader",
    "write": "tokctl.idfiles.writer",
}

__all__ = [
    "BINARY_FORMS",
    "SHARDED",
    "Chunk",
    "Dtype",
    "Written",
    "dtype_for",
    "open_writer",
    "read_text",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tokctl.idfiles' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value
