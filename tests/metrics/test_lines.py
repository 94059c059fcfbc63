"""Counts by parts and by lines: nothing depends on how a text was cut, and lines add up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics import slow
from tests.metrics.models import RECIPES, TEXT, model
from tests.metrics.test_compare import BYTES, TEXTS
from tokctl import _native
from tokctl.analysis.comparison.measuring import measure_all
from tokctl.core.errors import CoreError
from tokctl.tokenizer import Tokenizer


def _measured(tokenizer: Tokenizer, text: bytes, rule: str, **how: int) -> _native.Measured:
    unknown = _native.NO_ID if tokenizer.unk_id is None else tokenizer.unk_id
    return _native.Measured.of(
        tokenizer.encoder,
        tokenizer.decoder,
        text,
        tokenizer.special_matcher("none"),
        unknown,
        words=rule,
        boundaries=True,
        lines=True,
        **{"threads": 1, **how},
    )


@pytest.mark.few(3)
@pytest.mark.parametrize("name", RECIPES)
@given(text=TEXTS | BYTES, rule=st.sampled_from(["spaces", "unicode"]), chunk=st.integers(1, 20))
def test_nothing_depends_on_chunks_and_threads(
    name: str, text: bytes, rule: str, chunk: int
) -> None:
    tokenizer = model(name)
    whole = _measured(tokenizer, text, rule)
    for threads in (1, 2):
        parts = _measured(tokenizer, text, rule, chunk=chunk, threads=threads)
        assert parts.counts == whole.counts
        assert parts.id_counts == whole.id_counts
        assert parts.lines == whole.lines
        # The same boundaries, not only as many.
        assert parts.shared_boundaries(whole) == whole.shared_boundaries(whole)
        assert parts.shared_boundaries(parts) == whole.shared_boundaries(whole)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", RECIPES)
@given(text=TEXTS)
def test_lines_add_up(name: str, text: bytes) -> None:
    found = _measured(model(name), text, "spaces", chunk=5)
    lines = found.lines
    assert len(lines) == found.counts[8] == len(_lines(text))
    if lines:
        assert [sum(column) for column in zip(*lines, strict=True)] == found.counts
    sizes = [len(line) for line in _lines(text)]
    assert [line[0] for line in lines] == sizes


def _lines(text: bytes) -> list[bytes]:
    """With their line feeds."""
    parts = [part + b"\n" for part in text.split(b"\n")]
    parts[-1] = parts[-1][:-1]
    return parts if parts[-1] else parts[:-1]


@pytest.mark.parametrize("name", ["bpe", "pattern", "wordpiece", "notebook-bpe"])
@given(text=TEXTS)
def test_a_token_is_of_the_line_where_it_starts(name: str, text: bytes) -> None:
    tokenizer = model(name)
    lines = _lines(text)
    expected = [0] * len(lines)
    for start, _ in tokenizer.encode(text).offsets:
        line = text[:start].count(b"\n")
        if lines:
            expected[min(line, len(lines) - 1)] += 1
    assert [line[6] for line in _measured(tokenizer, text, "spaces", chunk=3).lines] == expected


def test_by_hand() -> None:
    # Bytes, characters, spaces, words, whole, split, tokens, unknown, lines, lines that come back.
    found = measure_all(model("wordpiece"), "low new\r\n\nlow (é".encode(), 1, lines=True)
    assert found.native.lines == [
        [9, 9, 3, 2, 2, 0, 2, 0, 1, 1],
        [1, 1, 1, 0, 0, 0, 0, 0, 1, 1],
        # "(é" is ( and [UNK], which does not come back.
        [7, 6, 1, 2, 1, 1, 3, 1, 1, 0],
    ]


def test_what_was_not_asked_for_is_not_there() -> None:
    plain = measure_all(model("bpe"), TEXT.encode(), 1).native
    with pytest.raises(CoreError, match="lines were not asked for"):
        _ = plain.lines
    with pytest.raises(CoreError, match="boundaries were not asked for"):
        plain.shared_boundaries(plain)
    with pytest.raises(CoreError, match="no rule of words is called x"):
        measure_all(model("bpe"), b"a", 1, words="x")


@given(texts=st.lists(st.text("low er\n", max_size=40).map(str.encode), max_size=5))
def test_cuts_of_many_texts(texts: list[bytes]) -> None:
    for name in ("bpe", "wordpiece", "end"):
        tokenizer = model(name)
        expected = [
            {place for span in tokenizer.encode(text).offsets for place in span} for text in texts
        ]
        for threads in (1, 2):
            found = tokenizer.encoder.cuts(texts, None, threads)
            places = [{n for n in range(128) if bits >> n & 1} for bits in found]
            assert places == expected


def test_cuts_of_a_long_text_are_refused() -> None:
    encoder = model("bpe").encoder
    assert encoder.cuts([b"a" * 127], None, 1)[0].bit_length() == 128
    with pytest.raises(CoreError, match="over 127 bytes"):
        encoder.cuts([b"a" * 128], None, 1)


@given(text=TEXTS)
def test_boundaries_are_those_inside_words(text: bytes) -> None:
    models = [model(name) for name in ("bpe", "qwen", "llama2")]
    measured = [_measured(one, text, "unicode", chunk=4) for one in models]
    places = [slow.boundaries(one, text) for one in models]
    for own, theirs in zip(measured, places, strict=True):
        assert own.shared_boundaries(own) == len(theirs)
    assert measured[0].shared_boundaries(measured[1]) == len(places[0] & places[1])


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["bpe", "wordpiece", "unigram", "llama2"])
def test_a_text_of_many_chunks(name: str) -> None:
    """Longer than what threads take at a time, of the text and of its lines."""
    tokenizer = model(name)
    lines = [
        b"",
        *(f"low{'  ' * (n % 2)} newest {n % 7} (\u00e9) wider\r".encode() for n in range(20)),
    ]
    text = b"\n".join(lines[n * n % 21] for n in range(20_000))
    assert len(text) > 3 * 128 * 1024
    found = _measured(tokenizer, text, "spaces", threads=2)
    ids, *_ = tokenizer.encoder.tokens(text, None)
    assert found.counts[6] == len(ids)
    assert found.id_counts == {id_: ids.count(id_) for id_ in sorted(set(ids) - {_native.NO_ID})}
    assert list(found.id_counts) == sorted(found.id_counts)
    plain = [line.removesuffix(b"\r") for line in lines]
    exact = [int(tokenizer.decode_bytes(tokenizer.encode_ids(one)) == one) for one in plain]
    assert sum(exact) > 0
    expected = [exact[n * n % 21] for n in range(20_000)]
    # The last line ends without a line feed, and with a carriage return that is its own.
    if text.endswith(b"\r"):
        last = lines[19_999**2 % 21]
        expected[-1] = int(tokenizer.decode_bytes(tokenizer.encode_ids(last)) == last)
    elif text.endswith(b"\n"):
        expected.pop()
    assert [line[9] for line in found.lines] == expected
