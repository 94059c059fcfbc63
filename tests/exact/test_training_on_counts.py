"""Counts in a file: written, read, and trained on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.exact.training_options import WORDS, document
from tokctl import TokctlError, training
from tokctl.model import Model, Recipe
from tokctl.model.presets import BPE, WORD
from tokctl.sources import Document, documents
from tokctl.training import TrainOptions, train_on_counts


def train_on_counts_file(source: Path | Document, recipe: Recipe, options: TrainOptions) -> Model:
    """Train as `tokctl train --word-counts` does."""
    document = source if isinstance(source, Document) else documents([source])[0]
    return training.fill(*training.count_lines(document, recipe, options), recipe, options)


@given(
    words=st.dictionaries(
        st.text(alphabet="ab\t\n\r\\né", min_size=1, max_size=6), st.integers(1, 2**58)
    )
)
def test_counts_are_written_and_read(words: dict[str, int]) -> None:
    lines = training.counts_to_lines(words)
    assert lines.count(b"\n") == len(words) == lines.count(b"\t")
    options = TrainOptions(vocab_size=300)
    counts, read = training.count_lines(document("counts", lines), WORDS, options)
    assert [(w.decode(), n) for w, n in counts.items()] == list(words.items())
    assert counts.to_lines() == lines and read.bytes == len(lines)


def test_a_file_of_counts_trains_as_its_words_do(tmp_path: Path) -> None:
    path = tmp_path / "counts.tsv"
    path.write_bytes(b"low\t2\nlower\t2\r\nlow\t3\nnever\t0\nrare\t1")
    options = TrainOptions(vocab_size=12, min_count=2)
    model = train_on_counts_file(path, WORDS, options)
    expected = train_on_counts({"low": 5, "lower": 2}, WORDS, options)
    assert (model.tokens, model.merges) == (expected.tokens, expected.merges)
    raw = train_on_counts_file(
        document("raw", b"\xff\xfe\t3\n\\n\t1\n"), BPE, TrainOptions(vocab_size=257)
    )
    assert raw.tokens[-1] == b"\xff\xfe"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"ab", "no tab"),
        (b"", "no tab"),
        (b"ab 3", "no tab"),
        (b"ab\t-1", "'-1'|\"-1\" is not a whole number"),
        (b"ab\t1.5", "not a whole number"),
        (b"ab\t", "not a whole number"),
        (b"ab\t9223372036854775808", "not a whole number"),
        (b"\t4", "word is empty"),
        (b"a\\qb\t1", "backslash"),
        (b"\xff\t1", "not UTF-8"),
    ],
)
def test_a_bad_line_is_named(line: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.tsv"
    path.write_bytes(b"ok\t1\n" + line + b"\nok\t2\n")
    with pytest.raises(TokctlError, match=what) as caught:
        train_on_counts_file(path, WORDS, TrainOptions(vocab_size=12))
    assert caught.value.message.startswith(f"{path}: line 2: ") and caught.value.hint


def test_counts_that_are_too_large_or_have_texts_options() -> None:
    twice = document("counts", b"a\t9223372036854775807\na\t1\n")
    with raises_code("too-large", "2\\^63 or more"):
        train_on_counts_file(twice, WORDS, TrainOptions(vocab_size=12))
    many = dict.fromkeys(("a", "b", "c"), 2**63 - 1)
    with raises_code("too-large", "and counts have 64 bits"):
        train_on_counts(many, WORD, TrainOptions(vocab_size=12))
    for option in ({"sample": 0.5}, {"weights": {"counts": 2}}):
        with raises_code("conflict"):
            train_on_counts({"a": 1}, WORDS, TrainOptions(vocab_size=12, **option))  # type: ignore[arg-type]
    for times in (-1, 1.5, 2**63, True):
        with raises_code("bad-record") as caught:
            train_on_counts({"a": times}, WORDS, TrainOptions(vocab_size=12))  # type: ignore[dict-item]
        assert caught.value.hint
