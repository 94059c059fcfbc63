"""Where text comes from: files, folders, archives, tables and stdin, as documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from tokctl.errors import TokctlError
from tokctl.sources.document import Archive, Batch, Document, Records, Source, flat, total_size
from tokctl.sources.files import BLOCK_SIZE, of_file, of_stdin, read_blocks
from tokctl.sources.reading import AUTO, Reading
from tokctl.sources.utf8 import check_utf8, checked_batch, invalid_utf8

__all__ = [
    "AUTO",
    "BLOCK_SIZE",
    "STDIN",
    "Archive",
    "Batch",
    "Document",
    "Reading",
    "Records",
    "Source",
    "check_utf8",
    "checked_batch",
    "documents",
    "flat",
    "invalid_utf8",
    "open_sources",
    "read_blocks",
    "total_size",
]

STDIN = "-"


def open_sources(
    paths: Sequence[str | Path], reading: Reading = AUTO, *, stdin: BinaryIO | None = None
) -> list[Source]:
    """What `paths` name, each checked before anything is read: files of any form, folders,
    archives, patterns, addresses.

    `-` is stdin, the process's own unless another is given. Raises TokctlError for what is
    missing or can't be read.
    """
    del reading  # so far every source is a text
    return list(documents(paths, stdin=stdin))


def documents(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
) -> list[Document]:
    """The documents that `paths` name, each checked before anything is read.

    `-` is stdin, the process's own unless another is given. Raises TokctlError for what is
    missing, is a folder or can't be read.
    """
    if sum(str(path) == STDIN for path in paths) > 1:
        raise TokctlError("stdin (-) is named twice", "it can be read only once")
    return [of_stdin(stdin) if str(path) == STDIN else of_file(path) for path in paths]
