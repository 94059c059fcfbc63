"""Files to ids: those of the command line, document by document, in any blocks and threads."""

from __future__ import annotations

import io
import struct
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.api.sources import archive, document, records
from tests.cli.run import tokctl
from tests.errors import raises_code
from tests.exact.ids_in_and_out import byte_level, characters, outcome
from tests.formats.models import RECIPES, filled
from tokctl import TokctlError, Tokenizer, preset
from tokctl.sources import Document, ReadOptions


def rows(tokenizer: Tokenizer, sources: Any, **options: Any) -> list[list[int]]:
    """The ids of each document, which both methods agree upon."""
    ids, offsets = tokenizer.encode_file(sources, **options)
    assert (offsets[0], offsets[-1], offsets.typecode) == (0, len(ids), "q")
    whole = [ids[start:end].tolist() for start, end in pairwise(offsets)]
    assert [one.tolist() for one in tokenizer.encode_file_iter(sources, **options)] == whole
    if not isinstance(sources, Iterator):
        assert tokenizer.encode_file(sources, dtype="uint16", **options) == (ids, offsets)
    return whole


@given(
    st.binary(max_size=200) | st.text("ab \n\r", max_size=60).map(str.encode),
    st.integers(1, 50),
    st.integers(1, 3),
)
def test_blocks_and_threads_leave_no_trace(data: bytes, block: int, threads: int) -> None:
    tokenizer = byte_level()
    source = document(data, block)
    assert rows(tokenizer, source, threads=threads) == [tokenizer.encode_ids(data)]
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    wanted = tokenizer.encode_ids(lines)
    assert rows(tokenizer, source, lines=True, threads=threads) == wanted


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_gives_the_ids_of_the_whole_text(name: str) -> None:
    tokenizer = Tokenizer(filled(RECIPES[name]))
    text = "abc ab c  cab\nabcab ba\n\nc a" * 3
    source = document(text.encode(), 5)
    if isinstance(outcome(lambda: tokenizer.encode_ids(text)), tuple):
        with pytest.raises(
            TokctlError, match=r"a\.txt: line 1: '.*' is not in the model's alphabet"
        ):
            tokenizer.encode_file(source)
        return
    assert rows(tokenizer, source) == [tokenizer.encode_ids(text)]
    assert rows(tokenizer, source, lines=True) == tokenizer.encode_ids(text.split("\n"))


def test_a_long_text(sample: str) -> None:
    tokenizer = byte_level()
    text = (sample * (5_000_000 // len(sample))).encode()
    for block in (1 << 21, 100_003):
        for threads in (1, 2):
            source = document(text, block)
            ids, offsets = tokenizer.encode_file(source, threads=threads)
            assert ids == tokenizer.encode_array(text) and list(offsets) == [0, len(ids)]
            by_line = tokenizer.encode_file(source, threads=threads, lines=True)
            assert by_line == tokenizer.encode_array(text.splitlines())


def test_documents_records_and_archives_in_order() -> None:
    tokenizer = byte_level()
    texts = [b"hello", b"", b"the\nre", b"x" * 50, b"\n"]
    inner = archive([document(b"one\ntwo\n"), records(texts[:2]), document(b"")])
    sources = [document(b"hello there"), records(texts), inner, document(b"\nlast")]
    flat = [b"hello there", *texts, b"one\ntwo\n", *texts[:2], b"", b"\nlast"]
    assert rows(tokenizer, sources) == tokenizer.encode_ids(flat)
    by_line = [b"hello there", *texts, b"one", b"two", *texts[:2], b"", b"last"]
    assert rows(tokenizer, sources, lines=True, threads=2) == tokenizer.encode_ids(by_line)


def test_no_merge_crosses_the_end_of_a_document() -> None:
    tokenizer = byte_level()
    apart = rows(tokenizer, [document(b"hel"), document(b"lo")])
    assert [*apart[0], *apart[1]] != tokenizer.encode_ids("hello")
    assert apart == tokenizer.encode_ids(["hel", "lo"])


@pytest.mark.parametrize("eos", ["<|endoftext|>", "number", "a"])
@pytest.mark.parametrize("lines", [False, True])
def test_a_separator_stands_behind_each_document(eos: str, lines: bool) -> None:
    tokenizer = byte_level()
    end = tokenizer.vocabulary["<|endoftext|>" if eos == "number" else eos]
    given_eos: str | int = end if eos == "number" else eos
    sources = [document(b"a\nb"), document(b""), records([b"", b"c"])]
    texts = ["a", "b", "", "c"] if lines else ["a\nb", "", "", "c"]
    wanted = [[*ids, end] for ids in tokenizer.encode_ids(texts)]
    assert rows(tokenizer, sources, lines=lines, eos=given_eos) == wanted
    with raises_code("unknown-name") as caught:
        tokenizer.encode_file(sources, eos="[END]")
    assert "<|endoftext|>" in str(caught.value.hint)
    with raises_code("bad-value", "invalid value 300 for eos"):
        tokenizer.encode_file_iter(sources, eos=300)


def test_special_tokens_that_the_text_spells() -> None:
    tokenizer = byte_level()
    text = "the<|endoftext|>re\n<|endoftext|>"
    for special in ("none", "all"):
        wanted = [tokenizer.encode_ids(text, special=special)]
        assert rows(tokenizer, document(text.encode(), 3), special=special) == wanted
        by_line = tokenizer.encode_ids(text.split("\n"), special=special)
        source = document(text.encode(), 3)
        assert rows(tokenizer, source, special=special, lines=True) == by_line


def test_the_ids_are_those_of_the_command_line(tmp_path: Path, sample: str) -> None:
    tokenizer = Tokenizer.train({"the": 9, "there": 5}, recipe=preset("bert"), vocab_size=60)
    for name, model in {"gpt2": byte_level(), "bert": tokenizer}.items():
        model.save(tmp_path / f"{name}.json")
        path = tmp_path / "text.txt"
        path.write_text(sample + "\n\nlast line", encoding="utf-8")
        encode = ("encode", "-m", str(tmp_path / f"{name}.json"), str(path))
        written = tokctl(*encode).out.decode()
        shown = [list(map(int, line.split())) for line in written.split("\n")]
        assert rows(model, path, lines=True) == shown
        target = tmp_path / "ids.bin"
        tokctl(*encode, "--as", "bin", "-o", str(target))
        data = target.read_bytes()
        assert rows(model, str(path)) == [list(struct.unpack(f"<{len(data) // 2}H", data))]


def test_paths_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = byte_level()
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_bytes(b"hello")
    second.write_bytes(b"there")

    class Named:
        def __fspath__(self) -> str:
            return str(second)

    wanted = tokenizer.encode_ids(["hello", "there"])
    assert rows(tokenizer, [first, str(second)]) == wanted
    assert rows(tokenizer, [first, document(b""), Named()]) == [wanted[0], [], wanted[1]]
    assert rows(tokenizer, first, reading=ReadOptions("text")) == wanted[:1]
    assert rows(tokenizer, []) == []
    stdin = io.TextIOWrapper(io.BytesIO(b"hello"))
    monkeypatch.setattr("sys.stdin", stdin)
    assert tokenizer.encode_file("-")[0].tolist() == wanted[0]


def test_what_cannot_be_read_is_an_error_at_once(tmp_path: Path) -> None:
    for method in (byte_level().encode_file, byte_level().encode_file_iter):
        with raises_code("unreadable", r"none\.txt"):
            method(tmp_path / "none.txt")
        for options, message in [
            ({"threads": 0}, "invalid value 0 for threads"),
            ({"errors": "ignore"}, "invalid value 'ignore' for errors"),
            ({"special": ["[NO]"]}, "not a special token"),
        ]:
            with pytest.raises(TokctlError, match=message):
                method([], **options)


def test_text_that_is_not_utf_8_is_named_or_replaced() -> None:
    model = characters()
    bad = [document(b"the\nth\xffe\n", 4), records([b"the", b"the", b"the", b"e\xff"])]
    for source, place in zip(bad, ("a.txt: line 2, byte 6", "a.jsonl: line 4"), strict=True):
        for lines in (False, True):
            with pytest.raises(TokctlError, match=place):
                model.encode_file(source, lines=lines)
        shown = [text.decode("utf-8", "replace") for text in (b"the\nth\xffe\n",)]
        if source is bad[0]:
            assert rows(model, source, errors="replace") == model.encode_ids(shown)


def test_a_character_without_an_id_is_named_with_file_and_line() -> None:
    plain: dict[str, Any] = {"normalizers": (), "unk_token": None, "special_tokens": ()}
    recipe = replace(RECIPES["chars"], **plain)
    model = Tokenizer.train({" the": 9, "the": 5, "\n": 3}, recipe=recipe, vocab_size=12)
    text = "the the\n" * 40_000 + "the ß\n"
    for threads in (1, 2):
        for lines in (False, True):
            source = document(text.encode(), 1 << 16)
            with raises_code("no-id", r"a\.txt: line 40001: 'ß'"):
                model.encode_file(source, threads=threads, lines=lines)
    with raises_code("no-id", r"a\.jsonl: line 5: 'ß'"):
        model.encode_file(records([b"the"] * 4 + ["the\nß".encode()]))


def test_documents_before_what_is_damaged_are_given() -> None:
    def blocks() -> Iterator[bytes]:
        yield b"the"
        raise TokctlError("b.txt: the disk is gone", "mount it again")

    tokenizer = byte_level()
    sources = [document(b"hello"), Document("b.txt", None, blocks)]
    stream = tokenizer.encode_file_iter(sources)
    assert next(stream).tolist() == tokenizer.encode_ids("hello")
    with raises_code("error", "the disk is gone"):
        next(stream)
    for threads in (1, 2):
        with raises_code("error", "the disk is gone"):
            tokenizer.encode_file(sources, threads=threads)


def test_a_stream_that_is_closed_early_closes_its_source() -> None:
    closed = []

    def blocks() -> Iterator[bytes]:
        try:
            while True:
                yield b"hello there\n" * 1000
        finally:
            closed.append(True)

    before = threading.active_count()
    source = Document("endless", 1 << 40, blocks, prompt=True)
    for threads in (1, 2):
        stream = byte_level().encode_file_iter(source, lines=True, threads=threads)
        assert len([next(stream) for _ in range(5000)]) == 5000
        assert threading.active_count() == before
        stream.close()
    assert closed == [True, True]


def test_reading_ahead_ends_with_the_call() -> None:
    before = threading.active_count()
    text = b"hello there " * 400_000
    source = document(text, 1 << 20)
    ids, _ = byte_level().encode_file(source, threads=2)
    assert ids == byte_level().encode_array(text)
    assert threading.active_count() == before
