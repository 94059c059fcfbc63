"""Reading files of ids, of every form that `tokctl encode` writes, block by block.

    from tokctl import Tokenizer
    from tokctl.idfiles.readers import read_text

    for text in read_text(Tokenizer.load("book.json"), "ids.parquet"):
        print(text.decode(), end="")

It is what `tokctl decode` does; see `docs/decoding.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokctl.tokenizer.decodes import Decodes

__all__ = ["read_text"]


def read_text(tokenizer: Decodes, path: str | Path, **how: Any) -> Iterator[bytes]:
    """The text of a file of ids, of stdin (`-`) or of a folder of shards, as it comes.

    Args:
        tokenizer: the model that the ids are of.
        how: fields of `tokctl.idfiles.readers.reading.How`: form, dtype, field, skip_special,
            separator.

    Raises:
        TokctlError: it is missing, damaged or cut short; an id is outside the vocabulary. The
            message names the file and the place.
    """
    from tokctl.idfiles.readers.reading import How, Source

    return Source(str(path), How(**how)).text(tokenizer)
