"""What post-processing promises beside equality with Hugging Face."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.postprocess.peers import SPECIAL_IDS, byte_level, plain, texts
from tests.postprocess.test_huggingface import truncations
from tokctl import TokctlError
from tokctl._native import NO_ID
from tokctl.encoding import Encoding
from tokctl.postprocess import (
    Padding,
    PostProcessor,
    Template,
    Truncation,
    bert,
    pad_batch,
    postprocess,
    roberta,
)
from tokctl.postprocess.truncation import longest_first


def numbers(size: int, first: int = 100) -> Encoding:
    """A text of `size` words of one character each."""
    ids = list(range(first, first + size))
    places = [(place, place + 1) for place in range(size)]
    return Encoding(ids, [str(i) for i in ids], ["x"] * size, places, list(range(size)))


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
    assert trimmed.pieces == base.pieces
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
    base = replace(numbers(2), raw_ids=[1, NO_ID], pieces=["a", "é"])
    wrapped = postprocess(base, parts=[bert()], special_ids=SPECIAL_IDS)
    with pytest.raises(TokctlError, match="'é'"):
        _ = wrapped.ids


# -- errors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_length": -1}, "max_length can't be -1"),
        ({"max_length": True}, "max_length can't be True"),
        ({"max_length": 5, "stride": 1.5}, "stride can't be 1.5"),
        ({"max_length": 5, "strategy": "longest"}, "no strategy of truncation is called 'longest'"),
        ({"max_length": 5, "direction": ["right"]}, "no direction of truncation is called"),
    ],
)
def test_truncations_that_are_none(settings: dict, message: str) -> None:
    with pytest.raises(TokctlError, match=message) as caught:
        Truncation(**settings)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": -1}, "length can't be -1"),
        ({"multiple_of": 0}, "multiple_of can't be 0"),
        ({"id": "0"}, "id can't be '0'"),
        ({"type_id": None}, "type_id can't be None"),
        ({"direction": "up"}, "no direction of padding is called 'up'"),
    ],
)
def test_paddings_that_are_none(settings: dict, message: str) -> None:
    with pytest.raises(TokctlError, match=message) as caught:
        Padding(**settings)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("truncation", "pair", "message"),
    [
        (Truncation(1), False, "max_length is 1, and the template alone has 2 tokens"),
        (Truncation(2), True, "max_length is 2, and the template alone has 3 tokens"),
        (Truncation(6, stride=4), False, "the stride 4 is too much for windows of 4 tokens"),
        (Truncation(3, stride=1), True, "the stride 1 is too much for windows of 0 tokens"),
        (Truncation(8, 3, "only-first"), True, "too much for the first text, .* 1 tokens"),
        (Truncation(9, 3), True, "too much for the first text, .* 3 tokens"),
        (Truncation(6, strategy="only-first"), True, "cutting the first text is not enough"),
        (Truncation(6, strategy="only-second"), True, "cutting the second text is not enough"),
        (Truncation(6, strategy="only-second"), False, "there is no second text"),
    ],
)
def test_truncations_that_can_not_be(truncation: Truncation, pair: bool, message: str) -> None:
    second = numbers(4, 200) if pair else None
    with pytest.raises(TokctlError, match=message) as caught:
        postprocess(
            numbers(6), second, parts=[bert()], special_ids=SPECIAL_IDS, truncation=truncation
        )
    assert caught.value.hint


def test_settings_are_refused_whatever_the_text() -> None:
    """Not only once a text comes along that is long enough."""
    with pytest.raises(TokctlError, match="the template alone"):
        postprocess(numbers(0), parts=[bert()], special_ids=SPECIAL_IDS, truncation=Truncation(1))


def test_padding_without_an_id() -> None:
    with pytest.raises(TokctlError, match=r"\[PAD\] is no special token") as caught:
        pad_batch([numbers(1)], Padding(), {"<s>": 0})
    assert "<s>" in str(caught.value.hint)
    assert pad_batch([], Padding(), SPECIAL_IDS) == []


def test_templates_that_can_not_be() -> None:
    with pytest.raises(TokctlError, match="which has no id"):
        Template.read("[CLS] $A", {"[SEP]": 1})
    with pytest.raises(TokctlError, match=r"names \[CLS\], which is no special token"):
        PostProcessor.of([bert()], {"[SEP]": 1})
    with pytest.raises(TokctlError, match="two templates"):
        PostProcessor.of([bert(), bert()], SPECIAL_IDS)
    for token in ("a b", "$A", " a", ""):
        with pytest.raises(TokctlError, match="can't name the special token"):
            roberta(token)


def test_a_token_that_ends_like_a_type_id() -> None:
    part = bert("<x:1>", "[SEP]")
    assert part["single"] == "<x:1> $A [SEP]"
    part = bert("x:1", "y:2")
    read = Template.read(part["pair"], {"x:1": 5, "y:2": 6})
    assert read.wrap_ids([0], [0]) == [5, 0, 6, 0, 6]
    assert read.apply(numbers(1), numbers(1)).type_ids == [0, 0, 0, 1, 1]
