"""Training on documents, records and archives: ends, weights, samples, digests, errors."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.exact.spilled import BYTES, RECIPES, archive, counted, document, records, texts
from tokctl import Tokenizer, training
from tokctl.model.presets import BPE_CHARACTERS
from tokctl.sources import Batch, Records, Source
from tokctl.training import TrainOptions, counts


def test_no_pre_token_crosses_the_end_of_a_document() -> None:
    lines = [b"ab", b"cd", b"", b"ab"]
    expected = [(b"ab", 2), (b"cd", 1)]
    for sources in (
        [document(str(n), line) for n, line in enumerate(lines)],
        [records("r", lines)],
        [archive("a", [document("b", b"ab"), records("c", lines[1:])])],
    ):
        found, read = counted(sources)
        assert (found, read.documents, read.bytes) == (expected, 4, 6)


def test_a_million_small_documents_take_no_call_each() -> None:
    calls = 0

    def batches() -> Any:
        nonlocal calls
        for at in range(0, 1_000_000, 50_000):
            calls += 1
            yield Batch([b"w%d x" % (n % 1000) for n in range(at, at + 50_000)], None, at + 1)

    found, read = counted([Records("r", None, batches, lambda: 0)], threads=2)
    assert (calls, read.documents, len(found)) == (20, 1_000_000, 1002)
    assert dict(found)[b" x"] == 1_000_000


@given(given_texts=texts, weights=st.lists(st.integers(0, 4), min_size=12, max_size=12))
def test_a_count_is_as_many_documents(given_texts: list[bytes], weights: list[int]) -> None:
    """And the source's weight multiplies it."""
    weights = weights[: len(given_texts)]
    many = [text for text, n in zip(given_texts, weights, strict=True) for _ in range(n)]
    for recipe in RECIPES.values():
        found, read = counted([records("r", given_texts, weights)], recipe, weights={"r": "1.5"})
        expected, _ = counted([records("r", many)], recipe)
        assert found == [(word, 3 * times) for word, times in expected]
        assert (read.scale, read.weights) == (2, (Fraction(3, 2),))
        kept = [text for text, n in zip(given_texts, weights, strict=True) if n]
        assert (read.documents, read.bytes) == (len(kept), sum(map(len, kept)))


def test_a_weight_is_of_an_archive_or_an_address_as_it_is_named() -> None:
    sources: list[Source] = [
        archive("a.tar", [document("x", b"p"), records("y", [b"q"])]),
        document("s3://bucket//b.txt", b"r"),
        document("stdin", b"s"),
    ]
    weights = {"./a.tar": 2, "s3://bucket//b.txt": 3, "-": 4}
    found, read = counted(sources, weights=weights)
    assert found == [(b"p", 2), (b"q", 2), (b"r", 3), (b"s", 4)]
    assert list(read.weights) == [Fraction(2), Fraction(3), Fraction(4)]
    with raises_code("unknown-name", "'x', which is not read"):
        counted(sources, weights={"x": 2})


@given(given_texts=texts, seed=st.integers(0, 99), batch=st.integers(1, 12))
def test_a_sample_keeps_whole_documents(given_texts: list[bytes], seed: int, batch: int) -> None:
    """The very ones that it would keep as lines."""
    numbered = [b"%d:%s" % (n, text) for n, text in enumerate(given_texts)]
    lines = b"".join(b"%d\n" % n for n in range(len(numbered)))
    whole = RECIPES["whole"]
    kept, _ = counted([document("d", lines)], RECIPES["pattern"], sample=0.5, seed=seed)
    kept_numbers = {int(word) for word, _ in kept if word != b"\n"}
    found, read = counted([records("r", numbered, batch=batch)], whole, sample=0.5, seed=seed)
    assert [text for text, _ in found] == [numbered[n] for n in sorted(kept_numbers)]
    assert read.documents == len(numbered)
    # A document that is not read has no part in it.
    zeros = [text for t in numbered for text in (b"no", t)]
    weighed = records("r", zeros, [0, 1] * len(numbered), batch)
    assert counted([weighed], whole, sample=0.5, seed=seed)[0] == found


def test_the_digest_is_that_of_the_texts() -> None:
    lone = counted([document("a", b"one two")])[1].digest
    assert lone == hashlib.sha256(b"one two").hexdigest()

    def framed(*pairs: tuple[bytes, int]) -> str:
        parts = (struct.pack("<QQ", len(text), count) + text for text, count in pairs)
        return hashlib.sha256(b"".join(parts)).hexdigest()

    given_texts = [b"one", b"two", b"", b"three"]
    expected = framed(*((text, 1) for text in given_texts))
    for batch in (1, 2, 100):
        assert counted([records("r", given_texts, batch=batch)])[1].digest == expected
    weighed = counted([records("r", given_texts, [3, 0, 1, 1])])[1].digest
    assert weighed == framed((b"one", 3), (b"", 1), (b"three", 1))
    both = counted([document("a", b"one two"), records("r", given_texts)])[1].digest
    assert both == hashlib.sha256(f"{lone}\n{expected}\n".encode()).hexdigest()
    packed = archive("a", [document("a", b"one two"), records("r", given_texts)])
    assert counted([packed])[1].digest == both


def test_text_that_is_not_utf8_is_named_by_its_row() -> None:
    def trained(errors: str, given_texts: list[bytes], times: list[int] | None = None) -> Any:
        source = records("table", given_texts, times, 2)._replace(unit="row")
        return training.count([source], BPE_CHARACTERS, TrainOptions(vocab_size=9, errors=errors))

    with raises_code("not-utf8", r"table: row 3: line 1, byte 1 is not UTF-8"):
        trained("strict", [b"a", b"b", b"a\xff"])
    assert trained("strict", [b"a", b"b", b"a\xff"], [1, 1, 0])[0].total() == 2
    found = dict(trained("replace", [b"a", b"a\xff"])[0].items())
    assert found == {b"a": 2, "\ufffd".encode(): 1}


def test_progress_goes_by_what_lies_on_disk() -> None:
    def source(kind: str, size: int | None) -> Any:
        told = 0

        def tell() -> int:
            return told

        def blocks() -> Any:
            nonlocal told
            for _ in range(4):
                told += 5
                yield b"some words " * 10 if kind == "document" else Batch([b"a b", b"c"])

        if kind == "document":
            return document("d", b"")._replace(blocks=blocks, tell=tell, size=size)
        return Records("r", size, blocks, tell)

    seen: list[tuple[str, int, int | None]] = []

    def progress(phase: str, done: int, total: int | None) -> None:
        seen.append((phase, done, total))

    options = TrainOptions(vocab_size=300)
    training.count([source("document", 20), source("records", 20)], BYTES, options, progress)
    assert seen == [("count", n, 40) for n in range(5, 45, 5)]
    seen.clear()
    training.count([source("document", None), source("records", 20)], BYTES, options, progress)
    assert seen == [("count", n, None) for n in range(5, 45, 5)]


def test_paths_and_sources_may_be_mixed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").write_bytes(b"two")
    names: list[str | Path | Source] = [
        str(tmp_path / "a"),
        records("r", [b"three"]),
        tmp_path / "b",
    ]
    tokenizer = Tokenizer.train(names, vocab_size=262)
    assert tokenizer.model.training and tokenizer.model.training.documents == 3
    found = counts.count(names, tokenizer.recipe)
    assert list(found) == [b"one", b"three", b"two"]
    assert counts.count(tmp_path / "b", tokenizer.recipe) == {b"two": 1}
    assert counts.count(records("r", [b"x"]), tokenizer.recipe) == {b"x": 1}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_of_long_and_short_documents(sample: str, threads: int) -> None:
    text = sample.encode()
    long = text * (600_000 // len(text) + 1)
    mixed = [b"short one", long, b"", b"short two", long[:70_000], long]
    weights = [1, 2, 3, 1, 0, 1]
    lone: Callable[[], list[Any]] = lambda: [  # noqa: E731
        document(str(n), text, 1 << 16)
        for n, (text, times) in enumerate(zip(mixed, weights, strict=True))
        for _ in range(times)
    ]
    for recipe in (BYTES, RECIPES["normalized"]):
        expected, _ = counted(lone(), recipe, threads=1)
        found, _ = counted([records("r", mixed, weights)], recipe, threads=threads)
        assert found == expected
