"""Every attribute of every encoding, beside `tokenizers`, and what its own tests say."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.errors import raises_code

tokenizers = pytest.importorskip("tokenizers")

from tests.compat.models import KINDS, assert_equal, both, document, lines  # noqa: E402
from tests.exact.strings import EXAMPLES, strings  # noqa: E402
from tokctl import TokctlError  # noqa: E402
from tokctl.extras.compat.tokenizers import AddedToken, Encoding, Tokenizer  # noqa: E402

#: `TOKCTL_EXAMPLES=100000` compares as many strings with each model.
COUNT = max(EXAMPLES // 4, 100) if EXAMPLES < 100_000 else EXAMPLES


def texts(count: int = COUNT, seed: int = 0) -> Iterator[str]:
    yield from ("", " ", "Widget", "a gizmo  b", "x<mask>", "  [MASK] ", "Widgets gizmos Widget")
    yield from lines()[:50]
    yield from strings(count, seed)


def settings(draw: random.Random, *tokenizers_: Any) -> None:
    """The same truncation and padding for each."""
    cut = {
        "max_length": draw.choice((5, 8, 13, 40)),
        "stride": draw.choice((0, 0, 1, 2)),
        "strategy": draw.choice(("longest_first", "only_first", "only_second")),
        "direction": draw.choice(("left", "right")),
    }
    pad = {
        "direction": draw.choice(("left", "right")),
        "pad_id": 1,
        "pad_type_id": draw.choice((0, 2)),
        "pad_token": "[PAD]",
        "length": draw.choice((None, 10)),
        "pad_to_multiple_of": draw.choice((None, 8)),
    }
    cuts, pads = draw.random() < 0.6, draw.random() < 0.5
    for one in tokenizers_:
        one.no_truncation()
        one.no_padding()
        if cuts:
            one.enable_truncation(**cut)
        if pads:
            one.enable_padding(**pad)
    ours, theirs = tokenizers_
    assert ours.truncation == theirs.truncation
    assert ours.padding == theirs.padding


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_every_attribute_is_equal(kind: str) -> None:
    ours, theirs = both(kind)
    some = list(texts())
    for add, as_text in ((True, False), (False, False), (True, True), (False, True)):
        ours.encode_special_tokens = theirs.encode_special_tokens = as_text
        for n in range(0, len(some), 10_000):
            part = some[n : n + 10_000]
            here = ours.encode_batch(part, add_special_tokens=add)
            there = theirs.encode_batch(part, add_special_tokens=add)
            for mine, other, text in zip(here, there, part, strict=True):
                assert_equal(mine, other, text)
        # All of them once.
        some = some[:10_000]


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_windows_padding(kind: str) -> None:
    ours, theirs = both(kind)
    draw = random.Random(kind)
    some = [text[:80] for text in texts(60)]
    for _ in range(15):
        settings(draw, ours, theirs)
        pairs = [(draw.choice(some), draw.choice(some)) for _ in range(4)]
        given: list[Any] = [*pairs, *draw.sample(some, 4)]
        try:
            there = theirs.encode_batch(given)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            # An error, or a panic, there is an error here.
            with pytest.raises(ValueError, match=r"stride|Truncation|max_length"):
                _ = [one.overflowing for one in ours.encode_batch(given)]
            continue
        for mine, other, text in zip(ours.encode_batch(given), there, given, strict=True):
            assert_equal(mine, other, (text, ours.truncation, ours.padding))
        fast = ours.encode_batch_fast(given)
        for mine, other, text in zip(fast, theirs.encode_batch_fast(given), given, strict=True):
            assert_equal(mine, other, text)
        assert_equal(ours.encode(*pairs[0]), theirs.encode(*pairs[0]), pairs[0])


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", KINDS)
def test_words_that_are_given(kind: str) -> None:
    ours, theirs = both(kind)
    draw = random.Random(kind)
    for text in texts(40):
        words = text.split(" ")
        if draw.random() < 0.3:
            settings(draw, ours, theirs)
        given = [words, (words, ["a", "Widget b"])]
        try:
            there = theirs.encode_batch(given, is_pretokenized=True)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            continue
        here = ours.encode_batch(given, is_pretokenized=True)
        for mine, other in zip(here, there, strict=True):
            assert_equal(mine, other, words)
        with suppress(ValueError):
            one = theirs.encode(words, is_pretokenized=True)
            assert_equal(ours.encode(words, is_pretokenized=True), one, words)


@pytest.mark.parametrize("kind", KINDS)
def test_questions_of_an_encoding(kind: str) -> None:
    ours, theirs = both(kind)
    for text in list(texts(30))[40:]:
        mine, other = ours.encode(text, "a Widget"), theirs.encode(text, "a Widget")
        for index in range(len(mine) + 2):
            for name in ("token_to_sequence", "token_to_chars", "token_to_word"):
                assert getattr(mine, name)(index) == getattr(other, name)(index), (name, index)
            for name in ("word_to_tokens", "word_to_chars", "char_to_token", "char_to_word"):
                for sequence in (0, 1):
                    found = getattr(mine, name)(index, sequence)
                    assert found == getattr(other, name)(index, sequence), (name, index, text)


@pytest.mark.parametrize(
    "damaged", [5, "a", [], {}, {"type": "Sequence"}, {"type": "Sequence", "processors": [5]}]
)
def test_a_damaged_post_processor(damaged: Any) -> None:
    made = json.loads(both("bert")[0].to_str())
    with raises_code("damaged-model"):
        Tokenizer.from_str(json.dumps(made | {"post_processor": damaged}))


def test_what_can_be_no_id() -> None:
    for one in both("bert"):
        assert one.decode([99_999]) == ""
        for wrong, error in (("ab", TypeError), ([-1], OverflowError), ([1 << 32], OverflowError)):
            with pytest.raises(error):
                one.decode(wrong)


def test_thousands_of_encodings_are_merged() -> None:
    ours, theirs = both("bert")
    some = {}
    for one, merge in ((ours, Encoding.merge), (theirs, tokenizers.Encoding.merge)):
        first, other = one.encode("The Widget of a gizmo, and more of it"), one.encode("x y")
        first.truncate(4, stride=1)
        some[one] = merge([first, *[other] * 500], True)
    assert_equal(some[ours], some[theirs])


@pytest.mark.parametrize("kind", KINDS)
def test_encodings_that_are_changed(kind: str) -> None:
    ours, theirs = both(kind)
    text = "The Widget of a gizmo, and more of it 東京都"
    mine, other = ours.encode(text), theirs.encode(text)
    for one in (mine, other):
        one.truncate(6, stride=2)
    assert_equal(mine, other)
    for one in (mine, other):
        one.pad(9, direction="left", pad_id=3, pad_type_id=1, pad_token="!")
    assert_equal(mine, other)
    assert_equal(pickle.loads(pickle.dumps(mine)), other)
    for growing in (True, False):
        joined = Encoding.merge([mine, ours.encode("x y")], growing)
        assert_equal(joined, tokenizers.Encoding.merge([other, theirs.encode("x y")], growing))
    for one in (mine, other):
        one.set_sequence_id(1)
        one.truncate(0)
    assert_equal(mine, other)
    bare = ours.encode(text, add_special_tokens=False), ours.encode("b", add_special_tokens=False)
    there = tuple(theirs.encode(one, add_special_tokens=False) for one in (text, "b"))
    assert_equal(ours.post_process(*bare), theirs.post_process(*there))
    assert repr(mine) == repr(other)


@pytest.mark.parametrize("kind", KINDS)
def test_decoding(kind: str) -> None:
    ours, theirs = both(kind)
    draw = random.Random(kind)
    size = theirs.get_vocab_size()
    rows = [theirs.encode(text).ids for text in texts(60)]
    rows += [[draw.randrange(size + 9) for _ in range(draw.randrange(12))] for _ in range(200)]
    for skip in (True, False):
        there = theirs.decode_batch(rows, skip_special_tokens=skip)
        assert ours.decode_batch(rows, skip_special_tokens=skip) == there
        assert ours.decode(rows[0], skip_special_tokens=skip) == there[0]


@pytest.mark.parametrize("kind", KINDS)
def test_vocabulary_and_added_tokens(kind: str) -> None:
    ours, theirs = both(kind)
    for step in range(3):
        for added in (True, False):
            assert ours.get_vocab(added) == theirs.get_vocab(added)
            assert ours.get_vocab_size(added) == theirs.get_vocab_size(added)
        for id_ in range(theirs.get_vocab_size() + 3):
            assert ours.id_to_token(id_) == theirs.id_to_token(id_)
        for token in [*theirs.get_vocab(), "no such token"]:
            assert ours.token_to_id(token) == theirs.token_to_id(token)
        mine, other = ours.get_added_tokens_decoder(), theirs.get_added_tokens_decoder()
        assert list(mine) == list(other)
        assert all(mine[id_] == other[id_] for id_ in mine)
        assert list(map(repr, mine.values())) == list(map(repr, other.values()))
        for pair in (True, False):
            here = ours.num_special_tokens_to_add(pair)
            assert here == theirs.num_special_tokens_to_add(pair)
        for text in ("a new token and neu Widget", "<extra>x new"):
            assert_equal(ours.encode(text), theirs.encode(text), text)
        if step == 0:
            assert ours.add_tokens(["new", "Widget", ""]) == theirs.add_tokens(
                ["new", "Widget", ""]
            )
            flags = {"lstrip": True, "normalized": False}
            given = [AddedToken("neu", **flags)], [tokenizers.AddedToken("neu", **flags)]
            assert ours.add_tokens(given[0]) == theirs.add_tokens(given[1])
        if step == 1:
            some = ["<extra>", "<extra>", "<pad>"]
            assert ours.add_special_tokens(some) == theirs.add_special_tokens(some)


@pytest.mark.parametrize("kind", KINDS)
def test_documents_and_copies(kind: str, tmp_path: Any) -> None:
    ours, theirs = both(kind)
    for one in (ours, theirs):
        one.enable_truncation(9, stride=1, direction="left")
        one.enable_padding(length=12, pad_id=1)
    path = tmp_path / "tokenizer.json"
    ours.save(str(path))
    text = "The Widget of a gizmo"
    wanted = theirs.encode(text)
    again = tokenizers.Tokenizer.from_file(str(path))
    assert again.truncation == theirs.truncation
    assert again.padding == theirs.padding
    for copied in (
        Tokenizer.from_file(str(path)),
        Tokenizer.from_buffer(path.read_bytes()),
        pickle.loads(pickle.dumps(ours)),
        copy.deepcopy(ours),
        Tokenizer.from_str(theirs.to_str()),
    ):
        assert_equal(copied.encode(text), wanted)
        assert copied.truncation == theirs.truncation
        assert copied.padding == theirs.padding
    assert_equal(ours.encode(text), again.encode(text))


# -- what their own tests ask (bindings/python/tests/bindings), in our words -------------------


def word_level(words: str) -> Any:
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: id_ for id_, word in enumerate(words.split())}, "[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return made


SMALL = "[UNK] my name is john pair [CLS] [SEP]"


def test_a_small_model() -> None:
    made = Tokenizer.from_str(word_level(SMALL).to_str())
    found = made.encode("my name is john")
    assert (found.ids, found.tokens) == ([1, 2, 3, 4], ["my", "name", "is", "john"])
    assert found.offsets == [(0, 2), (3, 7), (8, 10), (11, 15)]
    assert (found.type_ids, found.attention_mask) == ([0] * 4, [1] * 4)
    assert found.special_tokens_mask == [0] * 4
    pair = made.encode("my name is john", "pair")
    assert (pair.ids, pair.type_ids) == ([1, 2, 3, 4, 5], [0, 0, 0, 0, 1])
    assert (pair.n_sequences, pair.sequence_ids) == (2, [0, 0, 0, 0, 1])
    words = made.encode(["my name is john"], is_pretokenized=True)
    assert words.word_ids == [0, 0, 0, 0]
    assert len(made.encode_batch(["my name is john", ("my name", "pair")])) == 2
    assert made.token_to_id("my") == 1
    assert made.id_to_token(9999) is None
    assert made.token_to_id("nothing") is None
    assert made.decode([1, 2, 3, 4]) == "my name is john"


@pytest.mark.parametrize("wrong", ["my", 5, None, [-1], [2**32], ["my"], [1, 2.5]])
def test_what_is_no_id(wrong: Any) -> None:
    made = Tokenizer.from_str(word_level(SMALL).to_str())
    with pytest.raises((TypeError, OverflowError)) as theirs:
        word_level(SMALL).decode(wrong)
    with pytest.raises(theirs.type):
        made.decode(wrong)


def test_what_is_no_text() -> None:
    made = Tokenizer.from_str(word_level(SMALL).to_str())
    for wrong in (["a", "b"], ("a", "b"), 5, None, b"my"):
        with pytest.raises(TypeError, match="TextInputSequence must be str"):
            made.encode(wrong)
    for wrong in ("my name", [["a"]], 5):
        with pytest.raises(TypeError, match="PreTokenizedInputSequence"):
            made.encode(wrong, is_pretokenized=True)
    with pytest.raises(TypeError, match="TextEncodeInput"):
        made.encode_batch(["a", ["b", "c", "d"]])
    with pytest.raises(TypeError, match="PreTokenizedEncodeInput"):
        made.encode_batch(["my name"], is_pretokenized=True)
    with pytest.raises(TypeError, match="str"):
        made.encode("my \ud800")
    with pytest.raises(TypeError, match="Input must be"):
        made.add_tokens([5])


def test_arrays_of_words() -> None:
    numpy = pytest.importorskip("numpy")
    made = Tokenizer.from_str(word_level(SMALL).to_str())
    for dtype in (None, object):
        words = numpy.array(["my", "name"], dtype=dtype)
        assert made.encode(words, is_pretokenized=True).ids == [1, 2]
        assert made.encode_batch([words, words], is_pretokenized=True)[1].ids == [1, 2]
    assert made.encode_batch(numpy.array(["my", "name"]))[1].ids == [2]


def test_truncation_as_it_is_told() -> None:
    made = Tokenizer.from_str(word_level(SMALL).to_str())
    assert made.truncation is None
    made.enable_truncation(2)
    assert made.encode("my name is john").tokens == ["my", "name"]
    assert made.encode("my name is john", "pair").tokens == ["my", "pair"]
    made.enable_truncation(2, direction="left")
    assert made.encode("my name is john").tokens == ["is", "john"]
    made.enable_truncation(3, stride=1, strategy="only_first")
    assert made.truncation == {
        "max_length": 3, "stride": 1, "strategy": "only_first", "direction": "right"
    }  # fmt: skip
    windows = made.encode("my name is john").overflowing
    assert [one.tokens for one in windows] == [["is", "john"]]
    with pytest.raises(ValueError, match="strategy"):
        made.enable_truncation(2, strategy="unknown")
    with pytest.raises(ValueError, match="direction"):
        made.enable_truncation(2, direction="down")
    with pytest.raises(ValueError, match="stride"):
        made.enable_truncation(2, stride=3)
    made.no_truncation()
    assert made.truncation is None


def test_padding_as_it_is_told() -> None:
    made = Tokenizer.from_str(word_level(SMALL).to_str())
    made.enable_padding()
    assert made.padding == {
        "length": None, "pad_to_multiple_of": None, "pad_id": 0, "pad_token": "[PAD]",
        "pad_type_id": 0, "direction": "right",
    }  # fmt: skip
    batch = made.encode_batch(["my name", "my name is john"])
    assert [len(one) for one in batch] == [4, 4]
    assert batch[0].tokens == ["my", "name", "[PAD]", "[PAD]"]
    assert batch[0].attention_mask == [1, 1, 0, 0]
    made.enable_padding(length=5, direction="left", pad_id=7, pad_token="!", pad_type_id=1)
    found = made.encode("my name")
    assert (found.ids, found.type_ids) == ([7, 7, 7, 1, 2], [1, 1, 1, 0, 0])
    with pytest.raises(ValueError, match="direction"):
        made.enable_padding(direction="up")
    made.no_padding()
    assert made.padding is None


def test_parts_are_those_of_tokenizers() -> None:
    made = Tokenizer.from_str(word_level(SMALL).to_str())
    assert made.normalizer is None
    made.normalizer = tokenizers.normalizers.Lowercase()
    assert made.encode("MY Name").ids == [1, 2]
    assert made.normalizer.normalize_str("MY") == "my"
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 6), ("[SEP]", 7)]
    )
    assert made.encode("my").ids == [6, 1, 7]
    assert made.num_special_tokens_to_add(False) == 2
    assert type(made.model).__name__ == "WordLevel"
    with raises_code("unsupported"):
        made.normalizer = object()
    other = Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, "[UNK]"))
    assert other.encode("a").ids == [0]


def test_what_can_not_be_read() -> None:
    for wrong in ("{", "[]", '{"model": 5}', "{}"):
        with pytest.raises(TokctlError):
            Tokenizer.from_str(wrong)
    with raises_code("unreadable"):
        Tokenizer.from_file("no/such/file")


def test_a_batch_has_no_object_per_token() -> None:
    import tracemalloc

    made = Tokenizer.from_str(document("gpt2"))
    text = "the treasure of the island " * 2000
    made.encode_batch([text] * 2)
    tracemalloc.start()
    found = made.encode_batch([text] * 20)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(map(len, found)) > 100_000
    assert used < 100_000
