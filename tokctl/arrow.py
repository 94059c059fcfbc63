"""Encoding and counting as pure functions from Arrow tables to Arrow tables, for any engine.

    from tokctl import Tokenizer, arrow

    encoded = arrow.encode_table(table, "book.json")
    parts = [arrow.count_table(part, "bpe", source=n) for n, part in enumerate(tables)]
    counts = arrow.counts_from_table(arrow.merge_counts(parts))
    tokenizer = Tokenizer.train_on_counts(counts, vocab_size=10_000)

A table is one of pyarrow, or any object with Arrow's PyCapsule interface: a DataFrame of polars or
of pandas 2.2 and later, a batch of `datasets`. The text column can be strings or binary, of any
layout (large, views, dictionaries), in any number of chunks; `a.b` is the field `b` of the column
`a`. A null text has no ids, and is not counted.

The functions keep no state except the models that they have read, so you can call them in any
order, in any process, and more than once. Messages number rows from 1.
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
from tokctl.errors import CoreError, TokctlError
from tokctl.model import Recipe
from tokctl.model.algorithms import ALGORITHMS
from tokctl.model.parts import native_parts
from tokctl.model.presets import PRESETS, default_recipe, preset
from tokctl.sources import check_errors, invalid_utf8, tables
from tokctl.tokenizer import Tokenizer
from tokctl.tokenizer.encoding import no_id_error
from tokctl.tokenizer.postprocess import Truncation
from tokctl.tokenizer.tokenizer import Special, check_threads
from tokctl.training.counting import finish, memory_limit
from tokctl.training.options import MOST, Options
from tokctl.values import brief, suggesting

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["count_table", "counts_from_table", "encode_table", "merge_counts", "partition_counts"]

#: Models that a process keeps.
_MODELS = 8
#: Bytes of text whose ids are one chunk, unless a single text has more.
_CHUNK = 1 << 28
#: What a list with offsets of 32 bits holds at most.
_LONGEST = 2**31 - 1
#: The columns of counts.
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
    """The table with two more columns: the ids of each text, as `Tokenizer.encode_ids` returns
    them, and their number. Both are null if the text is null.

    Args:
        table: see above.
        model: a tokenizer, or a path for `Tokenizer.load`. A path is read once in each process, and
            again if the file has changed.
        text: the column of the texts.
        ids: the name of the column of ids. Its type is `list<uint32>`, or `large_list<uint32>` if
            a chunk has 2^31 ids or more.
        count: the name of the column of their number. Its type is `int64`.
        replace: may these columns replace existing ones of the same name?
        special, add_special, truncation: as those of `Tokenizer.encode`.
        errors: `strict` or `replace`, for text that is not UTF-8 (character models).
        threads: the number of threads. The ids do not depend on it.

    Raises:
        TokctlError: the column is missing or holds no text; a new column's name is already used;
            any error of `Tokenizer.encode_ids`, with the row.
    """
    pa = _pyarrow()
    tokenizer = _tokenizer(model)
    check_errors(errors)
    check_threads(threads)
    given = _table(pa, table)
    if ids == count:
        raise TokctlError(f"both columns can't be called {ids}", "ids=… and count=… name them")
    for name in (ids, count):
        if name in given.column_names and not replace:
            raise TokctlError(
                f"the table has a column {name} already",
                "ids=… and count=… name the new ones, or replace=True replaces it",
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

    lists = [encoded(texts) for texts in _texts(given.schema, [given], text)]
    large = any(part.count > _LONGEST for part in lists)
    kind = pa.large_list(pa.uint32()) if large else pa.list_(pa.uint32())
    chunks = [part.array(kind) for part in lists]
    lengths = [pa.compute.list_value_length(chunk).cast(pa.int64()) for chunk in chunks]
    columns = {ids: (chunks, kind), count: (lengths, pa.int64())}
    for name, (parts, of) in columns.items():
        column = pa.chunked_array(parts, of)
        if name in given.column_names:
            given = given.set_column(given.column_names.index(name), name, column)
        else:
            given = given.append_column(name, column)
    return given


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
    """The distinct pre-tokens of the texts, in the order in which they are first seen.

    Args:
        table: see above. Of a `pyarrow.RecordBatchReader`, one batch is in memory at a time.
        recipe: how texts are normalized and split: a recipe, that of a tokenizer, the name of an
            algorithm or of a preset, or what `Tokenizer.load` reads.
        text: the column of the texts.
        source: the number of this part, for texts that are counted in parts: number the parts in
            the order of the texts.
        weight: how much an occurrence counts.
        errors: `strict` or `replace`, for text that is not UTF-8 (character recipes).
        threads, memory, temporary: as those of `Tokenizer.train`. The result does not depend on
            them.

    Returns:
        `pre_token` (`large_binary`), `count`, `source` (that of the call) and `place` (how many
        other pre-tokens were seen before), which are `uint64`.

    Raises:
        TokctlError: the column is missing or holds no text; a text is not UTF-8 and the recipe is
            character-level (the error names the row); a count is 2^63 or more.
    """
    pa = _pyarrow()
    split = recipe_of(recipe)
    check_threads(threads)
    _check_number("source", source, 0, 2**64)
    _check_number("weight", weight, 1, MOST)
    options = Options(1, threads=threads, errors=errors, memory=memory, temporary=temporary)
    parts = native_parts(split.pre_tokenizers), native_parts(split.normalizers)
    counter = _native.Counter(*parts, threads, **memory_limit(options))
    counter.set_weight(weight)
    if isinstance(table, pa.RecordBatchReader):
        given: Iterable[Any] = (pa.Table.from_batches([batch]) for batch in table)
    else:
        table = _table(pa, table)
        given = [table]
    for texts in _texts(table.schema, given, text):
        column = texts.column if split.is_byte_level else texts.checked(errors)
        counter.feed_documents(column)
    return table_of_counts(finish(counter, 1), source)


def table_of_counts(counts: _native.Counts, source: int, before: int = 0) -> pa.Table:
    """Counts as `count_table` gives them, behind so many others of the same source."""
    pa = _pyarrow()
    size = len(counts)
    ones = pa.repeat(pa.scalar(1, pa.uint64()), size)
    start = pa.scalar(before, pa.uint64())
    places = pa.compute.subtract(pa.compute.cumulative_sum(ones, start), ones)
    return _counted(pa, counts, pa.repeat(pa.scalar(source, pa.uint64()), size), places)


def merge_counts(counted: Iterable[Any]) -> pa.Table:
    """Merges tables of `count_table`, or of this function: each pre-token once, with its total
    count and its first place, sorted by source and place.

    The result is the same in whatever order and grouping tables are merged. If the sources are
    numbered in the order of the texts, it has the first-seen order of all texts together.

    Raises:
        TokctlError: a table has other columns, or a null; a count of 2^63 or more.
    """
    pa = _pyarrow()
    counts, *placed = _merged(pa, counted)
    return _counted(pa, counts, *(_numbers(pa, numbers) for numbers in placed))


def partition_counts(counted: Any, partitions: int) -> list[pa.Table]:
    """Divides the rows of a table of counts into `partitions` tables, in their order. All rows of a
    pre-token are in the same partition, on every machine, so partitions can be merged separately.

    The number of its partition is the 64-bit FNV-1a hash of the pre-token modulo `partitions`.

    Raises:
        TokctlError: the table has other columns, or a null.
    """
    _check_number("partitions", partitions, 1, 2**32)
    return list(partitioned(counted, range(partitions), partitions))


def partitioned(counted: Any, chosen: range, partitions: int) -> Iterator[pa.Table]:
    """Some of the tables of `partition_counts`, made one after the other."""
    pa = _pyarrow()
    with _damaged(pa):
        whole = _count_columns(pa, counted).combine_chunks()
        column = whole.column(0)
        if not column.num_chunks:
            yield from [whole] * len(chosen)
            return
        rows = tables.text_column(column.chunk(0)).parts(partitions)
        for number in chosen:
            yield whole.take(_numbers(pa, rows[number]))


def counts_from_table(counted: Any, min_count: int = 1) -> _native.Counts:
    """Turns one or several tables of counts, in any order, into what `Tokenizer.train_on_counts`
    takes.

    Args:
        counted: tables as for `merge_counts`, or one table.
        min_count: pre-tokens that occur less often are left out.

    Raises:
        TokctlError: as `merge_counts`.
    """
    pa = _pyarrow()
    _check_number("min_count", min_count, 1, MOST)
    several = isinstance(counted, Iterable) and not hasattr(counted, "__arrow_c_stream__")
    counts = _merged(pa, counted if several else [counted])[0]
    return counts if min_count == 1 else counts.at_least(min_count)


def collected(stretches: Iterable[Sequence[pa.Table]], rows: int, size: int) -> _native.Counts:
    """The same of tables that come some at a time, each of them merged, and with each pre-token
    once in all of them: first those of the least places, then those of the next. No more than
    the counts and the tables of one time are in memory.

    Args:
        rows, size: how many there are, and bytes of all pre-tokens, for the room.
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
        valid: which rows have one; None: all.
    """

    def __init__(self, texts: Any, before: int) -> None:
        """`before`: rows of the table in front of these."""
        from pyarrow import compute

        valid = tables.is_valid(texts)
        self.valid = None if valid.true_count == len(texts) else valid
        self._rows = None if self.valid is None else compute.indices_nonzero(valid)
        self._before = before
        self.column = tables.text_column(texts, self._rows)

    def row(self, number: int) -> int:
        """The row of a text, from 1."""
        within = number if self._rows is None else self._rows[number].as_py()
        return self._before + within + 1

    def checked(self, errors: str) -> Sequence[bytes]:
        """The texts, all UTF-8."""
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
    """The texts of a column of tables, which follow each other, some rows at a time."""
    pa = _pyarrow()
    first, *below = tables.path_to(schema, text, "the table", "text=…")
    before = 0
    for chunk in chain.from_iterable(table.column(first).chunks for table in some):
        with _damaged(pa):
            parts = list(_parts(tables.texts_at(chunk, below), before))
        yield from parts
        before += len(chunk)


def _parts(texts: Any, before: int) -> Iterator[_Texts]:
    """An array of texts in parts of up to `_CHUNK` bytes."""
    found = _Texts(texts, before)
    if len(texts) < 2 or found.column.size <= _CHUNK:
        yield found
        return
    half = len(texts) // 2
    yield from _parts(texts.slice(0, half), before)
    yield from _parts(texts.slice(half), before + half)


class _Lists:
    """The ids of some rows: `count` numbers."""

    def __init__(self, pa: Any, ids: _native.IdArray, offsets: bytes, valid: Any) -> None:
        self.count = len(ids)
        self._pa, self._valid = pa, valid
        self._ids = pa.Array.from_buffers(pa.uint32(), len(ids), [None, pa.py_buffer(ids)])
        ends = len(offsets) // 8
        self._offsets = pa.Array.from_buffers(pa.int64(), ends, [None, pa.py_buffer(offsets)])

    def array(self, kind: Any) -> Any:
        """As an array of that type of lists."""
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
    """What becomes of the ids of each text: they are cut, and special tokens are put around."""

    def __init__(self, around: Sequence[list[int]], truncation: Truncation | None) -> None:
        before, behind = around
        self._around = before, behind
        self._truncation = truncation
        if truncation is not None:
            truncation.room(len(before) + len(behind))  # an error now

    def applied(self, ids: _native.IdArray, offsets: bytes) -> tuple[_native.IdArray, bytes]:
        added = sum(map(len, self._around))
        cut = self._truncation
        most = _LONGEST
        if cut is not None:
            most = cut.room(added)
            ends = memoryview(offsets).cast("q")
            if cut.strategy == "only-second" and len(ends) > 1:
                longest = max(map(int.__sub__, ends[1:], ends))
                cut.lengths(longest, None, added)  # an error if it is too long
        return ids.wrapped(
            offsets, *self._around, most, cut is not None and cut.direction == "left"
        )


# -- columns of counts -----------------------------------------------------------------------------


def _counted(pa: Any, counts: _native.Counts, sources: Any, places: Any) -> pa.Table:
    texts, offsets, times = counts.columns()
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(texts)]
    pre_tokens = pa.Array.from_buffers(pa.large_binary(), len(counts), buffers)
    columns = [pre_tokens, _numbers(pa, times), sources, places]
    return pa.Table.from_arrays(columns, schema=_schema(pa))


def _schema(pa: Any) -> Any:
    kinds = [pa.large_binary(), *[pa.uint64()] * 3]
    return pa.schema(list(zip(_COUNTED, kinds, strict=True)))


def _numbers(pa: Any, data: bytes) -> Any:
    return pa.Array.from_buffers(pa.uint64(), len(data) // 8, [None, pa.py_buffer(data)])


def _merged(pa: Any, counted: Iterable[Any]) -> tuple[_native.Counts, bytes, bytes]:
    with _damaged(pa), _too_large():
        return _native.merge_counts([row for one in counted for row in _rows(pa, one)])


def _rows(pa: Any, counted: Any) -> Iterator[tuple[_native.TextColumn, Any, Any, Any]]:
    """A table of counts as the core takes it, in batches."""
    for batch in _count_columns(pa, counted).to_batches():
        texts, *numbers = batch.columns
        counts, sources, places = map(tables.numbers, numbers)
        yield tables.text_column(texts), counts, sources, places


@contextlib.contextmanager
def _too_large() -> Iterator[None]:
    try:
        yield
    except CoreError as error:
        raise TokctlError(
            error.message, "train on less text, or give smaller weights or counts"
        ) from None


def _count_columns(pa: Any, counted: Any) -> pa.Table:
    """The columns of a table of counts, without nulls. Engines may have changed their types."""
    table = _table(pa, counted)
    if missing := [name for name in _COUNTED if table.column_names.count(name) != 1]:
        raise TokctlError(
            f"the table of counts has no column {missing[0]}, or several",
            f"count_table makes one, with the columns {', '.join(_COUNTED)}",
        )
    table = table.select(list(_COUNTED))
    for name in _COUNTED:
        if nulls := table.column(name).null_count:
            raise TokctlError(f"the column {name} has {nulls} nulls", "leave such rows out")
    try:
        return table.cast(_schema(pa))
    except (pa.ArrowException, ValueError) as error:
        raise TokctlError(
            f"this is not a table of counts: {_reason(error)}", "count_table makes one"
        ) from None


# -- what is given ---------------------------------------------------------------------------------


def _pyarrow() -> Any:
    pa = tables.pyarrow("tokctl.arrow")
    import pyarrow.compute  # noqa: F401  (what `pa.compute` needs)

    return pa


def _table(pa: Any, given: Any) -> pa.Table:
    if isinstance(given, pa.Table):
        return given
    try:
        return pa.table(given)
    except (TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        raise TokctlError(
            f"the table can't be {brief(given)}: {_reason(error)}",
            "it is a table of pyarrow, or a DataFrame of polars, or of pandas from 2.2 on",
        ) from None


@contextlib.contextmanager
def in_part(name: str) -> Iterator[None]:
    """TokctlErrors name a part of a table: rows are numbered in it."""
    try:
        yield
    except TokctlError as error:
        raise TokctlError(f"{name}: {error.message}", error.hint, error.exit_code) from None


@contextlib.contextmanager
def _damaged(pa: Any) -> Iterator[None]:
    """pyarrow's errors, and those of `text_column`, as TokctlErrors."""
    try:
        yield
    except (pa.ArrowException, ValueError) as error:
        raise TokctlError(f"the table is damaged: {_reason(error)}", "make it again") from None


def _reason(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


def _check_number(name: str, value: object, least: int, end: int) -> None:
    if type(value) is not int or not least <= value < end:
        raise TokctlError(
            f"{name} can't be {brief(value)}", f"it is a whole number from {least} to {end - 1:,}"
        )


def recipe_of(given: Recipe | Tokenizer | str | os.PathLike[str]) -> Recipe:
    """What `count_table` takes as its recipe. Raises TokctlError."""
    if isinstance(given, Recipe):
        return given
    if isinstance(given, str) and given in ALGORITHMS:
        return default_recipe(given)
    if isinstance(given, str) and given in PRESETS:
        return preset(given)
    return _tokenizer(given).recipe


def _tokenizer(model: Tokenizer | str | os.PathLike[str]) -> Tokenizer:
    if isinstance(model, Tokenizer):
        return model
    if not isinstance(model, (str, os.PathLike)):
        return Tokenizer.load(model)  # which says what it takes
    path = os.fspath(model)
    return _loaded(path, _stamp(Path(path)))


@lru_cache(_MODELS)
def _loaded(path: str, _stamp: object) -> Tokenizer:
    return Tokenizer.load(path)


def _stamp(path: Path) -> tuple[object, ...]:
    """What changes when a model's file does, or one in its folder; empty if there is none."""
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        found = [file.stat() for file in files if file.is_file()]
    except OSError:
        return ()
    return tuple((at.st_ino, at.st_mtime_ns, at.st_size) for at in found)
