"""Columns of texts of every layout, whole and in pieces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

LAYOUTS: dict[str, Any] = {
    "string": pa.string(),
    "large string": pa.large_string(),
    "binary": pa.binary(),
    "large binary": pa.large_binary(),
    "string view": pa.string_view(),
    "binary view": pa.binary_view(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
}


def column(texts: list[str | None], layout: str) -> Any:
    kind = LAYOUTS[layout]
    if "binary" in layout:
        return pa.array([None if text is None else text.encode() for text in texts], kind)
    return pa.array(texts, kind)


def dictionary_with_null(texts: list[str | None]) -> Any:
    """Rows that are null because their value is."""
    values = sorted({text for text in texts if text is not None})
    numbers = [len(values) if text is None else values.index(text) for text in texts]
    return pa.DictionaryArray.from_arrays(
        pa.array(numbers, pa.uint16()), pa.array([*values, None], pa.large_string())
    )


@st.composite
def text_tables(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> tuple[Any, list[str | None]]:
    """A table with a column of texts, and these."""
    chunks, rows = [], []
    layout = draw(st.sampled_from([*LAYOUTS, "null in a dictionary"]))
    for some in draw(st.lists(st.lists(st.none() | texts, max_size=6), max_size=3)):
        if layout == "null in a dictionary":
            array = dictionary_with_null(some)
        else:
            array = column(some, layout)
        start = draw(st.integers(0, len(some)))
        length = draw(st.integers(0, len(some) - start))
        chunks.append(array.slice(start, length))
        rows += some[start : start + length]
    kind = chunks[0].type if chunks else pa.string()
    numbers = pa.array(range(len(rows)), pa.int64())
    return pa.table({"text": pa.chunked_array(chunks, kind), "number": numbers}), rows
