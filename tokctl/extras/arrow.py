"""Encoding, and counting pre-tokens, as pure functions from Arrow tables to Arrow tables.

    from tokctl import Tokenizer
    from tokctl.extras import arrow

    encoded = arrow.encode_table(table, "book.json")
    parts = [arrow.count_table(part, "bpe", source=n) for n, part in enumerate(tables)]
    counts = arrow.counts_from_table(arrow.merge_counts(parts))
    tokenizer = Tokenizer.train(counts, vocab_size=10_000)

A table is a pyarrow table, or any object with Arrow's PyCapsule interface: a DataFrame of polars or
of pandas 2.2 and later, a batch of `datasets`. The text column can be strings or binary, of any
layout (large, views, dictionaries), in any number of chunks; `a.b` is the field `b` of the column
`a`. A null text has no ids, and is not counted.

The functions keep no state except the models that they have read. So an engine can call them in any
order, in any process, and more than once. Errors number rows from 1.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokctl import _native
from tokctl.core.errors import BadInput, BadOption, CoreError, TokctlError
from tokctl.core.values import brief, suggesting
from tokctl.model import Recipe
from tokctl.model.algorithms import ALGORITHMS
from tokctl.model.parts import native_parts
from tokctl.model.presets import PRESETS, default_recipe, preset
from tokctl.sources import check_errors, invalid_utf8, tables
from tokctl.tokenizer import Tokenizer
from tokctl.tokenizer.encoding import no_id_error
from tokctl.tokenizer.postprocess import Truncation
from tokctl.tokenizer.tokenizer import Special, check_threads
from tokctl.training.counting import finish_counts, memory_limit
from tokctl.training.options import MOST, TrainOptions

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["count_table", "counts_from_table", "encode_table", "merge_counts", "partition_counts"]

#: The most models that a process keeps.
_MODELS = 8
#: The most bytes of text whose ids become one chunk, unless a single text is longer.
_CHUNK = 1 << 28
#: The most ids in a chunk of lists with 32-bit offsets.
_LONGEST = 2**31 - 1
#: The columns of a table of counts.
_COUNTED = ("pre_token", "count", "source", "place")


@suggesting
def encode_table(
    table: Any,
    model: Tokenizer | str | os.PathLike[str],
    text: str = "text",
    *,
    ids: str = "ids",
    count: str = "count",
    replace: bool = False,
    special: Special = "none",
    add_special: bool = False,
    truncation: Truncation | int | None = None,
    errors: str = "strict",
    threads: int = 1,
) -> pa.Table:
    """Return the table with two more columns: the ids of each text, and the number of ids.

    The ids equal those of `Tokenizer.encode_ids`. Both columns are null if the text is null.

    Args:
        table: see the module's description.
        model: a tokenizer, or a path for `Tokenizer.load`. A path is read once in each process, and
            again if the file has changed.
        text: the column of the texts.
        ids: the name of the new column of ids. Its type is `list<uint32>`, or `large_list<uint32>`
            if a chunk has 2^31 ids or more.
        count: the name of the new column of counts. Its type is `int64`.
        replace: whether the new columns replace existing columns of the same names.
        special: the special tokens to recognize in texts, as in `Tokenizer.encode`.
        add_special: whether to add special tokens around each text, as in `Tokenizer.encode`.
        truncation: how to cut the ids of each text, as in `Tokenizer.encode`.
        errors: `strict` or `replace`, for text that is not UTF-8 (character models).
        threads: the number of threads. The ids do not depend on it.

    Raises:
        TokctlError: the column is missing or holds no text; a new column's name is already used;
            any error of `Tokenizer.encode_ids`, with the row.

    Example:
        table = pyarrow.table({"text": ["a lot", "of treasure"]})
        encode_table(table, "book.json")["count"].to_pylist()  # [2, 3]
    """
    pa = _pyarrow()
    tokenizer = _tokenizer(model)
    check_errors(errors)
    check_threads(threads)
    source = _table(pa, table)
    if ids == count:
        raise BadOption(
            f"the columns of ids and of counts can't both be called {ids}",
            "give them different names with ids=… and count=…",
            "conflict",
        )
    for name in (ids, count):
        if name in source.column_names and not replace:
            raise BadOption(
                f"the table has a column {name} already",
                "ids=… and count=… name the new ones, or replace=True replaces it",
                "output-taken",
            )
    cut = Truncation.of(truncation)
    around = tokenizer.post_processor.template(False, add_special).around
    wrap = _Wrap([part.raw_ids for part in around], cut) if add_special or cut else None
    encoder = tokenizer.encoder
    matcher = tokenizer.special_matcher(special)
    strict = tokenizer.must_have_ids
    characters = not tokenizer.recipe.is_byte_level

    def encoded(texts: _Texts) -> _Lists:
        column = texts.checked(errors) if characters else texts.column
        try:
            found = encoder.batch_array(column, threads, matcher, None, strict)
        except CoreError as error:
            if error.kind != "no-id":
                raise
            raise no_id_error(f"a character of row {texts.row(error.details[0])}") from None
        return _Lists(pa, *(wrap.applied(*found) if wrap else found), texts.valid)

    lists = [encoded(texts) for texts in _texts(source.schema, [source], text)]
    large = any(part.count > _LONGEST for part in lists)
    kind = pa.large_list(pa.uint32()) if large else pa.list_(pa.uint32())
    chunks = [part.array(kind) for part in lists]
    lengths = [pa.compute.list_value_length(chunk).cast(pa.int64()) for chunk in chunks]
    columns = {ids: (chunks, kind), count: (lengths, pa.int64())}
    for name, (parts, of) in columns.items():
        column = pa.chunked_array(parts, of)
        if name in source.column_names:
            source = source.set_column(source.column_names.index(name), name, column)
        else:
            source = source.append_column(name, column)
    return source


@suggesting
def count_table(
    table: Any,
    recipe: Recipe | Tokenizer | str | os.PathLike[str] = "bpe",
    text: str = "text",
    *,
    source: int = 0,
    weight: int = 1,
    errors: str = "strict",
    threads: int = 1,
    memory: int | None = None,
    temporary: str | Path | None = None,
) -> pa.Table:
    """Count the pre-tokens of the texts; return the distinct ones in first-seen order.

    Args:
        table: see the module's description. A `pyarrow.RecordBatchReader` is read one batch at a
            time.
        recipe: the normalizer and pre-tokenizer to use: a recipe, a tokenizer, the name of an
            algorithm or of a preset, or a path for `Tokenizer.load`.
        text: the column of the texts.
        source: the number of this part, if texts are counted in parts. Number the parts in the
            order of the texts.
        weight: how often each occurrence counts.
        errors: `strict` or `replace`, for text that is not UTF-8 (character recipes).
        threads: the number of threads. The result does not depend on it.
        memory: the limit on memory in bytes, as in `Tokenizer.train`. The result does not depend on
            it.
        temporary: the folder for temporary files, as in `Tokenizer.train`.

    Returns:
        A table with the columns `pre_token` (`large_binary`), `count`, `source` (the argument) and
        `place` (the number of distinct pre-tokens seen before); the last three are `uint64`.

    Raises:
        TokctlError: the column is missing or holds no text; a text is not UTF-8 and the recipe is
            character-level (the error names the row); a count is 2^63 or more.

    Example:
        counted = count_table(pyarrow.table({"text": ["low low low"]}), "bpe")
        counted["pre_token"].to_pylist()  # [b'low', b' low']
        counted["count"].to_pylist()  # [1, 2]
    """
    pa = _pyarrow()
    split = recipe_of(recipe)
    check_threads(threads)
    _check_number("source", source, 0, 2**64)
    _check_number("weight", weight, 1, MOST)
    options = TrainOptions(threads=threads, errors=errors, memory=memory, temporary=temporary)
    parts = native_parts(split.pre_tokenizers), native_parts(split.normalizers)
    counter = _native.Counter(*parts, threads, **memory_limit(options))
    counter.set_weight(weight)
    if isinstance(table, pa.RecordBatchReader):
        tables_of_batches: Iterable[Any] = (pa.Table.from_batches([batch]) for batch in table)
    else:
        table = _table(pa, table)
        tables_of_batches = [table]
    for texts in _texts(table.schema, tables_of_batches, text):
        column = texts.column if split.is_byte_level else texts.checked(errors)
        counter.feed_documents(column)
    return table_of_counts(finish_counts(counter, 1), source)


def table_of_counts(counts: _native.Counts, source: int, rows_before: int = 0) -> pa.Table:
    """Return a table of counts like `count_table`, with places that begin at `rows_before`."""
    pa = _pyarrow()
    size = len(counts)
    ones = pa.repeat(pa.scalar(1, pa.uint64()), size)
    start = pa.scalar(rows_before, pa.uint64())
    row_numbers = pa.compute.subtract(pa.compute.cumulative_sum(ones, start), ones)
    return _counted(pa, counts, pa.repeat(pa.scalar(source, pa.uint64()), size), row_numbers)


def merge_counts(counted: Iterable[Any]) -> pa.Table:
    """Merge tables of counts: each pre-token once, with its total count and its first position.

    The rows are sorted by source and place. The result does not depend on the order and grouping in
    which tables are merged. If the sources are numbered in the order of the texts, the rows are in
    the first-seen order of all texts together.

    Args:
        counted: tables from `count_table`, or from this function.

    Raises:
        TokctlError: a table has other columns, or a null; a count is 2^63 or more.

    Example:
        parts = [count_table(table, "bpe", source=n) for n, table in enumerate(tables)]
        merge_counts(parts) == merge_counts(reversed(parts))  # True
    """
    pa = _pyarrow()
    counts, *placed = _merged(pa, counted)
    return _counted(pa, counts, *(_numbers(pa, numbers) for numbers in placed))


def partition_counts(counted: Any, partitions: int) -> list[pa.Table]:
    """Divide the rows of a table of counts into `partitions` tables, keeping their order.

    The partition of a row is the 64-bit FNV-1a hash of its pre-token modulo `partitions`. So all
    rows of a pre-token are in the same partition on every machine, and partitions can be merged
    separately.

    Args:
        counted: a table of counts.
        partitions: the number of tables.

    Raises:
        TokctlError: the table has other columns, or a null.

    Example:
        sum(map(len, partition_counts(counted, 4))) == len(counted)  # True
    """
    _check_number("partitions", partitions, 1, 2**32)
    return list(partitioned(counted, range(partitions), partitions))


def partitioned(counted: Any, chosen: range, partitions: int) -> Iterator[pa.Table]:
    """Yield the tables of `partition_counts` with the numbers in `chosen`, one at a time."""
    pa = _pyarrow()
    with _damaged(pa):
        combined = _count_columns(pa, counted).combine_chunks()
        column = combined.column(0)
        if not column.num_chunks:
            yield from [combined] * len(chosen)
            return
        rows = tables.text_column(column.chunk(0)).parts(partitions)
        for number in chosen:
            yield combined.take(_numbers(pa, rows[number]))


def counts_from_table(counted: Any, min_count: int = 1) -> _native.Counts:
    """Turn tables of counts into the argument of `Tokenizer.train`.

    Args:
        counted: one table, or tables as for `merge_counts`, in any order.
        min_count: the least count of a pre-token; pre-tokens with fewer occurrences are left out.

    Raises:
        TokctlError: see `merge_counts`.

    Example:
        counts = counts_from_table(counted, min_count=2)
        Tokenizer.train(counts, vocab_size=10_000)
    """
    pa = _pyarrow()
    _check_number("min_count", min_count, 1, MOST)
    several = isinstance(counted, Iterable) and not hasattr(counted, "__arrow_c_stream__")
    counts = _merged(pa, counted if several else [counted])[0]
    return counts if min_count == 1 else counts.at_least(min_count)


def collected(stretches: Iterable[Sequence[pa.Table]], rows: int, size: int) -> _native.Counts:
    """Turn merged tables that arrive in groups into the argument of `Tokenizer.train`.

    Only the counts and the tables of one group are in memory.

    Args:
        stretches: groups of tables, each with the next range of (source, place). Each pre-token is
            in one row of one table only.
        rows: the number of rows in all tables, to reserve memory.
        size: the bytes of all pre-tokens, to reserve memory.
    """
    pa = _pyarrow()
    columns = ([row for table in some for row in _rows(pa, table)] for some in stretches)
    with _damaged(pa), _too_large():
        return _native.collect_counts(columns, rows, size)


# -- texts of a table, and their ids ---------------------------------------------------------------


class _Texts:
    """Some rows of the column of texts.

    Attributes:
        column: the texts, without nulls.
        valid: for each row, whether it has a text; None: all rows have one.
    """

    def __init__(self, texts: Any, rows_before: int) -> None:
        """Wrap an array of texts that has `rows_before` rows of the table in front of it."""
        from pyarrow import compute

        valid = tables.is_valid(texts)
        self.valid = None if valid.true_count == len(texts) else valid
        self._rows = None if self.valid is None else compute.indices_nonzero(valid)
        self._before = rows_before
        self.column = tables.text_column(texts, self._rows)

    def row(self, number: int) -> int:
        """Return the row in the table, from 1, of text `number` in `column`, from 0."""
        within = number if self._rows is None else self._rows[number].as_py()
        return self._before + within + 1

    def checked(self, errors: str) -> Sequence[bytes]:
        """Return the texts, all of them valid UTF-8.

        Raises:
            TokctlError: a text is not UTF-8, and `errors` is not `replace`.
        """
        number = self.column.first_not_utf8()
        if number is None:
            return self.column
        if errors == "replace":
            return [text.decode("utf-8", "replace").encode() for text in self.column]
        try:
            self.column[number].decode()
        except UnicodeDecodeError as error:
            raise invalid_utf8(f"row {self.row(number)}", 1, error.start) from None
        return self.column


def _texts(schema: pa.Schema, some: Iterable[pa.Table], text: str) -> Iterator[_Texts]:
    """Yield the texts in column `text` of consecutive tables, some rows at a time."""
    pa = _pyarrow()
    column, *fields = tables.path_to(schema, text, "the table", "text=…")
    rows_before = 0
    for chunk in chain.from_iterable(table.column(column).chunks for table in some):
        with _damaged(pa):
            parts = list(_parts(tables.texts_at(chunk, fields), rows_before))
        yield from parts
        rows_before += len(chunk)


def _parts(texts: Any, rows_before: int) -> Iterator[_Texts]:
    """Yield an array of texts in parts of at most `_CHUNK` bytes, or of a single text."""
    texts_part = _Texts(texts, rows_before)
    if len(texts) < 2 or texts_part.column.size <= _CHUNK:
        yield texts_part
        return
    middle = len(texts) // 2
    yield from _parts(texts.slice(0, middle), rows_before)
    yield from _parts(texts.slice(middle), rows_before + middle)


class _Lists:
    """The ids of some rows, `count` in all, with the offset where the ids of each text begin."""

    def __init__(self, pa: Any, ids: _native.IdArray, offsets: bytes, valid: Any) -> None:
        self.count = len(ids)
        self._pa, self._valid = pa, valid
        self._ids = pa.Array.from_buffers(pa.uint32(), len(ids), [None, pa.py_buffer(ids)])
        length = len(offsets) // 8
        self._offsets = pa.Array.from_buffers(pa.int64(), length, [None, pa.py_buffer(offsets)])

    def array(self, kind: Any) -> Any:
        """Return the ids as an Arrow array of lists; `kind` is the type of list."""
        pa = self._pa
        if pa.types.is_large_list(kind):
            lists = pa.LargeListArray.from_arrays(self._offsets, self._ids)
        else:
            lists = pa.ListArray.from_arrays(self._offsets.cast(pa.int32()), self._ids)
        if self._valid is None:
            return lists
        numbers = pa.compute.cumulative_sum(self._valid.cast(pa.int64()))
        number = pa.compute.subtract(numbers, 1)
        return lists.take(pa.compute.if_else(self._valid, number, None))


class _Wrap:
    """Truncation, and special tokens added around the ids of each text."""

    def __init__(self, around: Sequence[list[int]], truncation: Truncation | None) -> None:
        prefix, suffix = around
        self._around = prefix, suffix
        self._truncation = truncation
        if truncation is not None:
            truncation.room(len(prefix) + len(suffix))  # raises now if there is no room

    def applied(self, ids: _native.IdArray, offsets: bytes) -> tuple[_native.IdArray, bytes]:
        added = sum(map(len, self._around))
        cut = self._truncation
        most = _LONGEST
        if cut is not None:
            most = cut.room(added)
            end_offsets = memoryview(offsets).cast("q")
            if cut.strategy == "only-second" and len(end_offsets) > 1:
                longest = max(map(int.__sub__, end_offsets[1:], end_offsets))
                cut.lengths(longest, None, added)  # raises if the text is too long
        from_left = cut is not None and cut.direction == "left"
        return ids.wrapped(offsets, *self._around, most, from_left)


# -- columns of counts -----------------------------------------------------------------------------


def _counted(pa: Any, counts: _native.Counts, sources: Any, row_numbers: Any) -> pa.Table:
    texts, offsets, times = counts.columns()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(texts)]
    pre_tokens = pa.Array.from_buffers(pa.large_binary(), len(counts), buffers)
    columns = [pre_tokens, _numbers(pa, times), sources, row_numbers]
    return pa.Table.from_arrays(columns, schema=_schema(pa))


def _schema(pa: Any) -> Any:
    kinds = [pa.large_binary(), *[pa.uint64()] * 3]
    return pa.schema(list(zip(_COUNTED, kinds, strict=True)))


def _numbers(pa: Any, data: bytes) -> Any:
    return pa.Array.from_buffers(pa.uint64(), len(data) // 8, [None, pa.py_buffer(data)])


def _merged(pa: Any, counted: Iterable[Any]) -> tuple[_native.Counts, bytes, bytes]:
    with _damaged(pa), _too_large():
        return _native.merge_counts([row for table in counted for row in _rows(pa, table)])


def _rows(pa: Any, counted: Any) -> Iterator[tuple[_native.TextColumn, Any, Any, Any]]:
    """Yield the columns of a table of counts, batch by batch, as the native core takes them."""
    for batch in _count_columns(pa, counted).to_batches():
        texts, *numbers = batch.columns
        counts, sources, row_numbers = map(tables.numbers, numbers)
        yield tables.text_column(texts), counts, sources, row_numbers


@contextlib.contextmanager
def _too_large() -> Iterator[None]:
    try:
        yield
    except CoreError as error:
        raise error.reworded(hint="train on less text, or give smaller weights or counts") from None


def _count_columns(pa: Any, counted: Any) -> pa.Table:
    """Return the columns of a table of counts in their types, which engines may have changed.

    Raises:
        TokctlError: a column is missing, has a null, or can't be cast.
    """
    table = _table(pa, counted)
    if missing := [name for name in _COUNTED if table.column_names.count(name) != 1]:
        raise BadInput(
            f"the table of counts has no column {missing[0]}, or several",
            f"make the table with count_table, with the columns {', '.join(_COUNTED)}",
            "bad-record",
        )
    table = table.select(list(_COUNTED))
    for name in _COUNTED:
        if nulls := table.column(name).null_count:
            raise BadInput(
                f"the column {name} has {nulls} nulls", "leave such rows out", "bad-record"
            )
    try:
        return table.cast(_schema(pa))
    except (pa.ArrowException, ValueError) as error:
        raise BadInput(
            f"not a table of counts: {_reason(error)}", "make one with count_table"
        ) from None


# -- arguments -------------------------------------------------------------------------------------


def _pyarrow() -> Any:
    pa = tables.pyarrow("tokctl.extras.arrow")
    import pyarrow.compute  # noqa: F401  (makes `pa.compute` available)

    return pa


def _table(pa: Any, value: Any) -> pa.Table:
    if isinstance(value, pa.Table):
        return value
    try:
        return pa.table(value)
    except (TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        raise BadInput(
            f"invalid value {brief(value)} for the table: {_reason(error)}",
            "give a table of pyarrow, or a DataFrame of polars or of pandas 2.2 or later",
        ) from None


@contextlib.contextmanager
def in_part(name: str) -> Iterator[None]:
    """Put the name of a part of a table, in which rows are numbered, before errors of the block."""
    try:
        yield
    except TokctlError as error:
        raise error.reworded(f"{name}: {error.message}") from None


@contextlib.contextmanager
def _damaged(pa: Any) -> Iterator[None]:
    """Turn errors of pyarrow and `text_column` into TokctlErrors."""
    try:
        yield
    except (pa.ArrowException, ValueError) as error:
        raise BadInput(
            f"the table is damaged: {_reason(error)}", "make it again", "damaged"
        ) from None


def _reason(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


def _check_number(name: str, value: object, minimum: int, end: int) -> None:
    if type(value) is not int or not minimum <= value < end:
        raise BadOption(
            f"invalid value {brief(value)} for {name}",
            f"give a whole number from {minimum} to {end - 1:,}",
            "bad-value",
        )


def recipe_of(value: Recipe | Tokenizer | str | os.PathLike[str]) -> Recipe:
    """Return the recipe that the argument `recipe` of `count_table` names.

    Raises:
        TokctlError: the model can't be loaded.
    """
    if isinstance(value, Recipe):
        return value
    if isinstance(value, str) and value in ALGORITHMS:
        return default_recipe(value)
    if isinstance(value, str) and value in PRESETS:
        return preset(value)
    return _tokenizer(value).recipe


def _tokenizer(model: Tokenizer | str | os.PathLike[str]) -> Tokenizer:
    if isinstance(model, Tokenizer):
        return model
    if not isinstance(model, (str, os.PathLike)):
        return Tokenizer.load(model)  # raises an error that says what can be loaded
    path = os.fspath(model)
    return _loaded(path, _stamp(Path(path)))


@lru_cache(_MODELS)
def _loaded(path: str, _stamp: object) -> Tokenizer:
    return Tokenizer.load(path)


def _stamp(path: Path) -> tuple[object, ...]:
    """Return a value that changes with a model's file or the files in its folder.

    The value is empty if there is no file at `path`.
    """
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        stats = [file.stat() for file in files if file.is_file()]
    except OSError:
        return ()
    return tuple((at.st_ino, at.st_mtime_ns, at.st_size) for at in stats)
