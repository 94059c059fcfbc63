"""The rows of a count: of every kind of source, for every kind of model."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.explain import models as small
from tests.token_counts.sources import archive, broken, document, records
from tokctl import TokctlError, Tokenizer, Truncation, count_tokens, preset
from tokctl.sources import Archive, Document
from tokctl.tokenizer.token_counts import CountOptions, FailedSource, FileCount, rows

TEXT = b"low lower newest widest\n\nlow  low\tnewer \xc3\xa9t\xc3\xa9\nand so on"


def trained(name: str, size: int = 300) -> Tokenizer:
    """A model of a preset, trained on words."""
    spelled = ["low", "lower", "newest", "widest", "and", "so", "on", "été"]
    words = {word: 9 - n for n, word in enumerate(spelled)}
    return Tokenizer.train(words, vocab_size=size, recipe=preset(name))


BYTES = trained("gpt2")
BERT = trained("bert", 60)
UNIGRAM = trained("sentencepiece-unigram", 30)
MODELS = {"gpt2": BYTES, "bert": BERT, "unigram": UNIGRAM}


def by_lines(model: Tokenizer, text: bytes) -> int:
    lines = text.split(b"\n")
    return sum(len(model.encode_ids(line)) for line in (lines if lines[-1] else lines[:-1]))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_a_document_line_by_line_and_whole(name: str, threads: int) -> None:
    model = MODELS[name]
    for cut in (1, 7, 1000):
        source = document("a", TEXT, cut)
        (row,) = rows([source], [model], CountOptions(lines=True, threads=threads))
        assert row == FileCount("a", (by_lines(model, TEXT),), len(TEXT), 1)
        (row,) = rows([source], [model], CountOptions(threads=threads))
        assert row == FileCount("a", (len(model.encode_ids(TEXT)),), len(TEXT), 1)


@given(st.lists(st.text(max_size=20).map(str.encode), max_size=6), st.integers(1, 9))
def test_many_documents_one_after_the_other(texts: list[bytes], cut: int) -> None:
    sources = [document(str(n), text, cut) for n, text in enumerate(texts)]
    found = list(rows(sources, list(MODELS.values())))
    assert found == [
        FileCount(str(n), tuple(by_lines(model, text) for model in MODELS.values()), len(text), 1)
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize("threads", [1, 2])
def test_records_are_texts_each(threads: int) -> None:
    texts = [b"low\nlower", b"", b"newest", b"so on", b"and"]
    each = [[len(model.encode_ids(text)) for text in texts] for model in (BYTES, BERT)]
    for whole in (False, True):
        settings = CountOptions(lines=not whole, threads=threads)
        (row,) = rows([records("a.jsonl", texts)], [BYTES, BERT], settings)
        assert row == FileCount("a.jsonl", (sum(each[0]), sum(each[1])), 23, 5)
        counts = [3, 7, 0, 2, 1]
        (row,) = rows([records("a.tsv", texts, counts)], [BYTES, BERT], settings)
        weighed = [sum(n * c for n, c in zip(one, counts, strict=True)) for one in each]
        assert row == FileCount("a.tsv", (weighed[0], weighed[1]), 3 * 9 + 2 * 5 + 3, 13)


def test_an_archive_has_a_row_for_each_member() -> None:
    members = [document("t/a", b"low\n"), records("t/b.jsonl", [b"low", b"so"])]
    found = list(rows([archive("t", members), document("c", b"low")], [BYTES]))
    assert [row.name for row in found] == ["t/a", "t/b.jsonl", "c"]
    line, low, so = (len(BYTES.encode_ids(text)) for text in (b"low\n", b"low", b"so"))
    assert [row.tokens for row in found if isinstance(row, FileCount)] == [
        (line,),
        (low + so,),
        (low,),
    ]


AROUND = [
    {"add_special": True},
    {"max_length": 3},
    {"max_length": 2, "add_special": True},
    {"max_length": 4, "stride": 1, "add_special": True},
    {"max_length": 3, "stride": 0},
]


@pytest.mark.parametrize(("around", "whole"), list(product(AROUND, [False, True])))
def test_what_is_put_around_counts(around: dict[str, int], whole: bool) -> None:
    def encoded(text: bytes) -> int:
        truncation = None
        if "max_length" in around:
            truncation = Truncation(around["max_length"], around.get("stride", 0))
        special = bool(around.get("add_special"))
        encoding = BERT.encode(text, add_special=special, truncation=truncation)
        windows = encoding.overflowing if "stride" in around else []
        return sum(map(len, [encoding, *windows]))

    texts = [TEXT] if whole else TEXT.split(b"\n")
    settings = CountOptions(lines=not whole, **around)  # type: ignore[arg-type]
    (row,) = rows([document("a", TEXT)], [BERT], settings)
    assert isinstance(row, FileCount)
    assert row.tokens == (sum(map(encoded, texts)),)
    (row,) = rows([records("a", [TEXT, b"", b"low"])], [BERT], settings)
    assert isinstance(row, FileCount)
    assert row.tokens == (sum(map(encoded, [TEXT, b"", b"low"])),)


def test_samples_are_those_of_encode() -> None:
    lines = TEXT.split(b"\n")
    wanted = [len(UNIGRAM.sample(line, alpha=0.1, seed=5 + n)) for n, line in enumerate(lines)]
    (row,) = rows([document("a", TEXT)], [UNIGRAM], CountOptions(lines=True, alpha=0.1, seed=5))
    assert isinstance(row, FileCount)
    assert row.tokens == (sum(wanted),)
    (row,) = rows([document("a", TEXT)], [UNIGRAM], CountOptions(alpha=0.1, seed=5))
    assert isinstance(row, FileCount)
    assert row.tokens == (len(UNIGRAM.sample(TEXT, alpha=0.1, seed=5)),)


def test_what_fails_leaves_no_trace_in_what_follows() -> None:
    bad, good = b"low\nlower \xff newest", b"low lower"
    for whole in (False, True):
        sources = [document("bad", bad), broken("gone", b"low lo"), document("good", good)]
        first, second, third = rows(sources, [BYTES, BERT], CountOptions(lines=not whole))
        assert isinstance(first, FailedSource)
        assert first.error.message.startswith("bad: line 2, byte 10 is not UTF-8")
        assert isinstance(second, FailedSource)
        assert second.error.message == "can't read gone to its end: it vanished"
        tokens = (len(BYTES.encode_ids(good)), len(BERT.encode_ids(good)))
        assert third == FileCount("good", tokens, len(good), 1)
    (alone,) = rows([document("bad", bad)], [BYTES])
    assert isinstance(alone, FileCount)
    (replaced,) = rows([document("bad", bad)], [BYTES, BERT], CountOptions(errors="replace"))
    assert isinstance(replaced, FileCount)
    assert replaced.bytes == len(bad)
    assert replaced.tokens[0] == alone.tokens[0]
    assert replaced.tokens[1] == by_lines(BERT, bad.replace(b"\xff", "\ufffd".encode()))


def test_a_record_that_is_not_utf8_names_its_place() -> None:
    (row,) = rows([records("r", [b"a", b"b", b"c", b"\xff"], unit="row")], [BERT])
    assert isinstance(row, FailedSource)
    assert row.error.message.startswith("r: row 4: line 1, byte 0 is not UTF-8")


def test_a_bad_member_does_not_stop_its_archive() -> None:
    members = [
        document("t/bad", b"\xff" * 50),
        records("t/r", [b"\xff"] * 9),
        document("t/a", b"low"),
    ]
    found = list(rows([archive("t", members)], [BERT]))
    assert [type(row) for row in found] == [FailedSource, FailedSource, FileCount]


def test_an_archive_that_breaks_off_says_so_once() -> None:
    def members() -> Iterator[Document]:
        yield document("t/a", b"low")
        yield broken("t")
        raise TokctlError("can't read t to its end: it vanished", "copy it again")

    found = list(rows([Archive("t", 9, members, lambda: 9)], [BYTES]))
    assert [type(row) for row in found] == [FileCount, FailedSource]


def test_a_character_without_an_id_names_its_place() -> None:
    model = small.toy(small.NOTEBOOK_BPE, 21)
    first, second, third = rows(
        [
            document("a", "low\nlow ☃".encode()),
            records("b", [b"low", "☃".encode()]),
            document("c", b"low"),
        ],
        [model],
    )
    lacking = "is not in the model's alphabet, and it has no unknown token"
    assert isinstance(first, FailedSource)
    assert first.error.message == f"a: line 2: '☃' {lacking}"
    assert isinstance(second, FailedSource)
    assert second.error.message == f"b: line 2: '☃' {lacking}"
    assert third == FileCount("c", (len(model.encode_ids("low")),), 3, 1)
    (around,) = rows([document("a", "low\nlow ☃".encode())], [model], CountOptions(max_length=9))
    assert isinstance(around, FailedSource)
    assert around.error.message == f"a: line 2: '☃' {lacking}"


def test_progress_is_told_in_bytes_as_they_lie_there() -> None:
    told: list[tuple[str, int, int | None]] = []
    sources = [document("a", b"x" * 20, 10), records("b", [b"low"] * 4), archive("t", [])]
    list(rows(sources, [BYTES], None, lambda *what: told.append(what)))
    assert {phase for phase, _, _ in told} == {"count-tokens"}
    assert {total for _, _, total in told} == {1060}
    done = [done for _, done, _ in told]
    assert done == sorted(done)
    assert done[-1] == 1060
    unknown = Document("stdin", None, lambda: iter([b"low"]))
    told.clear()
    list(rows([unknown], [BYTES], None, lambda *what: told.append(what)))
    assert told[-1] == ("count-tokens", 3, None)


def test_settings_that_do_not_fit_a_model_are_an_error_at_once() -> None:
    source = broken("never read")
    for settings in (
        CountOptions(alpha=0.1),
        CountOptions(special="all", max_length=1, add_special=True),
    ):
        with pytest.raises(TokctlError):
            rows([source], [BERT], settings)
    for wrong in ({"stride": 1}, {"errors": "x"}, {"threads": 0}):
        with pytest.raises(TokctlError):
            CountOptions(**wrong)  # type: ignore[arg-type]


class Made(Sequence[Document]):
    """So many sources, each made when it is asked for."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: Any) -> Any:
        if place >= self.size:
            raise IndexError
        return document(str(place), TEXT)


def test_memory_does_not_grow_with_the_number_of_sources() -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        counted = sum(isinstance(row, FileCount) for row in rows(Made(count), [BYTES, BERT]))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert counted == count
        return found

    peak(10)
    # The sizes of all sources are looked at first, which takes 8 bytes for each.
    assert peak(2000) < peak(20) + 40_000


def test_three_lines_of_python(tmp_path: Path) -> None:
    model, text = tmp_path / "gpt2.json", tmp_path / "a.txt"
    BYTES.save(model)
    text.write_bytes(TEXT)
    counts = count_tokens([text, document("b", b"low")], [model, ("bert", BERT)])
    assert counts.models == ("gpt2", "bert")
    assert counts.total.tokens == (
        len(BYTES.encode_ids(TEXT)) + len(BYTES.encode_ids(b"low")),
        len(BERT.encode_ids(TEXT)) + len(BERT.encode_ids(b"low")),
    )
    assert counts.tokens == dict(zip(counts.models, counts.total.tokens, strict=True))
    assert [row.name for row in counts.files] == [str(text), "b"]
    one = count_tokens([text], str(model))
    assert one.tokens == {"gpt2": len(BYTES.encode_ids(TEXT))}
    assert count_tokens([text], BYTES).files == one.files
    assert count_tokens([text], {"x": BYTES}, lines=True).tokens == {"x": by_lines(BYTES, TEXT)}
    with raises_code("error", "vanished"):
        count_tokens([broken("x")], BYTES)
    assert [f.name for f in count_tokens([broken("x")], BYTES, keep_going=True).failures] == ["x"]
