"""Sources of text: files, folders, archives, tables and stdin, as documents."""

from __future__ import annotations

from tokctl.sources.blocks import BLOCK_SIZE, read_blocks
from tokctl.sources.document import (
    AUTO,
    Archive,
    Batch,
    Document,
    ReadOptions,
    Records,
    Source,
    check_errors,
    check_utf8,
    checked_batch,
    flat,
    invalid_utf8,
    total_size,
)
from tokctl.sources.opening import STDIN, Named, documents, open_sources, opened

__all__ = [
    "AUTO",
    "BLOCK_SIZE",
    "STDIN",
    "Archive",
    "Batch",
    "Document",
    "Named",
    "ReadOptions",
    "Records",
    "Source",
    "check_errors",
    "check_utf8",
    "checked_batch",
    "documents",
    "flat",
    "invalid_utf8",
    "open_sources",
    "opened",
    "read_blocks",
    "total_size",
]
