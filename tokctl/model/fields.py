"""Fields of a model file, looked at before they are believed."""

from __future__ import annotations

from typing import Any


def strings(values: Any) -> tuple[str, ...]:
    """The texts of a list; TypeError where it is none."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("list of texts")
    return tuple(values)
