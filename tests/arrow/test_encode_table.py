"""A table with the ids of its texts: those of `encode_ids`, whatever the layout."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.arrow.made import LAYOUTS, column, pa, text_tables
from tests.conftest import shared_file
from tests.errors import raises_code
from tests.formats.models import RECIPES, filled
from tokctl import TokctlError, Tokenizer, Truncation, _native
from tokctl.extras import arrow
from tokctl.sources import tables

MODELS = {
    name: Tokenizer(filled(RECIPES[name]))
    for name in ("gpt2", "bert", "unigram", "llama2", "wordpiece", "word")
}
TEXTS = st.text(alphabet="abc \n[CLS]é☃", max_size=12)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", MODELS)
@given(made=text_tables(TEXTS), threads=st.sampled_from([1, 2]))
def test_ids_are_those_of_the_api(
    name: str, made: tuple[Any, list[str | None]], threads: int
) -> None:
    table, texts = made
    tokenizer = MODELS[name]
    try:
        expected = [None if text is None else tokenizer.encode_ids(text) for text in texts]
    except TokctlError as error:
        with pytest.raises(TokctlError, match=r"a character of row [0-9]+ is not in") as caught:
            arrow.encode_table(table, tokenizer)
        assert caught.value.hint == error.hint
        return
    found = arrow.encode_table(table, tokenizer, threads=threads)
    found.validate(full=True)
    assert found.select(["text", "number"]).equals(table)
    assert found.schema.field("ids").type == pa.list_(pa.uint32())
    assert found["ids"].to_pylist() == expected
    lengths = [None if ids is None else len(ids) for ids in expected]
    assert found["count"].to_pylist() == lengths
    assert found.schema.field("count").type == pa.int64()


@pytest.mark.parametrize("name", ["gpt2", "bert", "llama2"])
@given(
    made=text_tables(st.text(alphabet="abc ", max_size=12)),
    add_special=st.booleans(),
    truncation=st.none()
    | st.integers(2, 6)
    | st.builds(
        Truncation,
        st.integers(4, 6),
        stride=st.integers(0, 1),
        strategy=st.sampled_from(["longest-first", "only-first"]),
        direction=st.sampled_from(["left", "right"]),
    ),
)
def test_special_tokens_and_truncation(
    name: str, made: tuple[Any, list[str | None]], add_special: bool, truncation: Any
) -> None:
    table, texts = made
    how: dict[str, Any] = {"add_special": add_special, "truncation": truncation, "special": "all"}
    tokenizer = MODELS[name]
    expected = [None if text is None else tokenizer.encode_ids(text, **how) for text in texts]
    assert arrow.encode_table(table, tokenizer, **how)["ids"].to_pylist() == expected


def test_a_published_model() -> None:
    path = shared_file("vocab/gpt2.tokenizer.json")
    texts = ["There is still a lot of treasure", "", "naïve ☃", "<|endoftext|>"]
    found = arrow.encode_table({"text": texts}, path, special="all")
    tokenizer = Tokenizer.load(path)
    assert found["ids"].to_pylist() == tokenizer.encode_ids(texts, special="all")
    assert found["ids"][3].as_py() == [50256]


def test_any_bytes_for_a_model_of_bytes() -> None:
    data = [b"a\xff\xfe b", b"", None, b"\xc3"]
    table = pa.table({"text": pa.array(data, pa.binary())})
    tokenizer = MODELS["gpt2"]
    expected = [None if text is None else tokenizer.encode_ids(text) for text in data]
    assert arrow.encode_table(table, tokenizer)["ids"].to_pylist() == expected


@pytest.mark.parametrize("layout", ["binary", "string", "string view"])
def test_text_that_is_not_utf8(layout: str) -> None:
    binary = pa.binary_view() if layout == "string view" else pa.binary()
    data = pa.array([b"ab", None, b"a", b"b\xffa"], binary)
    if layout != "binary":
        data = pa.Array.from_buffers(LAYOUTS[layout], 4, data.buffers())
    table = pa.table({"text": pa.chunked_array([data, data[:1]])})
    tokenizer = MODELS["llama2"]
    with raises_code("not-utf8", "row 4: line 1, byte 1 is not UTF-8"):
        arrow.encode_table(table, tokenizer)
    found = arrow.encode_table(table, tokenizer, errors="replace")["ids"].to_pylist()
    replaced = ["ab", None, "a", "b\ufffda", "ab"]
    assert found == [None if text is None else tokenizer.encode_ids(text) for text in replaced]


def test_the_row_of_a_character_without_an_id() -> None:
    tokenizer = Tokenizer(filled(replace(RECIPES["chars"], unk_token=None, special_tokens=())))
    assert tokenizer.must_have_ids
    table = pa.table({"text": pa.chunked_array([["a", None], [None, "b", "☃"]])})
    with raises_code("no-id", "a character of row 5 is not in the model's alphabet"):
        arrow.encode_table(table, tokenizer)


def test_chunks_and_large_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["ab" * n for n in range(20)]
    tokenizer = MODELS["gpt2"]
    monkeypatch.setattr(arrow, "_CHUNK", 40)
    found = arrow.encode_table({"text": texts}, tokenizer)["ids"]
    assert found.num_chunks > 5 and found.type == pa.list_(pa.uint32())
    monkeypatch.setattr(arrow, "_LONGEST", 5)
    large = arrow.encode_table({"text": [*texts, None]}, tokenizer)["ids"]
    assert large.type == pa.large_list(pa.uint32())
    assert large.to_pylist() == [*found.to_pylist(), None]


def test_names_of_columns() -> None:
    table = pa.table({"a": [{"b": "ab"}], "ids": [1], "count": [2]})
    tokenizer = MODELS["gpt2"]
    for name in ("ids", "count"):
        with pytest.raises(TokctlError, match=f"has a column {name} already"):
            arrow.encode_table(table.select(["a", name]), tokenizer, "a.b")
    expected = tokenizer.encode_ids("ab")
    found = arrow.encode_table(table, tokenizer, "a.b", replace=True)
    assert found.column_names == ["a", "ids", "count"]
    assert found.to_pylist() == [{"a": {"b": "ab"}, "ids": expected, "count": len(expected)}]
    found = arrow.encode_table(table, tokenizer, "a.b", ids="input_ids", count="length")
    assert found.column_names == ["a", "ids", "count", "input_ids", "length"]
    with pytest.raises(
        TokctlError, match="the columns of ids and of counts can't both be called ids"
    ):
        arrow.encode_table(table, tokenizer, "a.b", count="ids", replace=True)


def test_what_can_not_be_encoded() -> None:
    tokenizer = MODELS["gpt2"]
    good = {"text": ["a"]}
    with raises_code("bad-input", "invalid value 5 for the table"):
        arrow.encode_table(5, tokenizer)
    with raises_code("bad-record"):
        arrow.encode_table(good, tokenizer, "body")
    with raises_code("bad-record", "column text holds int64, not text"):
        arrow.encode_table({"text": [1]}, tokenizer)
    with raises_code("bad-value", "invalid value 0 for threads"):
        arrow.encode_table(good, tokenizer, threads=0)
    with raises_code("bad-value", "invalid value 'ignore' for errors"):
        arrow.encode_table(good, tokenizer, errors="ignore")
    with raises_code("unknown-name"):
        arrow.encode_table(good, tokenizer, special=["<none>"])
    with raises_code("conflict"):
        cut = Truncation(1, strategy="only-second")
        arrow.encode_table({"text": ["abab"]}, tokenizer, truncation=cut)
    with raises_code("conflict"):
        arrow.encode_table({"text": []}, MODELS["bert"], add_special=True, truncation=1)
    with raises_code("bad-value", "invalid value 5 for the path"):
        arrow.encode_table(good, 5)  # type: ignore[arg-type]
    with raises_code("unreadable"):
        arrow.encode_table(good, "no-such-model.json")


@pytest.mark.parametrize("places", [[0, 2, 1, 3], [0, 1, 2, 4], [-1, 0, 1, 2], [1, 0, 2, 3]])
@pytest.mark.parametrize("wide", [False, True])
def test_memory_is_never_read_outside(places: list[int], wide: bool) -> None:
    offsets = pa.array(places, pa.int64() if wide else pa.int32()).buffers()[1]
    memory = memoryview(offsets).cast("B")[: (8 if wide else 4) * len(places)]
    with pytest.raises(ValueError, match="outside"):
        _native.TextColumn(b"abc", memory, 0, 3, wide)
    with pytest.raises(ValueError, match="outside"):
        _native.TextColumn(b"abcdefg", memory[:8], 0, 3, wide)
    with pytest.raises(ValueError, match="outside"):
        _native.TextColumn(b"abcdefg", memory, 2**63, 2**63, wide)


def test_a_damaged_table() -> None:
    offsets = pa.array([0, 2, 1, 3], pa.int32()).buffers()[1]
    damaged = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abc")])
    with raises_code("damaged"):
        arrow.encode_table(pa.table({"text": damaged}), MODELS["gpt2"])
    _, views, text = pa.array(["longer than a view can hold"], pa.string_view()).buffers()
    views = views.to_pybytes()[:12] + b"\xff\xff\0\0"
    damaged = pa.Array.from_buffers(pa.string_view(), 1, [None, pa.py_buffer(views), text])
    with raises_code("damaged"):
        arrow.encode_table(pa.table({"text": damaged}), MODELS["gpt2"])


@pytest.mark.parametrize("number", [-1, 2])
def test_numbers_of_a_dictionary_are_checked(number: int) -> None:
    numbers = pa.array([0, number], pa.int32())
    damaged = pa.DictionaryArray.from_arrays(numbers, pa.array(["a", "b"]), safe=False)
    with raises_code("damaged"):
        arrow.encode_table(pa.table({"text": damaged}), MODELS["gpt2"])


def test_a_column_is_a_sequence() -> None:
    texts = [b"ab", b"", b"\xff", b"abc"]
    found = tables.text_column(pa.array(texts)[1:])
    assert len(found) == 3 and found.size == 4 and found.first_not_utf8() == 1
    assert list(found[:]) == [found[at] for at in range(-3, 0)] == texts[1:]  # type: ignore[call-overload]
    assert list(found[::-2]) == [b"abc", b""]  # type: ignore[call-overload]
    with pytest.raises(IndexError):
        found[3]


def test_what_other_libraries_give() -> None:
    tokenizer = MODELS["gpt2"]
    texts = ["ab", "abc a", ""]
    expected = tokenizer.encode_ids(texts)
    batch = pa.record_batch({"text": texts})
    assert arrow.encode_table(batch, tokenizer)["ids"].to_pylist() == expected

    class Capsule:
        """Any other library's table."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
            return pa.table(batch.to_pydict()).__arrow_c_stream__(requested_schema)

    assert arrow.encode_table(Capsule(), tokenizer)["ids"].to_pylist() == expected


@pytest.mark.parametrize("name", ["polars", "pandas"])
def test_data_frames(name: str) -> None:
    library = pytest.importorskip(name)
    frame = library.DataFrame({"text": ["ab", "abc a", None]})
    tokenizer = MODELS["gpt2"]
    found = arrow.encode_table(frame, tokenizer)["ids"].to_pylist()
    assert found == [*tokenizer.encode_ids(["ab", "abc a"]), None]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_empty_table(layout: str) -> None:
    table = pa.table({"text": column([], layout)})
    found = arrow.encode_table(table, MODELS["gpt2"])
    assert found.num_rows == 0 and found.schema.field("ids").type == pa.list_(pa.uint32())
    nothing = arrow.encode_table(pa.table({"text": pa.nulls(2)}), MODELS["gpt2"])
    assert nothing["ids"].to_pylist() == [None, None]


def test_a_model_is_loaded_once_and_again_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    load = Tokenizer.load
    monkeypatch.setattr(Tokenizer, "load", lambda path: loaded.append(path) or load(path))
    path = tmp_path / "m.json"
    MODELS["gpt2"].save(path)
    first = arrow.encode_table({"text": ["abc"]}, path)
    again = arrow.encode_table({"text": ["abc"]}, str(path))
    assert first.equals(again) and loaded == [str(path)]
    MODELS["bert"].save(path)
    os.utime(path, ns=(1, 1))
    other = arrow.encode_table({"text": ["abc"]}, path)
    assert other["ids"].to_pylist() == MODELS["bert"].encode_ids(["abc"])
    assert loaded == [str(path)] * 2


def test_functions_are_pickled_by_name() -> None:
    for name in arrow.__all__:
        function = getattr(arrow, name)
        data = pickle.dumps(function)
        assert pickle.loads(data) is function and len(data) < 100


def test_nothing_imports_it_unasked() -> None:
    code = (
        "import sys, tokctl; tokctl.Tokenizer; "
        "print('pyarrow' in sys.modules, 'tokctl.extras.arrow' in sys.modules); "
        "import tokctl.extras.arrow; print('pyarrow' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"] * 3


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with raises_code("missing-package") as caught:
        arrow.encode_table({"text": ["a"]}, MODELS["gpt2"])
    assert caught.value.hint == "pip install 'tokctl[parquet]'"


def test_a_column_does_not_change_with_memory_that_others_may_write_to() -> None:
    data = bytearray(b"abcdef")
    offsets = array("i", [0, 3, 6])
    column = _native.TextColumn(data, memoryview(offsets).cast("B"), 0, 2, False)
    data[:3] = b"xyz"
    assert list(column) == [b"abc", b"def"]
