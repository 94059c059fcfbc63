"""JSON Lines and texts with counts: what was written comes back, and errors name the line."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import systems
from tests.errors import raises_code
from tests.memory import ROOT
from tests.sources.made import COMPRESS, batches, pieces_of, records, trickle
from tokctl.core.errors import TokctlError
from tokctl.sources import AUTO, Document, ReadOptions, Records, open_sources
from tokctl.sources.lines import jsonl

TEXTS = ["one", "", "zwei\n\tdrei", "\ud7ff\ue000\U0010ffff 火", 'quotes " and \\', "\x00\u2028"]


def lines(texts: list[str], end: str = "\n", **more: Any) -> bytes:
    return "".join(json.dumps({"id": 7, "text": text, **more}) + end for text in texts).encode()


def stdin(data: bytes, reading: ReadOptions = AUTO) -> Any:
    (source,) = open_sources(["-"], reading, stdin=io.BytesIO(data))
    return source


JSONL = ReadOptions("jsonl")
TSV = ReadOptions("tsv")


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.JSONLINES", "a.b.jsonl"])
@pytest.mark.parametrize("ending", ["", *COMPRESS])
def test_names_that_say_json_lines(name: str, ending: str, tmp_path: Path) -> None:
    data = lines(TEXTS)
    path = tmp_path / (f"{name}.{ending}" if ending else name)
    path.write_bytes(COMPRESS[ending](data) if ending else data)
    (source,) = open_sources([path])
    assert isinstance(source, Records)
    for _ in range(2):
        assert records(source) == [text.encode() for text in TEXTS]
        assert source.tell() == source.size == path.stat().st_size
    assert (source.name, source.unit, source.prompt) == (str(path), "line", True)


def test_what_is_json_lines_and_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(lines(["x"]))
    (plain,) = open_sources([path])
    assert isinstance(plain, Document)
    assert records(open_sources([path], JSONL)[0]) == [b"x"]
    with raises_code("conflict", r"the field text: .*a\.json is plain text") as caught:
        open_sources([path], ReadOptions(text_field="text"))
    assert "--format jsonl" in str(caught.value.hint)
    assert isinstance(stdin(lines(["x"])), Document)
    assert records(stdin(lines(["x"]), ReadOptions(text_field="text"))) == [b"x"]


@given(
    texts=st.lists(st.text(max_size=40), max_size=30),
    end=st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\r\n"]),
    whole=st.booleans(),
    bom=st.booleans(),
    ascii_only=st.booleans(),
    cuts=st.lists(st.integers(0, 2000), max_size=20),
)
def test_json_lines_come_back(
    texts: list[str], end: str, whole: bool, bom: bool, ascii_only: bool, cuts: list[int]
) -> None:
    rows = [json.dumps({"text": text, "n": [1]}, ensure_ascii=ascii_only) for text in texts]
    data = (b"\xef\xbb\xbf" if bom else b"") + end.join(rows).encode()
    data += end.encode() if whole and rows else b""
    (source,) = open_sources(["-"], JSONL, stdin=trickle(pieces_of(data, cuts)))
    found = batches(source)
    assert [text.decode() for batch in found for text in batch.texts] == texts
    step = 2 if end.count("\n") == 2 else 1
    row = 0
    for batch in found:
        assert batch.first == step * row + 1
        assert batch.counts is None
        row += len(batch.texts)


def test_fields() -> None:
    deep = {"a": {"b": {"c": "deep"}, "b.c": "literal below"}, "a.b.c": "literal"}
    only = {"a": {"b": {"c": "deep"}}}
    data = json.dumps(deep).encode() + b"\n" + json.dumps(only).encode()
    assert records(stdin(data, ReadOptions(text_field="a.b.c"))) == [b"literal", b"deep"]
    assert records(stdin(b'{"": "x", ".": "y"}', ReadOptions("jsonl", "."))) == [b"y"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"text": "a"', "is not valid JSON"),
        (b'{"text": "a"} {"text": "b"}', "is not valid JSON"),
        (b'{"text": "a"},', "is not valid JSON"),
        (b"text", "is not valid JSON"),
        (b'{"text": "a\xff"}', "is not valid JSON"),
        (b'{"text": "\\ud800"}', "is not valid JSON"),
        (b'{"text": "\\udc00x"}', "is not valid JSON"),
        (b'{"text": NaN}', "is not valid JSON"),
        (b"{}\xef\xbb\xbf", "is not valid JSON"),
        (b'["text"]', "is not a JSON object"),
        (b'"text"', "is not a JSON object"),
        (b"7", "is not a JSON object"),
        (b"null", "is not a JSON object"),
        (b'{"body": "a", "id": 1}', "has no field text"),
        (b"{}", "has no field text"),
        (b'{"text": null}', "field text is null"),
        (b'{"text": 7}', "field text is a number"),
        (b'{"text": true}', "field text is true or false"),
        (b'{"text": ["a"]}', "field text is an array"),
        (b'{"text": {"a": 1}}', "field text is an object"),
        (b"[" * 100_000, "is not valid JSON"),
    ],
)
@pytest.mark.parametrize("before", [0, 3])
def test_lines_that_are_refused(line: bytes, says: str, before: int) -> None:
    data = lines(["ok"] * before) + b"\n" * before + line + b"\n" + lines(["ok"])
    with pytest.raises(TokctlError) as caught:
        records(stdin(data, JSONL))
    assert caught.value.message.startswith(f"stdin: line {2 * before + 1}: {says}")
    assert len(str(caught.value)) < 400
    if "body" in line.decode("utf-8", "replace"):
        assert str(caught.value.hint).endswith("there is: body, id")


@pytest.mark.parametrize(("document", "field"), [({"a": "x"}, "a.b"), ({"a": []}, "a.b")])
def test_a_path_that_ends_early(document: Any, field: str) -> None:
    with raises_code("bad-record", r"line 1: has no field a\.b"):
        records(stdin(json.dumps(document).encode(), ReadOptions("jsonl", field)))


def test_a_line_of_many_blocks() -> None:
    for size in (4_000_000, 32_000_000):
        data = lines(["x" * size, "end"])
        pieces = pieces_of(data, range(0, len(data), 1 << 14))
        sizes = [len(text) for batch in jsonl(iter(pieces), "x", "text") for text in batch.texts]
        assert sizes == [size, 3]


@given(
    rows=st.lists(
        st.tuples(
            st.binary(max_size=30).filter(lambda text: b"\n" not in text),
            st.integers(0, 2**63 - 1) | st.integers(0, 99),
            st.integers(0, 3),
        ),
        max_size=20,
    ),
    end=st.sampled_from([b"\n", b"\r\n"]),
    cuts=st.lists(st.integers(0, 900), max_size=20),
    last=st.booleans(),
)
def test_texts_with_counts_come_back(
    rows: list[tuple[bytes, int, int]], end: bytes, cuts: list[int], last: bool
) -> None:
    data = end.join(
        text + b"\t" + b"0" * zeros + str(count).encode() for text, count, zeros in rows
    )
    data += end if last and rows else b""
    (source,) = open_sources(["-"], TSV, stdin=trickle(pieces_of(data, cuts)))
    found = batches(source)
    assert [text for batch in found for text in batch.texts] == [row[0] for row in rows]
    assert [count for batch in found for count in batch.counts or ()] == [row[1] for row in rows]
    number = 1
    for batch in found:
        assert batch.first == number
        number += len(batch.texts)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"no count", "has no tab and no count"),
        (b"", "has no tab and no count"),
        (b"a\t", "'' is not a count"),
        (b"a\t-1", "'-1' is not a count"),
        (b"a\t+1", "'+1' is not a count"),
        (b"a\t 1", "' 1' is not a count"),
        (b"a\t1 ", "'1 ' is not a count"),
        (b"a\t1_0", "'1_0' is not a count"),
        (b"a\t1.5", "'1.5' is not a count"),
        (b"a\t3\tb", "'b' is not a count"),
        ("a\t٣".encode(), "'٣' is not a count"),
        (b"a\t9223372036854775808", "'9223372036854775808' is not a count"),
        (b"a\t" + b"9" * 100_000, "'999"),
    ],
)
def test_counts_that_are_refused(line: bytes, says: str) -> None:
    data = b"one\t1\ntwo\t2\n" + line + b"\nthree\t3\n"
    with pytest.raises(TokctlError) as caught:
        records(stdin(data, TSV))
    assert caught.value.message.startswith(f"stdin: line 3: {says}")
    assert len(str(caught.value)) < 300


def test_a_count_with_thousands_of_zeros() -> None:
    (batch,) = batches(stdin(b"a\t" + b"0" * 9000 + b"7\nb\t" + b"0" * 9000 + b"\n", TSV))
    assert batch.counts == [7, 0]


STREAMED = """
import io
from tests.memory import peak
from tokctl.sources import ReadOptions, open_sources
class Lines(io.RawIOBase):
    left = 120
    def readable(self): return True
    def read(self, size):
        Lines.left -= 1
        return (b'{"text": "%s"}\\n' % (b"some words " * 90)) * 1000 if Lines.left > 0 else b""
(source,) = open_sources(["-"], ReadOptions("jsonl"), stdin=Lines())
size, before = 0, 0
for batch in source.batches():
    size += sum(map(len, batch.texts))
    before = before or peak()
print(size, peak() - before)
"""


@systems.linux
def test_memory_is_that_of_a_batch() -> None:
    command = [sys.executable, "-c", STREAMED]
    shown = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    assert int(shown[0]) == 119 * 1000 * 990
    assert int(shown[1]) < 20_000


def test_lines_are_numbered_behind_blank_ones() -> None:
    """Whoever counts on from the first text of a batch is at the right line."""
    lines = ['{"text": "a"}', "", '{"text": "b"}', '{"text": "c"}', " \r", "", '{"text": "d"}', ""]
    data = "\n".join(["", *lines, '{"text": "e"}']).encode()
    wanted = [(b"a", 2), (b"b", 4), (b"c", 5), (b"d", 8), (b"e", 10)]
    for size in (1, 20, 1000):
        blocks = [data[start : start + size] for start in range(0, len(data), size)]
        found = [
            (text, number)
            for batch in jsonl(blocks, "a.jsonl", "text")
            for number, text in enumerate(batch.texts, batch.first)
        ]
        assert found == wanted
