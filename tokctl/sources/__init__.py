"""Where text comes from: files, folders, archives, tables and stdin, as documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, TypeAlias

from tokctl.errors import TokctlError
from tokctl.sources import opening
from tokctl.sources.document import Archive, Batch, Document, Records, Source, flat, total_size
from tokctl.sources.files import BLOCK_SIZE, Place, file_place, read_blocks, stdin_place
from tokctl.sources.reading import AUTO, Reading
from tokctl.sources.utf8 import check_utf8, checked_batch, invalid_utf8

__all__ = [
    "AUTO",
    "BLOCK_SIZE",
    "STDIN",
    "Archive",
    "Batch",
    "Document",
    "Named",
    "Reading",
    "Records",
    "Source",
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

STDIN = "-"

#: A path, `-` for stdin, or a source that is there already.
Named: TypeAlias = str | os.PathLike[str] | Source


def open_sources(
    paths: Sequence[str | Path], reading: Reading = AUTO, *, stdin: BinaryIO | None = None
) -> list[Source]:
    """What `paths` name, each checked before anything is read: files of any form, folders,
    archives, patterns, addresses.

    `-` is stdin, the process's own unless another is given. Only as much is read as it takes
    to know the form: the first bytes, and the columns of a table.

    Raises:
        TokctlError: something is missing or can't be read, a folder or a pattern has no files,
            a table has no such column, or a package is missing that a form needs.
    """
    _check_stdin(paths)
    opened = [source for path in paths for source in _opened(str(path), reading, stdin)]
    texts = all(isinstance(source, Document) for source in opened)
    if reading.text_field is not None and reading.format == "auto" and texts and opened:
        raise TokctlError(
            f"there is no field {reading.text_field} to be read: {opened[0].name} is plain text",
            "JSON Lines are known by their name (.jsonl, .ndjson); else add --format jsonl",
        )
    return opened


def opened(sources: Named | Iterable[Named], reading: Reading = AUTO) -> list[Source]:
    """Paths as the sources that they name, which are checked; sources as they are; in the order
    given. A folder or a pattern is as many sources as there are files.

    Args:
        sources: one, or several; `-` is stdin.
        reading: how the paths are read.

    Raises:
        TokctlError: a path is missing, or can't be read.
    """
    if isinstance(sources, (str, os.PathLike, Document, Records, Archive)):
        sources = [sources]
    found: list[Source] = []
    for are_paths, some in groupby(sources, lambda source: isinstance(source, (str, os.PathLike))):
        if are_paths:
            paths = [path if isinstance(path, str) else Path(path) for path in some]  # type: ignore[arg-type]
            found += open_sources(paths, reading)
        else:
            found += some  # type: ignore[arg-type]
    return found


def documents(
    paths: Sequence[str | Path],
    *,
    stdin: BinaryIO | None = None,
    raw: bool = False,
) -> list[Document]:
    """The documents that `paths` name, each one text, decompressed unless it is `raw`, and
    checked before anything is read.

    `-` is stdin, the process's own unless another is given. Raises TokctlError for what is
    missing, is a folder or can't be read.
    """
    _check_stdin(paths)
    return [
        opening.document(
            stdin_place(stdin) if str(path) == STDIN else file_place(path),
            raw=raw,
        )
        for path in paths
    ]


def _check_stdin(paths: Sequence[str | Path]) -> None:
    if sum(str(path) == STDIN for path in paths) > 1:
        raise TokctlError("stdin (-) is named twice", "it can be read only once")


def _opened(path: str, reading: Reading, stdin: BinaryIO | None) -> Iterator[Source]:
    if path == STDIN:
        yield opening.source(stdin_place(stdin), reading, is_stdin=True)
        return
    if "://" in path:
        from tokctl.sources import remote

        if remote.is_address(path):
            for place in remote.places(path, reading):
                yield opening.source(place, reading)
            return
    for place, own in _local(path, reading):
        yield opening.source(place, own)


def _local(path: str, reading: Reading) -> Iterator[tuple[Place, Reading]]:
    """The files that a path names, and how each is read."""
    if os.path.isdir(path):  # noqa: PTH112
        from tokctl.sources import folders, saved_datasets

        if reading.format in ("auto", "arrow") and saved_datasets.is_one(path):
            arrow = replace(reading, format="arrow")
            yield from ((file_place(file), arrow) for file in saved_datasets.arrow_files(path))
            return
        yield from ((file_place(file), reading) for file in folders.files_of(path, reading))
        return
    if any(char in path for char in "*?[") and not os.path.lexists(path):
        from tokctl.sources.folders import expand

        for found in expand(path):
            yield from _local(found, reading)
        return
    yield file_place(path), reading
