"""Word counts: any pre-token comes back as it was, and a file with them is no model."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.formats.models import RECIPES, filled, with_added
from tokctl import TokctlError, Tokenizer, formats, preset
from tokctl.formats import UnsupportedByFormat
from tokctl.sources import Document
from tokctl.training import counts

#: What lines are made of, and what it is escaped with.
odd = st.one_of(
    st.sampled_from(["\t", "\n", "\r", "\\", "\\n", "\\x41", "\\\\", " ", "\r\n", "\t5\n", "\0"]),
    st.sampled_from(["▁", "é", "\ufeff", "\u2028", "\x85", "字", "🙂", "a"]),
).map(str.encode)
raw = st.sampled_from([b"\xff", b"\xe2", b"\x96\x81", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"])
words = st.lists(st.one_of(odd, raw, st.binary(max_size=3)), min_size=1, max_size=5).map(b"".join)
tables = st.dictionaries(words.filter(bool), st.integers(0, 2**62), max_size=8)


@given(tables)
@example({b"\t": 1, b"\n": 2, b"\r": 3, b"\\": 4, b"\xff": 5, b"\\xff": 6, "\ufeff".encode(): 7})
def test_any_word_comes_back(tmp_path: Path, table: dict[bytes, int]) -> None:
    path = tmp_path / "words.tsv"
    counts.write(path, table)
    data = path.read_bytes()
    lines = data.decode("utf-8").split("\n")
    assert [line.count("\t") for line in lines] == [1] * len(table) + [0]
    assert not {"\r"} & set(data.decode())
    again = counts.read(path)
    assert list(again.items()) == list(table.items())
    path.write_bytes(data.replace(b"\n", b"\r\n"))
    assert counts.read(path) == table


def test_the_lines() -> None:
    table = {b"a b": 2**63 - 1, "é\t\\".encode(): 0, b"\xffa\xe2": 3}
    path = io.BytesIO()
    path.write(b"a b\t9223372036854775807\n\xc3\xa9\\t\\\\\t0\n\\xffa\\xe2\t3\n")
    document = Document("x", None, lambda: iter([path.getvalue()]))
    assert counts.read(document) == table


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"a", "no tab"),
        (b"", "no tab"),
        (b"a 5", "no tab"),
        (b"a\t", "not a whole number"),
        (b"a\t-1", "not a whole number"),
        (b"a\t1.5", "not a whole number"),
        (b"a\t9223372036854775808", "not a whole number"),
        (b"a\tb", "not a whole number"),
        ("a\t٣".encode(), "not a whole number"),
        (b"\t1", "the word is empty"),
        (b"a\\q\t1", "a backslash"),
        (b"a\\x1\t1", "a backslash"),
        (b"a\\\t1", "a backslash"),
    ],
)
def test_lines_that_are_none(line: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_bytes(b"x\t1\n" + line + b"\ny\t1\n")
    with pytest.raises(TokctlError, match=f"words.tsv: line 2: .*{why}"):
        counts.read(path)


def test_words_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    for table in ({"": 1}, {"a": -1}, {"a": 2**63}, {"a": 1.5}, {"a": True}, {"\ud800": 1}):
        with pytest.raises(TokctlError):
            counts.write(path, table)  # type: ignore[arg-type]
    assert not path.exists()
    twice = tmp_path / "twice.tsv"
    twice.write_bytes(b"b\t3\na\t1\nb\t9223372036854775807\n")
    with raises_code("too-large", r"2\^63"):
        counts.read(twice)
    with raises_code("not-utf8", "not UTF-8, which this recipe needs"):
        Tokenizer.train({b"\xff": 3}, vocab_size=300, algorithm="wordpiece")


def test_counting(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"b a b\xff\n")
    found = counts.count([path], preset("gpt2"))
    assert list(found.items()) == [(b"b", 1), (b" a", 1), (b" b", 1), (b"\xff", 1), (b"\n", 1)]
    assert list(counts.count(path, preset("gpt2"), min_count=2)) == []


def test_it_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    for data in (b"a\t5\n", b"a\t5", b"a\t5\r\nb c\t0\r\n", b"the\t10\n" * 5000):
        path.write_bytes(data)
        with raises_code("not-a-model") as caught:
            Tokenizer.load(path)
        assert (
            caught.value.hint == f"train a model on these counts: tokctl train --word-counts {path}"
        )
    for data in (b"", b"a\n", b"a\t-1.5\n", b"<unk>\t0\n<s>\t-2\n", b"a 5\n", b"{}\t1\n"):
        source = formats.ModelInput("x", data=data)
        assert formats.format_named("word-counts").detect(source) == (data == b"{}\t1\n")


@pytest.mark.parametrize("name", ["word", "char", "graphemes"])
def test_a_model_that_counted(name: str, tmp_path: Path) -> None:
    model = filled(RECIPES[name])
    lost = formats.losses(model, "word-counts")
    assert [loss.minor for loss in lost] == [False, False, False, True]
    files = formats.write(model, "word-counts")
    path = tmp_path / "words.tsv"
    Tokenizer(model).save(path, "word-counts", lossy=True)
    assert path.read_bytes() == files[""]
    first = len(model.recipe.special_tokens)
    expected = dict(zip(model.tokens[first:], model.counts[first:], strict=True))
    assert counts.read(path) == expected
    added = formats.write(with_added(RECIPES["word"]), "word-counts")[""]
    assert b"<end>" not in added and b"<x y>" not in added


def test_what_was_counted_trains_the_same_words(tmp_path: Path) -> None:
    table = {"the": 9, "sea": 4, "a": 4, "far": 1}
    ours = Tokenizer.train(table, vocab_size=100, algorithm="word")
    path = tmp_path / "words.tsv"
    ours.save(path, "word-counts", lossy=True)
    again = Tokenizer.train(counts.read(path), vocab_size=100, algorithm="word")
    assert (again.tokens, again.model.counts) == (ours.tokens, ours.model.counts)


def test_other_models_have_none() -> None:
    for name, recipe in RECIPES.items():
        if recipe.algorithm not in ("word", "char"):
            with pytest.raises(UnsupportedByFormat, match="only models of words"):
                formats.losses(filled(recipe), "word-counts")
            with pytest.raises(UnsupportedByFormat):
                formats.write(filled(recipe), "word-counts"), name


@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes(data: bytes, at: int) -> None:
    content = b"a\t5\n\\xff b\t7\n"
    mixed = content[:at] + data + content[at:]
    for some in (data, mixed):
        document = Document("x", None, lambda some=some: iter([some]))  # type: ignore[misc]
        try:
            found = counts.read(document)
        except TokctlError as error:
            assert error.message.startswith("x: line") or "2^63" in error.message
        else:
            assert all(word for word in found)


@pytest.mark.parametrize(
    "data", [b"The\t131\n Project\t73\n", b"a\t1\n" * 3000, b"\xef\xbb\xbf\t1"]
)
def test_counts_are_no_pieces_with_scores(data: bytes) -> None:
    with raises_code("not-a-model"):
        formats.parse(data, "c.tsv")
