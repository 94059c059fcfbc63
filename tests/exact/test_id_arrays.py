"""Ids in and out: every kind of object gives what the list gives, errors included; arrays of ids
are read where they stand, and nothing leaks."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import pickle
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.exact.ids_in_and_out import WORDS, byte_level, characters, outcome
from tokctl import TokctlError, Tokenizer, _native, default_recipe, preset
from tokctl.tokenizer.encoding import Encoding


def narrow(ids: list[int]) -> _native.IdArray:
    """An array of ids of 16 bits."""
    return _native.ids_from_bytes(array.array("H", ids).tobytes(), 16)


#: What makes other objects of a list of ids that fit them.
KINDS: dict[str, Callable[[list[int]], Any]] = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "generator": lambda ids: (id_ for id_ in ids),
    "our array": _native.IdArray,
    "our array of 16 bits": lambda ids: narrow(ids),
    "slice of our array of 16 bits": lambda ids: narrow([0, *ids, 0])[1:-1],
    "slice of our array": lambda ids: _native.IdArray([0, *ids, 0])[1:-1],
    "array of int": lambda ids: array.array("i", ids),
    "array of unsigned short": lambda ids: array.array("H", ids),
    "array of long long": lambda ids: array.array("q", ids),
    "memoryview": lambda ids: memoryview(array.array("I", ids)),
    "every other one": lambda ids: memoryview(array.array("I", [x for i in ids for x in (i, 9)]))[
        ::2
    ],
    "ctypes": lambda ids: (ctypes.c_uint32 * len(ids))(*ids),
    **{
        f"numpy {kind}": (lambda ids, kind=kind: np.array(ids, dtype=kind))
        for kind in ("uint16", "int16", "uint32", "int32", "uint64", "int64", ">u4", "<i8")
    },
    "numpy reversed": lambda ids: np.array(ids[::-1], dtype=np.uint32)[::-1],
    "numpy column": lambda ids: np.array([ids, ids], dtype=np.int64).T[:, 0],
    "numpy objects": lambda ids: np.array(ids, dtype=object),
    "list of numpy's ints": lambda ids: [np.uint32(id_) for id_ in ids],
}


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_every_kind_of_ids_decodes_as_the_list(kind: str, data: st.DataObject) -> None:
    tokenizer = data.draw(st.sampled_from([byte_level, characters]))()
    # Some lie outside the vocabulary.
    ids = data.draw(st.lists(st.integers(0, tokenizer.vocab_size + 1), max_size=300))
    make = KINDS[kind]
    for skip in (False, True):

        def bytes_of(given: Any, skip: bool = skip) -> Any:
            return outcome(lambda: tokenizer.decode_bytes(given, skip_special=skip))

        def text_of(given: Any, skip: bool = skip) -> Any:
            return outcome(
                lambda: tokenizer.decode(given, skip_special=skip, errors="backslashreplace")
            )

        assert bytes_of(make(ids)) == bytes_of(ids)
        assert text_of(make(ids)) == text_of(ids)
    stream = tokenizer.decode_stream()
    streamed = outcome(lambda: stream.push(make(ids)) + stream.finish())
    whole = outcome(lambda: tokenizer.decode(ids, errors="replace"))
    assert streamed == whole
    if max(ids, default=0) < tokenizer.vocab_size:
        assert _native.IdArray(make(ids)).tolist() == ids


class Index:
    def __index__(self) -> int:
        return 70


NO_IDS: list[Any] = [
    *([-1], [2**32], [2**64], [2**32 - 1], [0, 1, 9999, -1], [1.0], ["a"], [None], [[1]], "ab"),
    *(5, None, object(), np.array(3), np.array([1.0]), np.array([[1, 2]]), np.array(["a"])),
    *(np.array([1 + 2j]), np.array([-1], dtype=np.int16), np.array([2**32], dtype=np.uint64)),
    *(np.array([2**32 + 5]), array.array("d", [1.0]), array.array("b", [-1])),
]


@pytest.mark.parametrize("ids", NO_IDS, ids=lambda ids: f"{type(ids).__name__} {ids!r:.14}")
def test_what_is_no_id_is_refused_as_in_a_list(ids: Any) -> None:
    tokenizer = byte_level()
    no_number = "one of the ids is not a whole number from 0 to 2^32 - 1"
    for work in (tokenizer.decode_bytes, tokenizer.decode):
        with pytest.raises(TokctlError) as caught:
            work(ids)
        if ids is None or type(ids) in (str, int, object):
            assert re.match("invalid value .* for the ids$", caught.value.message)
            assert caught.value.hint == "give a list or an array of ids, for example [5]"
            continue
        assert caught.value.hint == f"this model's ids are 0 to {tokenizer.vocab_size - 1}"
        message = str(caught.value)
        outside = isinstance(ids, list) and ids in ([2**32 - 1],)
        assert ("is outside the vocabulary" if outside else no_number) in message


def test_the_first_id_outside_is_named_with_its_place() -> None:
    ids = [1, 2, 300, 4, 5000]
    for given_ids in (ids, _native.IdArray(ids), np.array(ids), array.array("I", ids)):
        for skip in (False, True):
            with raises_code("bad-ids", r"id 300 \(number 2\) is outside"):
                byte_level().decode_bytes(given_ids, skip_special=skip)


LONG: dict[str, Callable[[list[int]], Any]] = {
    "array": lambda ids: array.array("I", ids),
    "numpy": lambda ids: np.array(ids, dtype=np.uint32),
    "our array": _native.IdArray,
}


@pytest.mark.parametrize("kind", LONG)
def test_long_arrays_decode_as_the_list_and_say_where_an_id_is_outside(kind: str) -> None:
    tokenizer = byte_level()
    given = LONG[kind]
    ids = random.Random(7).choices(range(tokenizer.vocab_size), k=20_011)
    for end in (8191, 8192, 8193, 16_384, len(ids)):
        for skip in (False, True):
            wanted = tokenizer.decode_bytes(ids[:end], skip_special=skip)
            assert tokenizer.decode_bytes(given(ids[:end]), skip_special=skip) == wanted
    ids[17_000] = 5000
    with raises_code("bad-ids", r"id 5000 \(number 17000\) is outside"):
        tokenizer.decode_bytes(given(ids))


def test_ints_of_other_kinds_are_ids() -> None:
    tokenizer = byte_level()
    wanted = tokenizer.decode_bytes([1, 70, 0])
    assert tokenizer.decode_bytes([True, Index(), False]) == wanted
    assert tokenizer.decode_bytes([1, Index(), np.int8(0)]) == wanted
    assert tokenizer.decode_bytes(b"\x01\x46\x00") == wanted
    assert tokenizer.decode_bytes(bytearray(b"\x01\x46\x00")) == wanted
    assert tokenizer.decode_bytes({1: 0, 70: 0, 0: 0}) == wanted


def test_what_an_iterator_raises_comes_through() -> None:
    def ids() -> Iterable[int]:
        yield 1
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        byte_level().decode_bytes(ids())


def test_a_list_that_grows_while_it_is_read_is_harmless() -> None:
    class Grows:
        def __index__(self) -> int:
            ids.extend([1] * 10_000)
            del ids[5:]
            return 2

    ids: list[Any] = [1, Grows(), 3]
    assert isinstance(byte_level().decode_bytes(ids), bytes)


@given(
    st.lists(st.binary(max_size=60), max_size=20),
    st.integers(1, 3),
    st.sampled_from(["uint16", "uint32"]),
)
def test_encoding_gives_the_same_ids_in_every_shape(
    texts: list[bytes], threads: int, dtype: str
) -> None:
    tokenizer = byte_level()
    batch = tokenizer.encode_ids(texts, threads=threads)
    assert batch == [tokenizer.encode(text).ids for text in texts]
    assert batch == [tokenizer.encode_ids(text) for text in texts]
    arrays = [tokenizer.encode_array(text, threads=threads, dtype=dtype) for text in texts]
    assert [array.tolist() for array in arrays] == batch
    assert [list(array) for array in arrays] == batch
    assert [tokenizer.decode_bytes(array) for array in arrays] == texts
    assert {memoryview(array).format for array in arrays} <= {"H" if dtype == "uint16" else "I"}
    ids, offsets = tokenizer.encode_array(texts, threads=threads, dtype=dtype)
    assert memoryview(ids).itemsize == (2 if dtype == "uint16" else 4)
    assert (offsets.typecode, offsets[0], offsets[-1]) == ("q", 0, len(ids))
    assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == batch


def flat_ids(tokenizer: Tokenizer, texts: list[str]) -> list[int]:
    return tokenizer.encode_array(texts)[0].tolist()


@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=30), max_size=10))
def test_texts_as_str_and_as_bytes(texts: list[str]) -> None:
    """Lone surrogates among them, which byte-level models may take and others refuse."""
    for tokenizer in (byte_level(), characters()):
        encodings = [outcome(partial(tokenizer.encode, text)) for text in texts]
        wanted = [one.ids if isinstance(one, Encoding) else one for one in encodings]
        assert [outcome(partial(tokenizer.encode_ids, text)) for text in texts] == wanted
        assert [outcome(partial(tokenizer.encode_array, text)) for text in texts] == wanted
        refused = [one for one in wanted if isinstance(one, tuple)]
        for given_texts in (texts, tuple(texts), iter(texts)):
            batch = outcome(partial(tokenizer.encode_ids, given_texts))
            assert batch == (refused[0] if refused else wanted)
        flat = outcome(partial(flat_ids, tokenizer, texts))
        assert flat == (refused[0] if refused else [id_ for ids in wanted for id_ in ids])
        if not refused:
            assert tokenizer.encode_ids(list(map(tokenizer.as_bytes, texts))) == wanted


@pytest.mark.parametrize("text", [5, None, bytearray(b"a"), ["a"]], ids=repr)
def test_what_is_no_text(text: Any) -> None:
    one = [[text]] if isinstance(text, list) else [text]  # a list is many texts
    for work in (byte_level().encode_ids, byte_level().encode_array):
        with pytest.raises(TypeError, match="a text is str or bytes, not"):
            work(*one)
    with pytest.raises(TypeError, match="a text is str or bytes, not"):
        byte_level().encode_ids(["a", text])


def test_text_that_a_model_can_not_take() -> None:
    with raises_code("not-utf8", "line 2, byte 3"):
        characters().encode_array(b"ab\n\xff")
    with raises_code("not-utf8", "line 2, byte 3"):
        characters().encode_ids(["ab", b"ab\n\xff"])
    with raises_code("bad-value", "invalid value 0 for threads"):
        characters().encode_array("ab", threads=0)
    none = Tokenizer.train({"ab": 2}, recipe=preset("notebook-bpe"), vocab_size=4)
    assert none.encode_array("ab") == none.encode_ids("ab")
    for work in (none.encode_array, none.encode_ids):
        with raises_code("no-id", "a character of text 0 is not in the model's alph"):
            work("axb")
    many = ["ab"] * 70_000 + ["axb"]
    for threads in (1, 2):
        with raises_code("no-id", "a character of text 70000 is not in"):
            none.encode_ids(many, threads=threads)
        with raises_code("no-id", "a character of text 70000 is not in"):
            none.encode_array(many, threads=threads)


# -- the array -------------------------------------------------------------------------


def test_the_buffer_of_an_array() -> None:
    ids = byte_level().encode_array("hello there")
    view = memoryview(ids)  # type: ignore[arg-type, unused-ignore]
    assert (view.format, view.itemsize, view.ndim) == ("I", 4, 1)
    assert (view.shape, view.strides, view.suboffsets) == ((len(ids),), (4,), ())
    assert view.readonly and view.c_contiguous and view.contiguous
    assert view.tolist() == ids.tolist()
    assert bytes(view) == array.array("I", ids.tolist()).tobytes()
    with pytest.raises(TypeError, match="read-only"):
        view[0] = 1
    for read in (np.asarray(ids), np.frombuffer(ids, dtype=np.uint32), np.array(ids, copy=False)):
        assert read.dtype == np.uint32 and read.tolist() == ids.tolist()
        assert not read.flags.writeable and not read.flags.owndata
        address = read.__array_interface__["data"][0]
        assert address == np.asarray(ids).__array_interface__["data"][0], "it was copied"
    copied = array.array("I")
    copied.frombytes(memoryview(ids).cast("B"))
    assert copied.tolist() == array.array("I", ids).tolist() == ids.tolist()


def test_a_view_that_can_be_written_is_refused() -> None:
    ids = _native.IdArray([1, 2])
    with pytest.raises((TypeError, BufferError), match=r"not writable|read-only"):
        (ctypes.c_uint32 * 2).from_buffer(ids)
    with pytest.raises((TypeError, BufferError)):
        import io

        io.BytesIO(bytes(8)).readinto(ids)  # type: ignore[arg-type, unused-ignore]
    assert ids.tolist() == [1, 2]


def test_a_simple_buffer_is_its_bytes() -> None:
    # hashlib asks for no more than bytes one after the other.
    import hashlib

    ids = _native.IdArray([1, 2, 2**32 - 1])
    assert hashlib.sha256(ids).digest() == hashlib.sha256(bytes(memoryview(ids))).digest()
    assert b"".join([ids]) == bytes(memoryview(ids))


def test_views_outlive_the_array_and_the_tokenizer() -> None:
    tokenizer = Tokenizer.train(WORDS, recipe=preset("gpt2"), vocab_size=290)
    ids = tokenizer.encode_array(b" there" * 10_000)
    wanted = ids.tolist()
    view, read, part = memoryview(ids), np.asarray(ids), ids[10:20]
    del ids, tokenizer
    gc.collect()
    _ = [bytearray(50_000) for _ in range(50)]
    assert view.tolist() == read.tolist() == wanted
    assert part.tolist() == wanted[10:20]
    view.release()
    assert read.tolist() == wanted


def test_an_empty_array() -> None:
    ids = byte_level().encode_array("")
    assert len(ids) == 0 and not ids and ids == [] and memoryview(ids).tolist() == []
    assert np.asarray(ids).shape == (0,)
    assert byte_level().decode_bytes(ids) == b"" and byte_level().decode(ids) == ""


def test_ids_of_16_bits_are_asked_for_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = byte_level()
    texts = ["the", "", "hello there"]
    found = list(tokenizer.encode_iter_array(texts, batch_size=2, dtype="uint16"))
    assert [memoryview(ids).format for ids, _ in found] == ["H", "H"]
    assert found == list(tokenizer.encode_iter_array(texts, batch_size=2))
    lacking = replace(default_recipe("wordpiece"), unk_token=None, special_tokens=())
    model = Tokenizer.train({"the": 9}, recipe=lacking, vocab_size=9)
    for threads in (1, 2):
        with raises_code("no-id", "character of text 1 is not in"):
            model.encode_array(["the", "x" * 9], threads=threads, dtype="uint16")
        with raises_code("no-id", "character of text 0 is not in"):
            model.encode_array("x the " * 100_000, threads=threads, dtype="uint16")
    with raises_code("bad-value", "invalid value 'int64' for dtype"):
        tokenizer.encode_array("the", dtype="int64")
    monkeypatch.setattr(Tokenizer, "vocab_size", 65_536)
    assert memoryview(tokenizer.encode_array("the", dtype="uint16")).itemsize == 2
    monkeypatch.setattr(Tokenizer, "vocab_size", 65_537)
    for work in (tokenizer.encode_array, tokenizer.encode_iter_array, tokenizer.encode_file):
        with raises_code("conflict", "they go up to 65,536, and uint16 to 65,535"):
            work(["the"], dtype="uint16")


@given(
    st.tuples(st.lists(st.integers(0, 2**32 - 1), max_size=20), st.just(_native.IdArray))
    | st.tuples(st.lists(st.integers(0, 2**16 - 1), max_size=20), st.just(narrow)),
    st.data(),
)
def test_an_array_is_a_sequence(
    array: tuple[list[int], Callable[[list[int]], _native.IdArray]], data: st.DataObject
) -> None:
    ids, make = array
    made = make(ids)
    assert len(made) == len(ids) and list(made) == made.tolist() == ids
    assert made == ids and made == _native.IdArray(ids) and made != [*ids, 0] and made != "ids"
    assert list(reversed(made)) == ids[::-1]
    for place in range(-len(ids), len(ids)):
        assert made[place] == ids[place]
    for place in (len(ids), -len(ids) - 1):
        with pytest.raises(IndexError):
            _ = made[place]
    part = data.draw(st.slices(len(ids)))
    assert made[part].tolist() == ids[part]
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    assert all(id_ in made for id_ in ids) and -1 not in made
    assert str(ids[0]) in repr(made) if ids else repr(made) == "<IdArray of 0: []>"
    with pytest.raises(TypeError):
        hash(made)
