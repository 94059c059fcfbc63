"""A column of text in Arrow's memory: which it is, and its rows as bytes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from tokctl.errors import TokctlError
from tokctl.sources.document import Batch

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of text in a batch, unless one row has more.
BATCH_SIZE = 1 << 22


def path_to(schema: Any, field: str, name: str) -> list[int]:
    """The place of a column, and within it that of each field below: `a.b` is the field b of
    the column a, unless a column is called so itself.

    Raises:
        TokctlError: there is none, with the columns that there are; or it holds no text.
    """
    found = _find([schema.field(place) for place in range(len(schema.names))], field)
    if found is None:
        columns = ", ".join(map(str, schema.names[:20])) or "none"
        more = ", …" if len(schema.names) > 20 else ""
        raise TokctlError(
            f"{name} has no column {field}", f"--text-field names it; there is: {columns}{more}"
        )
    path, last = found
    if not _is_text(last.type):
        raise TokctlError(
            f"{name}: column {field} holds {last.type}, and no text",
            "--text-field names the column of the texts",
        )
    return path


def batches(column: pa.Array, path: list[int], field: str, name: str, row: int) -> Iterator[Batch]:
    """The texts of a column; `path` is that of `path_to` without the column's own place.

    `row` is the number of its first row, for messages and for the batches.
    """
    import pyarrow as pa
    from pyarrow import compute

    texts: Any = column
    for place in path:
        texts = compute.struct_field(_stored(texts), [place])
    texts = _stored(texts)
    if null := _first_null(texts):
        raise TokctlError(f"{name}: row {row + null - 1}: {field} is null", "leave such rows out")
    if pa.types.is_dictionary(texts.type):
        values = [text for batch in _pieces(texts.dictionary, 1) for text in batch.texts]
        yield from _chosen(values, texts.indices.to_pylist(), row)
    else:
        yield from _pieces(texts, row)


def _first_null(texts: Any) -> int:
    """The number of the first row that is null, from 1; 0: there is none."""
    from pyarrow import compute

    nulls = texts.is_valid()
    # Of a dictionary's rows, those are null as well whose value is.
    if hasattr(texts, "indices") and texts.dictionary.null_count:
        nulls = compute.and_(nulls, compute.take(texts.dictionary.is_valid(), texts.indices))
    return int(compute.index(compute.fill_null(nulls, False), False).as_py()) + 1


def _chosen(values: list[bytes], places: list[int], row: int) -> Iterator[Batch]:
    """Batches of a dictionary's values, none of which is copied for its rows."""
    texts: list[bytes] = []
    size = 0
    for number, place in enumerate(places, row):
        texts.append(values[place])
        size += len(texts[-1])
        if size >= BATCH_SIZE:
            yield Batch(texts, first=number + 1 - len(texts))
            texts, size = [], 0
    if texts:
        yield Batch(texts, first=row + len(places) - len(texts))


def _pieces(texts: Any, row: int) -> Iterator[Batch]:
    """Batches of an array of text of any layout."""
    import pyarrow as pa

    is_one = pa.types
    if is_one.is_string(texts.type) or is_one.is_binary(texts.type):
        yield from _cut(texts, "i", row)
        return
    if not (is_one.is_large_string(texts.type) or is_one.is_large_binary(texts.type)):
        texts = texts.cast(pa.large_binary())
    yield from _cut(texts, "q", row)


def _cut(texts: Any, width: Literal["i", "q"], row: int) -> Iterator[Batch]:
    """Batches of some size out of an array of offsets and bytes."""
    count = len(texts)
    if not count:
        return
    _, places, data = texts.buffers()
    start = texts.offset
    ends = memoryview(places).cast(width)[start : start + count + 1].tolist()
    first = 0
    while first < count:
        last = max(first + 1, bisect_right(ends, ends[first] + BATCH_SIZE, first, count + 1) - 1)
        base = ends[first]
        size = ends[last] - base
        text = data.slice(base, size).to_pybytes() if size else b""
        yield Batch(
            [text[a - base : b - base] for a, b in pairwise(ends[first : last + 1])],
            first=row + first,
        )
        first = last


def _stored(array: Any) -> Any:
    """What an extension type keeps its values in."""
    return getattr(array, "storage", array)


def _find(fields: list[Any], name: str) -> tuple[list[int], Any] | None:
    """The way to a field, and the field; the longest name of its own goes first."""
    names = [field.name for field in fields]
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        own = ".".join(parts[:end])
        if own not in names:
            continue
        place = names.index(own)
        if end == len(parts):
            return [place], fields[place]
        below = _find(_fields(fields[place].type), ".".join(parts[end:]))
        if below is not None:
            return [place, *below[0]], below[1]
    return None


def _fields(kind: Any) -> list[Any]:
    import pyarrow as pa

    kind = getattr(kind, "storage_type", kind)
    if not pa.types.is_struct(kind):
        return []
    return [kind.field(place) for place in range(kind.num_fields)]


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    kind = getattr(kind, "storage_type", kind)
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    types = pa.types
    return any(
        is_one(kind)
        for is_one in (
            types.is_string,
            types.is_large_string,
            types.is_binary,
            types.is_large_binary,
            types.is_fixed_size_binary,
            getattr(types, "is_string_view", types.is_string),
            getattr(types, "is_binary_view", types.is_binary),
            types.is_null,
        )
    )
