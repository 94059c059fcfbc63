"""What every writer does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokctl.idfiles.chunks import Chunk
    from tokctl.idfiles.dtypes import Dtype
    from tokctl.idfiles.writers.index import Index


class Writer:
    """Takes chunks, one after the other; `finish` ends the last file.

    Attributes:
        dtype: of the ids.
        ids, documents: written so far; a document counts when it ends.
        index: is told of every chunk, too.
    """

    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype
        self.ids = 0
        self.documents = 0
        self.index: Index | None = None

    def add(self, chunk: Chunk) -> None:
        """Writes a chunk."""
        self.write(chunk)
        if self.index is not None:
            self.index.add(chunk)
        self.ids += chunk.count
        self.documents += len(chunk.ends)

    def write(self, chunk: Chunk) -> None:
        """What is to be done with a chunk; `ids` and `documents` are those before it."""
        raise NotImplementedError

    def finish(self) -> None:
        """Writes what can be known at the end alone."""

    def abandon(self) -> None:
        """Lets go of what is not finished, and writes no more."""
