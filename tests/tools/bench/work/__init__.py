"""The rows: what is measured, in the order of the report."""

from __future__ import annotations

from tests.tools.bench.rows import Row, Sizes
from tests.tools.bench.work import (
    commands,
    decoding,
    encoding,
    growth,
    memory,
    recent,
    scale,
    training,
)


def all_rows(sizes: Sizes) -> list[Row]:
    return [
        *scale.rows(sizes),
        *encoding.rows(sizes),
        *decoding.rows(sizes),
        *training.rows(sizes),
        *commands.rows(sizes),
        *growth.rows(sizes),
        *growth.odd_rows(sizes),
    ]


def memory_rows(sizes: Sizes) -> list[Row]:
    """What `--memory` measures instead."""
    return memory.rows(sizes)


def recent_rows(sizes: Sizes) -> list[Row]:
    """What `--recent` measures instead."""
    return recent.rows(sizes)
