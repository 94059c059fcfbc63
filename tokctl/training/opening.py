"""What a training reads, however it is named."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from tokctl.sources import AUTO, Archive, Document, Reading, Records, Source, open_sources


def opened(
    sources: str | Path | Source | Iterable[str | Path | Source], reading: Reading = AUTO
) -> list[Source]:
    """Paths as the sources that they name, which are checked; sources as they are; in the order
    given. A folder or a pattern is as many sources as there are files.

    Args:
        sources: one, or several; `-` is stdin.
        reading: how the paths are read.

    Raises:
        TokctlError: a path is missing, or can't be read.
    """
    if isinstance(sources, (str, Path, Document, Records, Archive)):
        sources = [sources]
    found: list[Source] = []
    for are_paths, some in groupby(sources, lambda source: isinstance(source, (str, Path))):
        given = list(some)
        found += open_sources(given, reading) if are_paths else given  # type: ignore[arg-type]
    return found
