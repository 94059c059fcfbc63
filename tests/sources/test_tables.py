"""Parquet and Arrow: the texts of one column, and errors that name the file, column and row."""

from __future__ import annotations

import io
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import systems
from tests.errors import raises_code
from tests.sources.made import COMPRESS, batches, records
from tokctl.core.errors import TokctlError
from tokctl.sources import ReadOptions, Records, open_sources, tables

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
ipc = pytest.importorskip("pyarrow.ipc")
parquet = pytest.importorskip("pyarrow.parquet")

TEXTS = [f"row {n} " + "é" * (n % 7) for n in range(2500)] + ["", "\x00", "\U0010ffff"]
BYTES = [text.encode() for text in TEXTS]


def table(texts: Any = TEXTS, kind: Any = None, name: str = "text") -> Any:
    column = texts if isinstance(texts, pa.Array) else pa.array(texts, kind or pa.string())
    numbers = pa.array(range(len(column)))
    return pa.table({"id": numbers, name: column, "more": numbers})


def written(form: str, what: Any) -> bytes:
    out = io.BytesIO()
    if form == "parquet":
        parquet.write_table(what, out, row_group_size=700)
    elif form == "feather":
        feather.write_feather(what, out, compression="zstd", chunksize=700)
    else:
        make = ipc.new_file if form == "file" else ipc.new_stream
        with make(out, what.schema) as writer:
            writer.write_table(what, 700)
    return out.getvalue()


FORMS = ["parquet", "file", "stream", "feather"]


@pytest.mark.parametrize("form", FORMS)
def test_every_way_in(form: str, tmp_path: Path) -> None:
    data = written(form, table())
    path = tmp_path / "no-name-for-it"
    path.write_bytes(data)
    (source,) = open_sources([path])
    assert isinstance(source, Records)
    assert (source.size, source.unit, source.prompt) == (len(data), "row", True)
    seen = []
    for _ in range(2):
        seen = [source.tell() for _ in source.batches()]
        assert source.tell() == source.size
        assert records(source) == BYTES
    assert seen == sorted(seen)
    assert len(set(seen)) > 2 or form == "stream"  # which is one block
    row = 1
    for batch in batches(source):
        assert batch.first == row
        row += len(batch.texts)
    (piped,) = open_sources(["-"], stdin=io.BytesIO(data))
    assert piped.name == "stdin" and records(piped) == BYTES
    named = ReadOptions("parquet" if form == "parquet" else "arrow", "text")
    assert records(open_sources(["-"], named, stdin=io.BytesIO(data))[0]) == BYTES
    for ending, compress in COMPRESS.items():
        path.write_bytes(compress(data))
        (source,) = open_sources([path])
        assert records(source) == BYTES, ending
        assert source.tell() == source.size


KINDS: dict[str, Callable[[list[str]], Any]] = {
    "string": lambda texts: pa.array(texts, pa.string()),
    "large_string": lambda texts: pa.array(texts, pa.large_string()),
    "binary": lambda texts: pa.array([text.encode() for text in texts], pa.binary()),
    "large_binary": lambda texts: pa.array([text.encode() for text in texts], pa.large_binary()),
    "dictionary": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
    "string_view": lambda texts: pa.array(texts, pa.string_view()),
    "binary_view": lambda texts: pa.array([text.encode() for text in texts], pa.binary_view()),
}


@pytest.mark.parametrize("form", ["parquet", "file", "stream"])
@pytest.mark.parametrize("kind", KINDS)
def test_layouts_of_text(form: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    try:
        path.write_bytes(written(form, table(KINDS[kind](TEXTS + TEXTS[:900]))))
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow does not write it")
    assert records(open_sources([path])[0]) == BYTES + BYTES[:900]


def test_other_layouts(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(written("file", table(pa.array([b"abc", b"def"], pa.binary(3)))))
    assert records(open_sources([path])[0]) == [b"abc", b"def"]
    path.write_bytes(written("file", table([])))
    assert records(open_sources([path])[0]) == []
    if hasattr(pa, "json_"):
        json = pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a":1}']))
        path.write_bytes(written("stream", table(json)))
        assert records(open_sources([path])[0]) == [b'{"a":1}']


@given(
    texts=st.lists(st.text(max_size=20), max_size=40),
    start=st.integers(0, 10),
    kind=st.sampled_from(sorted(KINDS)),
)
def test_slices_of_arrays(texts: list[str], start: int, kind: str) -> None:
    array = KINDS[kind](texts)[start:]
    found = list(tables.column_batches(array, [], "text", "x", 1))
    assert [text.decode() for batch in found for text in batch.texts] == texts[start:]


def test_large_rows_are_batches_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "BATCH_SIZE", 100)
    texts = ["a" * 60, "b" * 60, "c" * 500, "", "d", "e" * 99, "f"]
    for make in KINDS.values():
        found = list(tables.column_batches(make(texts), [], "text", "x", 5))
        assert [text.decode() for batch in found for text in batch.texts] == texts
        assert found[0].first == 5
        for batch in found:
            assert len(batch.texts) == 1 or sum(map(len, batch.texts[:-1])) < 100
        assert len(found) > 3


@pytest.mark.parametrize("form", FORMS)
def test_fields_in_fields(form: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = [{"b": {"c": f"deep {n}", "d": n}, "x": "y"} for n in range(1500)]
    what = pa.table({"id": range(1500), "a": rows, "text": ["t"] * 1500})
    path.write_bytes(written(form, what))
    expected = [b"deep %d" % n for n in range(1500)]
    assert records(open_sources([path], ReadOptions(text_field="a.b.c"))[0]) == expected
    path.write_bytes(written(form, what.append_column("a.b.c", pa.array(["own"] * 1500))))
    assert records(open_sources([path], ReadOptions(text_field="a.b.c"))[0]) == [b"own"] * 1500


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("piped", [False, True])
def test_what_is_wrong_with_a_table(form: str, piped: bool, tmp_path: Path) -> None:
    path = tmp_path / "t"
    name = "stdin" if piped else str(path)

    def fails(what: Any, field: str | None = None) -> TokctlError:
        path.write_bytes(written(form, what))
        with pytest.raises(TokctlError) as caught, path.open("rb") as stdin:
            # A column that is missing is found out before anything is read, where it can be.
            (source,) = open_sources(
                ["-" if piped else path], ReadOptions("auto", field), stdin=stdin
            )
            records(source)
        return caught.value

    missing = fails(table(name="body"))
    assert missing.message == f"{name} has no column text"
    assert missing.hint == "--text-field names it; there is: id, body, more"
    assert fails(table(), "id").message == f"{name}: column id holds int64, not text"
    assert fails(table(), "text.b").message == f"{name} has no column text.b"
    nulls = [*TEXTS[:1501], None, *TEXTS]
    for kind in (pa.string(), pa.large_string()):
        assert fails(table(nulls, kind)).message == f"{name}: row 1502: text is null"
    encoded = pa.array(nulls).dictionary_encode()
    assert fails(table(encoded)).message == f"{name}: row 1502: text is null"
    parents = pa.array([{"b": "x"}] * 1501 + [None])
    what = pa.table({"id": range(1502), "a": parents})
    assert fails(what, "a.b").message == f"{name}: row 1502: a.b is null"


def test_a_null_in_a_dictionary() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", None]))
    with raises_code("bad-record", "x: row 9: text is null"):
        list(tables.column_batches(array, [], "text", "x", 8))


@pytest.mark.few(2)
@pytest.mark.parametrize("form", FORMS)
def test_cut_anywhere_is_an_error(form: str, tmp_path: Path) -> None:
    data = written(form, table(TEXTS[:1700]))
    path = tmp_path / "cut"
    ends = [*range(97, len(data), 97 if form == "parquet" else 997), len(data) - 1]
    for end in ends:
        if form == "stream" and data[end - 8 : end] == b"\xff\xff\xff\xff\0\0\0\0":
            continue
        path.write_bytes(data[:end])
        for name in (path, "-"):
            with pytest.raises(TokctlError) as caught, path.open("rb") as stdin:
                records(open_sources([name], stdin=stdin)[0])
            expected = str(path) if name == path else "stdin"
            assert caught.value.message.startswith(f"{expected} is ")


def test_a_stream_that_ends_between_two_batches(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(written("stream", table())[:-8])
    with raises_code("damaged"):
        records(open_sources([path])[0])


def test_damaged_bytes_are_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for form in FORMS:
        data = written(form, table(TEXTS[:300]))
        for place in range(0, len(data), max(1, len(data) // 150)):
            changed = bytearray(data)
            changed[place] ^= 0x55
            path.write_bytes(changed)
            try:
                (source,) = open_sources([path], ReadOptions("auto", "text"))
                if isinstance(source, Records):
                    records(source)
            except TokctlError as error:
                assert str(path) in error.message


def of_offsets(offsets: list[int], kind: Any, large: bool) -> Any:
    places = pa.array(offsets, pa.int64() if large else pa.int32()).buffers()[1]
    return pa.Array.from_buffers(kind, len(offsets) - 1, [None, places, pa.py_buffer(b"abcdef")])


@pytest.mark.parametrize("offsets", [[0, 5, 3, 6], [-3, 0, 3, 6], [0, 3, 6, 9], [0, 9, 9, 6]])
@pytest.mark.parametrize("form", ["file", "stream"])
@pytest.mark.parametrize(
    ("kind", "large"),
    [(pa.string(), False), (pa.binary(), False), (pa.large_string(), True)],
    ids=str,
)
def test_offsets_that_fall_or_lead_outside(
    offsets: list[int], form: str, kind: Any, large: bool, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    good = written(form, table(of_offsets([0, 3, 3, 6], kind, large)))
    size = "q" if large else "i"
    old, new = (array(size, places).tobytes() for places in ([0, 3, 3, 6], offsets))
    assert good.count(old) == 1
    path.write_bytes(good)
    assert records(open_sources([path])[0]) == [b"abc", b"", b"def"]
    path.write_bytes(good.replace(old, new))
    with raises_code("damaged"):
        records(open_sources([path])[0])


@pytest.mark.parametrize("index", [-1, 2, 100])
def test_an_index_without_a_value(index: int, tmp_path: Path) -> None:
    path = tmp_path / "t"
    places = pa.array([0, 1, index, 1], pa.int8())
    texts = pa.DictionaryArray.from_arrays(places, ["low", "lower"], safe=False)
    path.write_bytes(written("file", table(texts)))
    with raises_code("damaged"):
        records(open_sources([path])[0])


def test_the_checksum_of_a_page(tmp_path: Path) -> None:
    path = tmp_path / "t"
    made = pa.table({"text": ["a text that is found in the file"] * 3})
    parquet.write_table(
        made, path, compression="none", use_dictionary=False, write_page_checksum=True
    )
    data = path.read_bytes()
    assert records(open_sources([path])[0]) == [b"a text that is found in the file"] * 3
    path.write_bytes(data.replace(b"is found", b"is other"))
    with raises_code("damaged", r"t is damaged, or not Parquet: .*(crc|CRC|checksum)"):
        records(open_sources([path])[0])


@pytest.mark.parametrize("form", ["parquet", "arrow", "feather"])
def test_a_table_by_its_name_whose_head_is_gone(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{form}"
    data = written("file" if form == "arrow" else form, table())
    path.write_bytes(b"\x00" * 8 + data[8:])
    with pytest.raises(TokctlError, match=rf"t\.{form} does not start like the format in its name"):
        open_sources([path])
    assert open_sources([path], ReadOptions("text"))
    path.write_bytes(b"only a name\n")
    (source,) = open_sources([path])
    assert not isinstance(source, Records)


def test_text_that_is_said_to_be_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for data in (b"", b"hello\n" * 100):
        path.write_bytes(data)
        for form in ("parquet", "arrow"):
            with pytest.raises(TokctlError, match=f"(?i)t is damaged, or not {form}") as caught:
                records(open_sources([path], ReadOptions(form))[0])
            assert "--format" in str(caught.value.hint)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    path.write_bytes(written("parquet", table()))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with raises_code("missing-package") as caught:
        open_sources([path])
    assert caught.value.hint == "pip install 'tokctl[parquet]'"


def test_a_file_that_shrinks(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(written("parquet", table()))
    (source,) = open_sources([path])
    path.write_bytes(written("parquet", table(["a"])))
    with raises_code("unreadable"):
        records(source)
    path.unlink()
    with raises_code("unreadable", r"can't read .*t: No such file"):
        records(source)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_more_behind_the_offsets(kind: Any) -> None:
    """A buffer may be longer than its offsets, by any number of bytes."""
    places = array("i" if kind == pa.string() else "q", [0, 3, 3, 6]).tobytes() + b"abc"
    buffers = [None, pa.py_buffer(places), pa.py_buffer(b"lowest")]
    column = pa.Array.from_buffers(kind, 3, buffers)
    assert [
        text for batch in tables.column_batches(column, [], "text", "t", 1) for text in batch.texts
    ] == [b"low", b"", b"est"]


#: Changes the footer of a Parquet file byte by byte, and reads its texts and its ids.
READS = """
import sys
from pathlib import Path
from tokctl import TokctlError, idfiles
from tokctl.sources import open_sources
from tests.tools.fuzz.targets import decoder, texts_of
path, whole = Path(sys.argv[1]), Path(sys.argv[1]).read_bytes()
start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
refused = 0
for place in range(start, len(whole) - 8):
    for value in {0, 2, whole[place] + 2 & 255}:
        path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
        for ids in (False, True):
            try:
                list(idfiles.read_text(decoder(), path) if ids else texts_of(open_sources([path])))
            except TokctlError:
                refused += 1
print(refused)
"""


@pytest.mark.slow
@pytest.mark.parametrize("column", ["text", "input_ids"])
def test_no_damaged_footer_ends_the_process(column: str, tmp_path: Path) -> None:
    """pyarrow aborts where it is asked about a column whose description is damaged."""
    rows = {"text": ["low", None, "lower"], "input_ids": [[1, 2], [], [3]]}
    path = tmp_path / "t"
    parquet.write_table(pa.table({column: rows[column]}), path, compression="none")
    done = subprocess.run(
        [sys.executable, "-c", READS, str(path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100


#: Reads a table, and prints by how many MB this process has grown meanwhile.
PEAK = """
import sys
from tests.tools.fuzz.targets import texts_of
from tests.memory import peak
from tokctl import TokctlError
from tokctl.sources import open_sources
path, whole = sys.argv[1:]
list(texts_of(open_sources([whole])))
before = peak()
try:
    list(texts_of(open_sources([path])))
except TokctlError as error:
    assert "Page was smaller" in error.message, error.message
    print(peak() - before >> 10)
"""


@systems.linux
def test_a_page_that_wants_all_memory(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole", tmp_path / "t"
    parquet.write_table(
        pa.table({"text": ["low lower"]}), whole, compression="none", use_dictionary=False
    )
    data = whole.read_bytes()
    # The size of a page: the third field of its header, which begins behind the magic number.
    at = data.index(b"\x15", 4 + 4)
    huge = b"\xfe\xff\xff\xff\x0f"
    # The header grows; nothing else says where things are but the footer, which counts from here.
    path.write_bytes(data[: at + 1] + huge + data[at + 2 :])
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path), str(whole)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 100
