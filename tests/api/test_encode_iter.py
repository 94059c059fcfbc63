"""Texts as an iterable gives them: the ids of `encode_ids`, in order, lazily, and what goes wrong
in its place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.exact.ids_in_and_out import byte_level, characters
from tokctl import Padding, TokctlError, Tokenizer, Truncation, preset
from tokctl.tokenizer.iterables import MOST_AT_ONCE, MOST_CHARACTERS, gather_batches

TEXTS = [f"hello there {number}" for number in range(3000)]


def arrays_of(tokenizer: Tokenizer, texts: Any, **options: Any) -> list[list[int]]:
    """The ids of each text, from the arrays of `encode_iter_array`."""
    found = []
    for ids, offsets in tokenizer.encode_iter_array(texts, **options):
        assert (offsets[0], offsets[-1], offsets.typecode) == (0, len(ids), "q")
        found += [ids[start:end].tolist() for start, end in pairwise(offsets)]
    return found


@given(
    st.lists(st.one_of(st.text(max_size=40), st.binary(max_size=40)), max_size=60),
    st.one_of(st.none(), st.integers(1, 70)),
    st.integers(1, 3),
)
def test_the_ids_are_those_of_a_batch(
    texts: list[str | bytes], batch_size: int | None, threads: int
) -> None:
    tokenizer = byte_level()
    try:
        wanted = tokenizer.encode_ids(texts)
    except TokctlError:  # a lone surrogate
        return
    how: dict[str, Any] = {"batch_size": batch_size, "threads": threads}
    assert list(tokenizer.encode_iter(iter(texts), **how)) == wanted
    assert arrays_of(tokenizer, iter(texts), **how) == wanted


def test_long_and_short_texts_by_turns() -> None:
    texts = ["a b " * 300_000, *["x"] * 500, "hello " * 400_000, "", *TEXTS]
    tokenizer = byte_level()
    wanted = tokenizer.encode_ids(texts)
    for threads in (1, 2):
        assert list(tokenizer.encode_iter(texts, threads=threads)) == wanted
        assert arrays_of(tokenizer, texts, threads=threads) == wanted


def test_with_special_tokens_around_cut_and_filled_up() -> None:
    tokenizer = Tokenizer.train({"hello": 3, "there": 2}, recipe=preset("bert"), vocab_size=60)
    texts = ["hello", "hello there", "", "there " * 20]
    how: dict[str, Any] = {"add_special": True, "truncation": 8, "padding": 8}
    wanted = tokenizer.encode_ids(texts, **how)
    assert list(tokenizer.encode_iter(texts, batch_size=1, **how)) == wanted
    assert {len(ids) for ids in wanted} == {8}
    spelled = ["[SEP] hello"]
    assert list(tokenizer.encode_iter(spelled, special="all")) == tokenizer.encode_ids(
        spelled, special="all"
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["encode_iter", "encode_iter_array"])
@pytest.mark.parametrize("batch_size", [None, 1, 7, 100_000])
def test_no_more_is_read_than_was_given_before(method: str, batch_size: int | None) -> None:
    taken = 0

    def texts() -> Iterator[str]:
        nonlocal taken
        for number in count():
            taken += 1
            yield f"hello {number}"

    stream: Any = getattr(byte_level(), method)(texts(), batch_size=batch_size)
    assert taken == 0
    given_so_far = 0
    for one in islice(stream, 20):
        given_so_far += 1 if method == "encode_iter" else len(one[1]) - 1
        assert taken <= 2 * given_so_far
    if batch_size is not None:
        list(islice(stream, 300))
        before = taken
        next(stream)
        assert taken - before <= batch_size
    stream.close()


def test_what_is_read_ahead_is_bounded_by_its_length() -> None:
    sizes = [
        sum(map(len, batch)) for batch, _ in gather_batches(iter(["x" * 1000] * 20_000), 10**9)
    ]
    assert sum(sizes) == 20_000_000
    assert max(sizes) <= MOST_CHARACTERS + MOST_AT_ONCE * 1000
    large = [len(batch) for batch, _ in gather_batches(iter(["x" * 400_000] * 40), 10**9)]
    assert max(large) <= 3
    # However short the texts before were, so many long ones come together at most.
    mixed = ["x"] * 10_000 + ["y" * 1_000_000] * 200
    batches = [batch for batch, _ in gather_batches(iter(mixed), 10**9)]
    assert max(sum(len(text) > 1 for text in batch) for batch in batches) <= MOST_AT_ONCE


@pytest.mark.parametrize("place", [0, 1, 5, 100, 2999])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_the_iterable_raises_comes_behind_the_texts_before_it(
    place: int, threads: int
) -> None:
    def texts() -> Iterator[str]:
        yield from TEXTS[:place]
        raise RuntimeError("the wire is cut")

    tokenizer = byte_level()
    found = []
    stream = tokenizer.encode_iter(texts(), threads=threads)
    with pytest.raises(RuntimeError, match="the wire is cut"):
        for ids in stream:
            found.append(ids)
    assert found == tokenizer.encode_ids(TEXTS[:place])
    assert next(stream, None) is None
    rows = 0
    with pytest.raises(RuntimeError, match="the wire is cut"):
        for _, offsets in tokenizer.encode_iter_array(texts(), threads=threads):
            rows += len(offsets) - 1
    assert rows == place


BAD: list[tuple[Callable[[], Tokenizer], Any, type[Exception], str]] = [
    (byte_level, "\ud800", TokctlError, "lone surrogate"),
    (byte_level, 5, TypeError, "a text is str or bytes, not int"),
    (byte_level, None, TypeError, "not NoneType"),
    (characters, b"\xff", TokctlError, "not UTF-8"),
]


@pytest.mark.parametrize(("model", "bad", "kind", "message"), BAD)
@pytest.mark.parametrize("place", [0, 1, 2, 40, 2000])
def test_a_text_that_cannot_be_encoded_is_an_error_in_its_place(
    model: Callable[[], Tokenizer], bad: Any, kind: type[Exception], message: str, place: int
) -> None:
    tokenizer = model()
    texts = ["the"] * place + [bad] + ["the"] * 50
    found = []
    with pytest.raises(kind, match=message):
        for ids in tokenizer.encode_iter(texts):
            found.append(ids)
    assert found == tokenizer.encode_ids(texts[:place])
    rows = 0
    with pytest.raises(kind, match=message):
        for _, offsets in tokenizer.encode_iter_array(texts):
            rows += len(offsets) - 1
    assert rows == place


def test_a_character_without_an_id_is_named_with_the_number_of_its_text() -> None:
    recipe = preset("notebook-bpe")
    tokenizer = Tokenizer.train({"the": 9, "there": 5}, recipe=recipe, vocab_size=12)
    texts = ["the"] * 700 + ["theß"]
    with raises_code("no-id", "a character of text 700 is not in"):
        list(tokenizer.encode_iter(texts))
    with raises_code("no-id", "a character of text 700 is not in"):
        list(tokenizer.encode_iter_array(texts))


def test_what_cannot_be_asked_for_is_an_error_at_once() -> None:
    tokenizer = byte_level()
    for bad in ("one text", b"one text"):
        with raises_code("bad-value"):
            tokenizer.encode_iter(bad)
    for options, message in [
        ({"threads": 0}, "invalid value 0 for threads"),
        ({"batch_size": 0}, "invalid value 0 for batch_size"),
        ({"special": ["[NO]"]}, "not a special token"),
        ({"padding": Padding()}, "needs a length"),
        ({"padding": 5}, "PAD"),
    ]:
        with pytest.raises(TokctlError, match=message):
            tokenizer.encode_iter([], **options)
    assert list(tokenizer.encode_iter(TEXTS[:3], truncation=Truncation(2))) == [
        ids[:2] for ids in tokenizer.encode_ids(TEXTS[:3])
    ]


def test_a_stream_that_is_closed_early_leaves_nothing_behind() -> None:
    before, ours = native_threads(), threading.active_count()
    closed = []

    def texts() -> Iterator[str]:
        try:
            for number in count():
                yield f"hello {number} " * 100
        finally:
            closed.append(True)

    for _ in range(5):
        stream = byte_level().encode_iter(texts(), threads=3)
        list(islice(stream, 3000))
        assert threads_settle_at(before)
        del stream
    assert len(closed) == 5
    assert threading.active_count() == ours and threads_settle_at(before)


def threads_settle_at(number: int) -> bool:
    """A thread that was joined is in the system's list for a moment longer."""
    deadline = time.monotonic() + 600
    while native_threads() > number and time.monotonic() < deadline:
        time.sleep(0.001)
    return native_threads() <= number


def native_threads() -> int:
    """Threads of this process, Python's and others."""
    task = Path("/proc/self/task")
    return len(list(task.iterdir())) if task.exists() else threading.active_count()


def test_the_lines_of_an_open_file(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("hello\nthere \n\nhé", encoding="utf-8")
    tokenizer = byte_level()
    with path.open(encoding="utf-8") as lines:
        found = list(tokenizer.encode_iter(line.rstrip("\n") for line in lines))
    assert found == tokenizer.encode_ids(["hello", "there ", "", "hé"])
    with path.open("rb") as data:
        assert list(tokenizer.encode_iter(data)) == tokenizer.encode_ids(
            [b"hello\n", b"there \n", b"\n", "hé".encode()]
        )


def test_arrays_of_strings() -> None:
    tokenizer = byte_level()
    texts = ["hello", "", "für alle", "the 中文"]
    wanted = tokenizer.encode_ids(texts)
    kinds: list[Any] = [
        np.array(texts, dtype=object),
        np.array(texts),
        tuple(texts),
        dict.fromkeys(texts),
    ]
    if hasattr(np.dtypes, "StringDType"):
        kinds.append(np.array(texts, dtype=np.dtypes.StringDType()))
    for given_texts in kinds:
        check_all(tokenizer, given_texts, wanted)
    packed = np.array([text.encode() for text in texts], dtype=object)
    assert tokenizer.encode_ids(packed) == wanted


def check_all(tokenizer: Tokenizer, texts: Any, wanted: list[list[int]]) -> None:
    assert tokenizer.encode_ids(texts) == wanted
    assert list(tokenizer.encode_iter(texts)) == wanted
    assert arrays_of(tokenizer, texts) == wanted
    ids, offsets = tokenizer.encode_array(texts)
    assert [ids[start:end].tolist() for start, end in pairwise(offsets)] == wanted
    assert [encoding.ids for encoding in tokenizer.encode_batch(texts)] == wanted


def test_columns_of_arrow() -> None:
    pa = pytest.importorskip("pyarrow")
    texts = ["hello", "", "für alle"]
    wanted = byte_level().encode_ids(texts)
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary()):
        check_all(byte_level(), pa.array(texts, kind), wanted)
        check_all(byte_level(), pa.chunked_array([texts[:1], texts[1:]], kind), wanted)
    with pytest.raises(TypeError, match="not NoneType"):
        byte_level().encode_ids(pa.array(["hello", None]))


def test_columns_of_pandas() -> None:
    pd = pytest.importorskip("pandas")
    texts = ["hello", "", "für alle"]
    wanted = byte_level().encode_ids(texts)
    check_all(byte_level(), pd.Series(texts), wanted)
    check_all(byte_level(), pd.Series(texts, index=[7, 5, 3], dtype=object), wanted)
    check_all(byte_level(), pd.Index(texts), wanted)
