"""Counts as tables: counted apart, merged in any order, and trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arrow.made import pa, text_tables
from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.formats.models import RECIPES, filled
from tests.twins.pretokenize import pretokenize
from tokctl import Recipe, TokctlError, Tokenizer, default_recipe, training
from tokctl.extras import arrow
from tokctl.model.presets import BPE, BPE_CHARACTERS, UNIGRAM, WORDPIECE
from tokctl.sources import Batch, Records, documents
from tokctl.training import TextStats, counting
from tokctl.training.counts import save
from tokctl.training.options import TrainOptions

NAMES = ["pre_token", "count", "source", "place"]
Rows = list[tuple[bytes, int, int, int]]


def rows(table: Any) -> Rows:
    assert table.column_names == NAMES
    table.validate(full=True)
    return [tuple(row.values()) for row in table.to_pylist()]


def counted(given: Rows) -> Any:
    columns = zip(*given, strict=True) if given else [()] * 4
    kinds = [pa.large_binary(), *[pa.uint64()] * 3]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.Table.from_arrays(arrays, NAMES)


def merged_by_twin(tables: list[Rows]) -> Rows:
    """By the definition: counts add up, the least place stays, sorted by place."""
    counts: Counter[bytes] = Counter()
    places: dict[bytes, tuple[int, int]] = {}
    for word, count, *place in (row for table in tables for row in table):
        counts[word] += count
        places[word] = min(places.get(word, (2**64, 0)), (place[0], place[1]))
    order = sorted(counts, key=lambda word: (places[word], word))
    return [(word, counts[word], *places[word]) for word in order]


# -- counting --------------------------------------------------------------------------------------


@given(
    made=text_tables(st.text(alphabet="ab1 '\n☃", max_size=15)),
    source=st.integers(0, 2**64 - 1),
    weight=st.integers(1, 3),
    threads=st.integers(1, 2),
)
def test_counting_as_the_twin(
    made: tuple[Any, list[str | None]], source: int, weight: int, threads: int
) -> None:
    table, texts = made
    words: Counter[str] = Counter()
    for text in texts:
        if text is not None:
            words.update(text[start:end] for start, end in pretokenize("gpt2", text))
    found = arrow.count_table(table, "bpe", source=source, weight=weight, threads=threads)
    expected = [
        (word.encode(), weight * count, source, place)
        for place, (word, count) in enumerate(words.items())
    ]
    assert rows(found) == expected


@part_of_examples(2)
@given(made=text_tables(st.text(alphabet="ab1 '\n☃", max_size=15)))
def test_a_reader_is_counted_batch_by_batch(made: tuple[Any, list[str | None]]) -> None:
    table, _ = made
    reader = pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(2)))
    assert arrow.count_table(reader).equals(arrow.count_table(table))


def test_rows_of_a_reader_are_numbered_through() -> None:
    schema = pa.schema({"text": pa.binary()})
    taken = []

    def batches() -> Iterator[Any]:
        for number, text in enumerate((b"a", b"b", b"\xff", b"c")):
            taken.append(number)
            yield pa.record_batch([pa.array([text, None], pa.binary())], schema=schema)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    with raises_code("not-utf8", "row 5: line 1, byte 0 is not UTF-8"):
        arrow.count_table(reader, WORDPIECE)
    assert taken == [0, 1, 2]
    empty = pa.RecordBatchReader.from_batches(schema, [])
    assert rows(arrow.count_table(empty)) == []
    with raises_code("bad-record"):
        arrow.count_table(pa.RecordBatchReader.from_batches(schema, []), text="nope")


@pytest.mark.parametrize("name", ["bert", "llama2", "unigram", "a pattern", "notebook-bpe"])
@part_of_examples(3)
@given(made=text_tables(st.text(alphabet="aB1 é\n", max_size=15)))
def test_counting_as_a_training_counts(name: str, made: tuple[Any, list[str | None]]) -> None:
    table, texts = made
    data = [text.encode() for text in texts if text is not None]
    source = Records("x", None, lambda: iter([Batch(data)]), lambda: 0)
    expected, _ = counting.count([source], RECIPES[name], TrainOptions())
    found = arrow.count_table(table, RECIPES[name])
    assert [(word, count) for word, count, *_ in rows(found)] == expected.items()


def test_what_a_recipe_can_be(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    tokenizer = Tokenizer(filled(RECIPES["bert"]))
    tokenizer.save(path)
    table = {"text": ["Aé ab", "ab"]}
    expected = arrow.count_table(table, RECIPES["bert"])
    for recipe in ("bert", path, str(path), tokenizer):
        assert arrow.count_table(table, recipe).equals(expected)
    assert arrow.count_table(table, "wordpiece").equals(arrow.count_table(table, WORDPIECE))
    with raises_code("unreadable"):
        arrow.count_table(table, "no-such-recipe")


def test_limited_memory(tmp_path: Path) -> None:
    table = {"text": [f"w{n} v{n % 50}" for n in range(20_000)]}
    expected = arrow.count_table(table)
    assert arrow.count_table(table, memory=1 << 20, temporary=tmp_path).equals(expected)


def test_what_can_not_be_counted() -> None:
    table = pa.table({"text": pa.array([None, b"a", b"\xff"], pa.binary())})
    with raises_code("not-utf8", "row 3: line 1, byte 0 is not UTF-8"):
        arrow.count_table(table, WORDPIECE)
    replaced = arrow.count_table(table, WORDPIECE, errors="replace")
    assert [row[0].decode() for row in rows(replaced)] == ["a", "\ufffd"]
    assert [row[0] for row in rows(arrow.count_table(table, BPE))] == [b"a", b"\xff"]
    for wrong in ({"weight": 0}, {"weight": 0.5}, {"source": -1}, {"source": 2**64}):
        with pytest.raises(TokctlError, match=f"invalid value .* for {next(iter(wrong))}"):
            arrow.count_table(table, BPE, **wrong)
    with raises_code("bad-value"):
        arrow.count_table(table, BPE, threads=None)  # type: ignore[arg-type]
    with raises_code("too-large", "count of 2\\^63 or more"):
        arrow.count_table({"text": ["a a", "a"]}, WORDPIECE, weight=2**62)


# -- merging ---------------------------------------------------------------------------------------

WORDS = st.binary(min_size=1, max_size=3) | st.binary(min_size=14, max_size=18)
TABLES = st.lists(
    st.lists(
        st.tuples(WORDS, st.integers(0, 2**40), st.integers(0, 3), st.integers(0, 9)), max_size=12
    ),
    max_size=5,
)


@given(given_tables=TABLES, data=st.data())
def test_any_tree_of_merges_gives_the_same(given_tables: list[Rows], data: st.DataObject) -> None:
    expected = merged_by_twin(given_tables)
    tables = [counted(table) for table in given_tables]
    whole = arrow.merge_counts(tables)
    assert rows(whole) == expected
    left = data.draw(st.permutations(tables))
    while len(left) > 1:
        some = data.draw(st.integers(2, len(left)))
        left = data.draw(st.permutations([arrow.merge_counts(left[:some]), *left[some:]]))
    last = arrow.merge_counts(left)
    assert last.equals(whole) and last.schema.equals(whole.schema)
    assert arrow.counts_from_table(tables).items() == [row[:2] for row in expected]


@given(given_tables=TABLES, partitions=st.integers(1, 5))
def test_partitions_can_be_merged_apart(given_tables: list[Rows], partitions: int) -> None:
    tables = [counted(table) for table in given_tables]
    parts = [arrow.partition_counts(table, partitions) for table in tables]
    assert all(len(some) == partitions for some in parts)
    for table, some in zip(given_tables, parts, strict=True):
        found = [rows(part) for part in some]
        assert sorted(row for part in found for row in part) == sorted(table)
        assert all(part == [row for row in table if row in part] for part in found)
    merged = [arrow.merge_counts(some) for some in zip(*parts, strict=True)]
    words = [row[0] for part in merged for row in rows(part)]
    assert len(words) == len(set(words))
    assert arrow.merge_counts(merged).equals(arrow.merge_counts(tables))


@given(given_tables=TABLES, partitions=st.integers(1, 4), parts=st.integers(1, 4))
def test_a_partition_can_be_divided_further(
    given_tables: list[Rows], partitions: int, parts: int
) -> None:
    table = counted([row for some in given_tables for row in some])
    finer = partitions * parts
    expected = arrow.partition_counts(table, finer)
    for number, part in enumerate(arrow.partition_counts(table, partitions)):
        found = list(arrow.partitioned(part, range(number, finer, partitions), finer))
        assert all(map(pa.Table.equals, found, expected[number::partitions]))


@given(given_tables=TABLES, partitions=st.integers(1, 4), data=st.data())
def test_merged_counts_are_collected_in_stretches(
    given_tables: list[Rows], partitions: int, data: st.DataObject
) -> None:
    expected = merged_by_twin(given_tables)
    whole = arrow.merge_counts(map(counted, given_tables))
    cuts = data.draw(st.lists(st.integers(0, len(expected)), max_size=3).map(sorted))
    stretches = [
        data.draw(
            st.permutations(arrow.partition_counts(whole.slice(start, end - start), partitions))
        )
        for start, end in zip([0, *cuts], [*cuts, len(expected)], strict=True)
    ]
    size = sum(len(row[0]) for row in expected)
    found = arrow.collected(iter(stretches), len(expected), size)
    assert found.items() == [row[:2] for row in expected]
    with raises_code("too-large", "2\\^63 or more"):
        arrow.collected([[counted([(b"a", 2**63, 0, 0)])]], 1, 1)


def test_the_partition_of_a_pre_token_never_changes() -> None:
    def fnv_1a(text: bytes) -> int:
        found = 0xCBF29CE484222325
        for byte in text:
            found = (found ^ byte) * 0x100000001B3 % 2**64
        return found

    words = [b"low", b" lower", "☃".encode(), b"\xff", b"a" * 40]
    parts = arrow.partition_counts(counted([(word, 1, 0, 0) for word in words]), 7)
    for number, part in enumerate(parts):
        assert all(fnv_1a(row[0]) % 7 == number for row in rows(part))
    assert fnv_1a(b"foobar") == 0x85944171F73967E8  # as its authors publish it


def test_tables_as_engines_hand_them_on() -> None:
    """Other types of the same values, other columns, chunks, slices."""
    table = arrow.count_table({"text": ["low lower low", "newest"]}, source=1)
    kinds = [pa.binary(), *[pa.int64()] * 3]
    other = table.cast(pa.schema(list(zip(NAMES, kinds, strict=True))))
    other = other.append_column("more", pa.array(range(len(other)))).select([4, 3, 2, 1, 0])
    other = pa.concat_tables([other.slice(2), other.slice(0, 2)])
    assert arrow.merge_counts([other]).equals(table)
    assert arrow.counts_from_table(other).items() == arrow.counts_from_table(table).items()
    assert arrow.merge_counts([]).schema.equals(table.schema)
    assert arrow.partition_counts(arrow.merge_counts([]), 2)[1].num_rows == 0


def test_counts_that_do_not_fit() -> None:
    half = counted([(b"a", 2**62, 0, 0)])
    assert rows(arrow.merge_counts([half]))[0][1] == 2**62
    for several in ([half, half], [half] * 5, [arrow.merge_counts([half]), half]):
        with pytest.raises(TokctlError, match='"a" has a count of 2\\^63 or more'):
            arrow.merge_counts(several)


def test_what_is_no_table_of_counts() -> None:
    table = counted([(b"a", 1, 0, 0)])
    for function in (
        lambda wrong: arrow.merge_counts([wrong]),
        lambda wrong: arrow.partition_counts(wrong, 2),
        arrow.counts_from_table,
    ):
        with raises_code("bad-record"):
            function(table.drop_columns(["place"]))
        with raises_code("bad-record", "the column count has 1 nulls"):
            function(table.set_column(1, "count", pa.nulls(1, pa.uint64())))
        with raises_code("bad-input"):
            function(table.set_column(1, "count", pa.array([-1])))
        with raises_code("bad-input"):
            function(table.set_column(2, "source", pa.array(["x"])))
    for partitions in (0, 2**40, "2"):
        with raises_code("bad-value", r"invalid value .* for partitions"):
            arrow.partition_counts(table, partitions)
    with raises_code("bad-value", "invalid value 0 for min_count"):
        arrow.counts_from_table(table, 0)


# -- training --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recipe", "size"), [(BPE, 280), (BPE_CHARACTERS, 40), (WORDPIECE, 60), (UNIGRAM, 50)]
)
def test_a_model_has_the_bytes_of_one_trained_on_the_texts(
    recipe: Recipe, size: int, sample: str, tmp_path: Path
) -> None:
    texts = sample.splitlines()[:60]
    path = tmp_path / "texts.parquet"
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"text": texts}), path)
    expected = Tokenizer.train([path], recipe=recipe, vocab_size=size, min_count=2)

    parts = [{"text": texts[start : start + 7]} for start in range(0, len(texts), 7)]
    tables = [arrow.count_table(part, recipe, source=n) for n, part in enumerate(parts)]
    counts = arrow.counts_from_table(arrow.merge_counts(reversed(tables)))
    record = expected.model.training
    assert record is not None
    read = TextStats(record.documents, record.bytes, record.sha256)
    found = Tokenizer.train(counts, recipe=recipe, vocab_size=size, min_count=2, read=read)
    expected.save(tmp_path / "a.json")
    found.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_without_texts_the_record_is_that_of_a_file_of_counts(tmp_path: Path) -> None:
    table = arrow.count_table({"text": ["low lower low\tnewest", "low"]})
    counts = arrow.counts_from_table(table)
    path = tmp_path / "counts.tsv"
    save(path, counts)
    (document,) = documents([path])
    options = TrainOptions(vocab_size=260, min_count=2)
    expected = training.fill(*training.count_lines(document, BPE, options), BPE, options)
    found = training.train_on_counts(counts, BPE, options)
    assert found.training == expected.training and found.tokens == expected.tokens
    assert arrow.counts_from_table(table, 2).items() == counts.at_least(2).items()
    assert counts.at_least(2).items() == [item for item in counts.items() if item[1] > 1]


def test_counts_of_other_bytes() -> None:
    counts = arrow.counts_from_table(counted([(b"a", 3, 0, 0), (b"\xff", 1, 0, 1)]))
    with raises_code("not-utf8", "is not UTF-8, which this recipe needs"):
        Tokenizer.train(counts, recipe=BPE_CHARACTERS, vocab_size=10)
    model = Tokenizer.train(counts, recipe=default_recipe("bpe"), vocab_size=256)
    assert model.vocab_size == 256
