"""Ids and NumPy: read where they stand, in every kind of integer."""

from __future__ import annotations

import array
import gc
import pickle
import random
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.exact.ids_in_and_out import byte_level, characters, outcome
from tokctl import Tokenizer, _native

TEXTS = ["hello there", "", "the 中文", "für" * 2000]


def test_an_array_is_a_view_of_the_ids() -> None:
    ids = byte_level().encode_array("hello there" * 50)
    view = np.asarray(ids)
    assert (view.dtype, view.ndim, view.shape) == (np.uint32, 1, (len(ids),))
    assert view.flags.c_contiguous and view.flags.aligned
    assert not view.flags.writeable and not view.flags.owndata
    assert np.shares_memory(view, np.asarray(ids)) and np.shares_memory(
        view, np.frombuffer(ids, np.uint32)
    )
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    assert view.tolist() == ids.tolist()


@pytest.mark.slow
def test_a_view_keeps_the_ids_alive() -> None:
    wanted = byte_level().encode_ids("hello there " * 5000)
    views = []
    for _ in range(20):
        ids = byte_level().encode_array("hello there " * 5000)
        views.append(np.asarray(ids)[3:-3])
        del ids
        gc.collect()
        byte_level().encode_array("the " * 20_000)  # would write into memory that is free
    assert all(view.tolist() == wanted[3:-3] for view in views)


def test_the_arrays_of_a_batch_are_views_too() -> None:
    ids, offsets = byte_level().encode_array(TEXTS, threads=2)
    flat, places = np.asarray(ids), np.asarray(offsets)
    assert (flat.dtype, places.dtype, len(places)) == (np.uint32, np.int64, len(TEXTS) + 1)
    assert places.flags.writeable and np.shares_memory(places, np.asarray(offsets))
    parts = np.split(flat, places[1:-1])
    assert [part.tolist() for part in parts] == byte_level().encode_ids(TEXTS)
    assert all(np.shares_memory(part, flat) for part in parts if len(part))
    assert np.diff(places).tolist() == list(map(len, parts))


KINDS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", ">u4", ">i8"]


@given(st.data())
def test_a_batch_decodes_as_its_texts_do(data: st.DataObject) -> None:
    tokenizer = data.draw(st.sampled_from([byte_level, characters]))()
    ids = st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=20)
    batch = data.draw(st.lists(ids, max_size=8))
    how: dict[str, Any] = {"skip_special": data.draw(st.booleans()), "errors": "replace"}
    wanted = [tokenizer.decode(one, **how) for one in batch]
    assert tokenizer.decode_batch(batch, **how) == wanted
    flat = [id_ for one in batch for id_ in one]
    offsets = [0, *np.cumsum([len(one) for one in batch], dtype=np.int64).tolist()]
    kind = data.draw(st.sampled_from(KINDS))
    if kind in ("uint8", "int8") and max(flat, default=0) > np.iinfo(kind).max:
        kind = "int64"
    places = np.array(offsets)
    shapes: list[Any] = [flat, np.array(flat, kind), array.array("I", flat), _native.IdArray(flat)]
    for given_ids in shapes:
        assert tokenizer.decode_batch(given_ids, places, **how) == wanted
        assert tokenizer.decode_batch(given_ids, offsets, **how) == wanted
    assert tokenizer.decode_batch([np.array(one, kind) for one in batch], **how) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_of_an_array(kind: str) -> None:
    tokenizer = byte_level()
    rows = np.array(random.Random(5).choices(range(127), k=600)).reshape(20, 30).astype(kind)
    for shape in (rows, rows[::-1], rows[:, ::2], rows.T, np.asfortranarray(rows)):
        wanted = [tokenizer.decode(row.tolist(), errors="replace") for row in shape]
        assert tokenizer.decode_batch(shape, errors="replace") == wanted


def test_rows_that_are_filled_up(sample: str) -> None:
    tokenizer = byte_level()
    lines = sample.splitlines()[:50]
    end = tokenizer.special_ids["<|endoftext|>"]
    batch = tokenizer.encode_ids(lines)
    rows = np.full((len(batch), max(map(len, batch))), end)
    for row, ids in zip(rows, batch, strict=True):
        row[: len(ids)] = ids
    assert tokenizer.decode_batch(rows, skip_special=True) == lines
    ids, offsets = tokenizer.encode_array(lines)
    assert tokenizer.decode_batch(ids, offsets) == lines
    assert tokenizer.decode_batch(np.asarray(ids).astype(np.int64), offsets) == lines


@pytest.mark.parametrize("kind", ["uint16", "uint32", "uint64", "int32", "int64"])
def test_long_arrays_of_every_kind(kind: str) -> None:
    tokenizer = byte_level()
    ids = random.Random(7).choices(range(tokenizer.vocab_size), k=20_011)
    for end in (0, 1, 8191, 8192, 8193, len(ids)):
        made = np.array(ids[:end], kind)
        for skip in (False, True):
            wanted = tokenizer.decode_bytes(ids[:end], skip_special=skip)
            assert tokenizer.decode_bytes(made, skip_special=skip) == wanted
            text = tokenizer.decode(made, skip_special=skip, errors="surrogateescape")
            assert text.encode("utf-8", "surrogateescape") == wanted
    # What a list says of bad ids, an array says, too: wherever they stand.
    bad = [(17_000, 5000), (3, 5000), (19_000, -1)]
    for place, id_ in bad if kind in ("int32", "int64") else bad[:2]:
        ids[place] = id_
        made = np.array(ids, kind)
        for work in (tokenizer.decode, tokenizer.decode_bytes):
            assert outcome(partial(work, made)) == outcome(partial(work, ids))


def test_what_is_no_batch_is_refused() -> None:
    tokenizer = byte_level()
    with raises_code("bad-ids", r"text 1: id 5000 \(number 2\) is outside"):
        tokenizer.decode_batch([[1], [1, 2, 5000]])
    with raises_code("not-utf8", "text 1: the decoded bytes are not UTF-8"):
        tokenizer.decode_batch([[], tokenizer.encode_ids(b"\xff")])
    bad: list[Any] = [[], [-1, 3], [0, 4], [0, 2, 1], [1, 0], np.array([0, 9])]
    for offsets in bad:
        with raises_code("bad-input", "the offsets are not ascending positions in 3 ids"):
            tokenizer.decode_batch([1, 2, 3], offsets)
    flat: Any = [1, 2, 3]
    with raises_code("bad-ids", "text 0: "):
        tokenizer.decode_batch(flat)


def test_memory_is_not_copied_to_decode(tracked: Tokenizer) -> None:
    """The peak of Python's own memory is the text's; a list of the ids would be ten times that."""
    import tracemalloc

    ids = np.zeros(4_000_000, np.int64) + tracked.encode_ids("a")[0]
    tracemalloc.start()
    text = tracked.decode_bytes(ids)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(text) == len(ids)
    assert peak < 1.5 * len(text)


@pytest.fixture
def tracked() -> Tokenizer:
    return byte_level()


@pytest.mark.parametrize("bits", [16, 32])
def test_a_pickled_array_is_its_numbers(bits: int) -> None:
    ids = byte_level().encode_array("hello there " * 1000, dtype=f"uint{bits}")
    data = pickle.dumps(ids)
    assert len(data) < bits // 8 * len(ids) + 100
    again = pickle.loads(data)
    assert again == ids and type(again) is _native.IdArray and pickle.dumps(again) == data
    with pytest.raises(ValueError, match=f"{bits // 8} bytes"):
        _native.ids_from_bytes(b"abc", bits)


def test_torch_reads_where_ids_stand() -> None:
    torch = pytest.importorskip("torch")
    ids = byte_level().encode_array("hello there")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the array is read-only
        shared = torch.from_numpy(np.asarray(ids))
    assert shared.tolist() == ids.tolist()
    own = torch.tensor(np.asarray(ids), dtype=torch.long)
    assert byte_level().decode(own.numpy()) == "hello there"
