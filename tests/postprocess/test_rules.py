"""What post-processing promises beside equality with Hugging Face."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.postprocess.peers import SPECIAL_IDS, byte_level, numbers, plain, texts
from tests.postprocess.test_huggingface import truncations
from tokctl import TokctlError
from tokctl._native import NO_ID
from tokctl.model.parts import bert_template as bert
from tokctl.model.parts import roberta_template as roberta
from tokctl.tokenizer.encoding import Encoding, in_sequence, merge
from tokctl.tokenizer.postprocess import (
    Padding,
    PostProcessor,
    Template,
    Truncation,
    longest_first,
    pad_batch,
    postprocess,
)

# -- ids alone -----------------------------------------------------------------------------


@given(
    first=st.integers(0, 20),
    second=st.one_of(st.none(), st.integers(0, 20)),
    parts=st.sampled_from([[], [bert()], [roberta()], ["trim-offsets", bert()]]),
    add_special=st.booleans(),
    truncation=st.one_of(st.none(), truncations),
)
def test_ids_alone_equal_those_of_the_encoding(
    first: int, second: int | None, parts: list, add_special: bool, truncation: Truncation | None
) -> None:
    processor = PostProcessor.of(parts, SPECIAL_IDS)
    a, b = numbers(first), None if second is None else numbers(second, 200)
    options = {"add_special": add_special, "truncation": truncation}
    try:
        expected = processor.process(a, b, **options).ids
    except TokctlError as error:
        with pytest.raises(TokctlError) as caught:
            processor.process_ids(a.ids, b and b.ids, **options)
        assert str(caught.value) == str(error)
    else:
        pair_ids = None if b is None else b.ids
        assert processor.process_ids(a.ids, pair_ids, **options) == expected


@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize("strategy", ["longest-first", "only-first"])
def test_no_room_beside_the_special_tokens(direction: str, strategy: str) -> None:
    """As Hugging Face has it: nothing stays, and the whole text is the one window."""
    processor = PostProcessor.of([bert()], {"[CLS]": 7, "[SEP]": 8})
    truncation = Truncation(2, strategy=strategy, direction=direction)
    cut = processor.process(numbers(3), truncation=truncation)
    assert cut.ids == [7, 8] == processor.process_ids(numbers(3).ids, truncation=truncation)
    assert [window.ids for window in cut.overflowing] == [[7, 100, 101, 102, 8]]


def test_wrapped_ids() -> None:
    template = Template.read("[CLS] $A [SEP] $B:1 [SEP]:1", {"[CLS]": 7, "[SEP]": 8})
    assert template.wrap_ids([1, 2], [3]) == [7, 1, 2, 8, 3, 8]
    assert template.added_tokens_count == 3
    assert template.bare.wrap_ids([1, 2], [3]) == [1, 2, 3]


@given(st.lists(st.lists(st.integers(0, 9), max_size=9), max_size=5), st.booleans())
def test_padded_ids_equal_padded_encodings(batch: list[list[int]], left: bool) -> None:
    padding = Padding(multiple_of=4, direction="left" if left else "right", id=5)
    padded = pad_batch([replace(numbers(len(ids)), raw_ids=ids) for ids in batch], padding)
    target = padding.target([len(ids) for ids in batch])
    assert [one.ids for one in padded] == [padding.pad_ids(ids, target) for ids in batch]


# -- truncation ----------------------------------------------------------------------------


def slow_longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """One token after the other from the longer text; of two equal ones, from the first."""
    while first + second > room:
        if first >= second:
            first -= 1
        else:
            second -= 1
    return first, second


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 40))
def test_longest_first_cuts_the_longer_text_token_by_token(a: int, b: int, room: int) -> None:
    if a + b > room:
        kept = longest_first(a, b, room)
        slow = slow_longest_first(a, b, room)
        # Which text has one token more, where both are cut and the room is odd, differs.
        assert sorted(kept) == sorted(slow)
        assert kept[0] <= a
        assert kept[1] <= b


@given(
    total=st.integers(1, 60),
    size=st.integers(1, 20),
    stride=st.integers(0, 19),
    left=st.booleans(),
)
def test_windows_cover_the_text_and_share_the_stride(
    total: int, size: int, stride: int, left: bool
) -> None:
    if stride >= size:
        return
    truncation = Truncation(size, stride, direction="left" if left else "right")
    cut = PostProcessor.of([], {}).process(numbers(total), truncation=truncation)
    windows = [cut.ids, *(window.ids for window in cut.overflowing)]
    if left:
        windows.reverse()
    together = list(windows[0])
    for window in windows[1:]:
        shared = min(stride, len(window)) if not left else min(stride, len(together))
        assert together[len(together) - shared :] == window[:shared]
        together += window[shared:]
    assert together == numbers(total).ids
    assert all(len(window) <= size for window in windows)


def test_both_texts_in_windows() -> None:
    cut = postprocess(
        numbers(3), numbers(5, 200), parts=[], special_ids={}, truncation=Truncation(4)
    )
    assert cut.ids == [100, 101, 200, 201]
    assert [window.ids for window in cut.overflowing] == [
        [102, 200, 201],
        [102, 202, 203],
        [102, 204],
        [100, 101, 202, 203],
        [100, 101, 204],
    ]


def test_sequence_ids_without_a_post_processor() -> None:
    """Padding belongs to no text, and every window knows its texts."""
    cut = postprocess(
        numbers(3),
        numbers(3, 200),
        parts=[],
        special_ids={"[PAD]": 1},
        truncation=Truncation(4),
        padding=Padding(length=5),
    )
    assert cut.sequence_ids == [0, 0, 1, 1, None]
    assert [window.sequence_ids for window in cut.overflowing] == [
        [0, 1, 1, None, None],
        [0, 1, None, None, None],
        [0, 0, 1, None, None],
    ]


def test_sequence_ids_of_merged_encodings() -> None:
    """As in Hugging Face: single texts stay the first text, but not beside a pair."""
    pair = merge([in_sequence(numbers(1), 0), in_sequence(numbers(2), 1)])
    assert merge([numbers(2), numbers(1)]).sequence_ids == [0, 0, 0]
    assert merge([numbers(2), pair]).sequence_ids == [None, None, 0, 1, 1]
    assert merge([pair, numbers(1)]).sequence_ids == [0, 1, 1, None]
    cut = postprocess(numbers(3), parts=[], special_ids={}, truncation=Truncation(2))
    merged = merge([cut, numbers(1)])
    assert [window.sequence_ids for window in merged.overflowing] == [[0, 0]]


@pytest.mark.parametrize("add_special", [True, False])
def test_windows_have_the_type_ids_of_the_template(add_special: bool) -> None:
    parts = [{"kind": "template", "single": "[CLS]:3 $A:4", "pair": "$A:2 $B:0"}]
    processor = PostProcessor.of(parts, SPECIAL_IDS)
    cut = processor.process(numbers(5), truncation=Truncation(3), add_special=add_special)
    for window in (cut, *cut.overflowing):
        types = [4] * len(window)
        if add_special:
            types[0] = 3
        assert window.type_ids == types
    cut = processor.process(numbers(5), numbers(4, 200), truncation=Truncation(4))
    for window in (cut, *cut.overflowing):
        assert window.type_ids == [2 if sequence == 0 else 0 for sequence in window.sequence_ids]


# -- offsets -------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix_space", [True, False])
@given(text=texts)
def test_trimmed_offsets_name_the_same_place_in_bytes(prefix_space: bool, text: str) -> None:
    base = plain(byte_level(False), text)
    parts = [{"kind": "trim-offsets", "prefix_space": prefix_space}]
    trimmed = postprocess(base, parts=parts, special_ids={})
    for (start, end), in_bytes in zip(trimmed.offsets, trimmed.byte_offsets, strict=True):
        assert in_bytes == (len(text[:start].encode()), len(text[:end].encode()))
    assert trimmed.surfaces == base.surfaces
    given_in_bytes = replace(base, offsets=base.byte_offsets)
    again = postprocess(given_in_bytes, parts=parts, special_ids={})
    if "\u3000" not in text:
        assert again.offsets == again.byte_offsets == trimmed.byte_offsets


def test_more_spaces_in_a_token_than_in_its_text() -> None:
    """A normalizer can put them there; offsets stay inside the text."""
    base = Encoding([1, 2], ["xĠĠ", "ĠĠy"], ["x", "y"], [(0, 1), (1, 2)], [0, 1])
    parts = [{"kind": "trim-offsets", "prefix_space": False}]
    assert postprocess(base, parts=parts, special_ids={}).offsets == [(0, 1), (2, 2)]


# -- the encoding itself -------------------------------------------------------------------


def test_columns_are_made_when_they_are_read() -> None:
    encoding = numbers(3)
    same = postprocess(encoding, parts=[], special_ids={})
    assert same is encoding
    cut = postprocess(encoding, parts=[], special_ids={}, truncation=Truncation(2))
    for one in (encoding, cut):
        assert "type_ids" not in vars(one)
    assert encoding.type_ids == [0, 0, 0]
    assert encoding.type_ids is encoding.type_ids
    assert encoding.special_mask == [0, 0, 0]
    assert encoding.attention_mask == [1, 1, 1]
    assert encoding.sequence_ids == [0, 0, 0]
    assert encoding.byte_offsets == encoding.offsets
    assert encoding.overflowing == []


def test_encodings_are_equal_whatever_was_read_and_can_be_pickled() -> None:
    read = numbers(3)
    assert read.char_to_token(1) == 1
    assert read.word_to_tokens(2) == (2, 3)
    assert read.type_ids == [0, 0, 0]
    assert read == numbers(3)
    assert pickle.loads(pickle.dumps(read)) == numbers(3)
    assert read != replace(read, type_ids=[0, 0, 1])
    with pytest.raises(AttributeError):
        read.type_ids = [1, 1, 1]  # type: ignore[misc]


PARTS = [[], [bert()], ["trim-offsets", bert()], ["trim-offsets", "trim-offsets", roberta()]]


@given(
    first=st.integers(0, 20),
    second=st.one_of(st.none(), st.integers(0, 20)),
    parts=st.sampled_from(PARTS),
    truncation=truncations,
    padding=st.sampled_from([None, Padding(multiple_of=4, id=5), Padding(30, id=5)]),
    way=st.sampled_from(["pickled", "copied", "deep", "replaced"]),
)
def test_windows_are_made_when_they_are_read(
    first: int,
    second: int | None,
    parts: list,
    truncation: Truncation,
    padding: Padding | None,
    way: str,
) -> None:
    """And are the same then, in what was copied before as in what was copied after."""

    def processed() -> Encoding:
        texts = numbers(first), None if second is None else numbers(second, 200)
        options = {"truncation": truncation, "padding": padding}
        return postprocess(*texts, parts=parts, special_ids=SPECIAL_IDS, **options)

    try:
        unread, read = processed(), processed()
    except TokctlError:
        return
    windows = read.overflowing
    assert read.overflowing is windows
    assert (first + (second or 0) > truncation.room(0)) <= bool(windows)
    again = {
        "pickled": lambda one: pickle.loads(pickle.dumps(one)),
        "copied": copy,
        "deep": deepcopy,
        "replaced": replace,
    }[way]
    assert again(unread).overflowing == windows
    assert again(read).overflowing == windows
    assert processed() == read == again(processed())
    assert repr(processed()) == repr(read)


def test_windows_that_nobody_reads_cost_nothing() -> None:
    text = numbers(40_000)
    cut = postprocess(
        text,
        text,
        parts=["trim-offsets", bert()],
        special_ids=SPECIAL_IDS,
        truncation=Truncation(64, 20),
        padding=Padding(multiple_of=100, id=5),
    )
    assert len(cut) == 100


def test_threads_that_read_windows_at_once() -> None:
    for _ in range(50):
        cut = PostProcessor.of([bert()], SPECIAL_IDS).process(
            numbers(30), numbers(30), truncation=Truncation(9)
        )
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda one: len(one.overflowing), [cut] * 8))
        assert set(found) == {len(cut.overflowing)} != {0}


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=9),
    st.integers(-2, 12),
)
def test_first_token_at_a_position_whatever_the_order(
    offsets: list[tuple[int, int]], position: int
) -> None:
    size = len(offsets)
    encoding = Encoding([1] * size, ["x"] * size, ["x"] * size, offsets, [None] * size)
    covering = [i for i, (start, end) in enumerate(offsets) if start <= position < end]
    assert encoding.char_to_token(position) == (covering[0] if covering else None)


def test_a_character_without_an_id_is_named_after_wrapping() -> None:
    base = replace(numbers(2), raw_ids=[1, NO_ID], surfaces=["a", "é"])
    wrapped = postprocess(base, parts=[bert()], special_ids=SPECIAL_IDS)
    with raises_code("no-id", "'é'"):
        _ = wrapped.ids
