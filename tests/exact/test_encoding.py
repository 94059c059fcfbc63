"""The encoders and decoders against their slow twins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.exact.test_training import odd_words, recipe, tied_words
from tests.exact.training_options import MARKERS
from tests.twins import encode as twin
from tests.twins.decode import decode_tokens
from tests.twins.train import initial_symbols
from tokctl import TokctlError, Tokenizer, default_recipe, preset
from tokctl._native import NO_ID
from tokctl.model.parts import AddedToken

#: Short ones for the scan, long ones for the heap.
probes = st.one_of(
    st.text(alphabet="ab", min_size=1, max_size=80),
    st.text(alphabet="a#_Ġ</w>é字x", min_size=1, max_size=40),
)


def trained(words: dict[str, int], marker: str, score: str, **changes: object) -> Tokenizer:
    made = recipe(marker, score, "first-seen", **changes)
    return Tokenizer.train(words, recipe=made, vocab_size=60)


def string_merges(tokenizer: Tokenizer) -> list[tuple[str, str, str]]:
    tokens = tokenizer.tokens
    return [(tokens[m.left], tokens[m.right], tokens[m.token]) for m in tokenizer.merges]


@pytest.mark.few(2)
@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("score", ["count", "likelihood"])
@given(words=st.one_of(tied_words, odd_words), word=probes)
def test_encoder_equals_twin(marker: str, score: str, words: dict[str, int], word: str) -> None:
    kind, mark = MARKERS[marker]
    for segmentation, encode in (("replay", twin.encode_by_replay), ("merges", twin.encode_bpe)):
        tokenizer = trained(words, marker, score, segmentation=segmentation, pre_tokenizers="none")
        expected = encode(initial_symbols(word, kind, mark), string_merges(tokenizer))
        assert tokenizer.encode(word).tokens == expected


@pytest.mark.few(2)
@pytest.mark.parametrize("marker", MARKERS)
@given(words=tied_words)
def test_encoding_the_corpus_gives_the_final_state(marker: str, words: dict[str, int]) -> None:
    """Rank order and replay agree on words without the marker's own characters."""
    for segmentation in ("replay", "merges"):
        tokenizer = trained(words, marker, "likelihood", segmentation=segmentation)
        kind, mark = MARKERS[marker]
        for word in words:
            symbols = initial_symbols(word, kind, mark)
            expected = twin.encode_by_replay(symbols, string_merges(tokenizer))
            assert tokenizer.encode(word).tokens == expected


@pytest.mark.few(2)
@pytest.mark.parametrize("unknown", ["word", "char"])
@pytest.mark.parametrize("limit", [None, 5])
@given(words=st.one_of(tied_words, odd_words), word=probes)
def test_longest_match_equals_twin(
    unknown: str, limit: int | None, words: dict[str, int], word: str
) -> None:
    tokenizer = trained(
        words,
        "continuation",
        "likelihood",
        segmentation="longest-match",
        pre_tokenizers="none",
        unknown=unknown,
        max_input_chars=limit,
        unk_token="[UNK]",
        special_tokens=("[UNK]",),
    )
    expected = twin.encode_longest_match(
        word,
        set(tokenizer.tokens[1:]),
        max_input_chars=limit,
        unknown=unknown,
    )
    assert tokenizer.encode(word).tokens == expected


@pytest.mark.few(2)
@pytest.mark.parametrize("marker", MARKERS)
@given(words=tied_words, text=st.lists(st.text("ab", min_size=1, max_size=9)).map(" ".join))
def test_decoder_equals_twin(marker: str, words: dict[str, int], text: str) -> None:
    tokenizer = trained({"a": 1, "b": 1, "ab": 1, "ba": 1, **words}, marker, "count")
    kind, mark = MARKERS[marker]
    tokens = tokenizer.encode(text).tokens
    assert tokenizer.decode_tokens(tokens) == decode_tokens(tokens, kind, mark)
    if NO_ID not in tokenizer.encode(text).raw_ids:
        assert tokenizer.decode(tokenizer.encode(text).ids) == decode_tokens(tokens, kind, mark)
        if marker != "none":
            assert tokenizer.decode(tokenizer.encode(text).ids) == text


@given(data=st.binary(max_size=200), corpus=st.binary(min_size=1, max_size=200))
def test_byte_level_round_trip(data: bytes, corpus: bytes) -> None:
    for pattern in ("gpt2", "none", r"regex:\w+"):
        tokenizer = Tokenizer.train(
            {corpus: 2}, recipe=replace(preset("gpt2"), pre_tokenizers=pattern), vocab_size=270
        )
        encoding = tokenizer.encode(data)
        assert tokenizer.decode_bytes(encoding.ids) == data
        assert b"".join(data[a:b] for a, b in encoding.offsets) == data
        assert tokenizer.encode_ids(data) == encoding.ids
        assert tokenizer.encode_ids([data, b"", data], threads=2) == [
            encoding.ids,
            [],
            encoding.ids,
        ]


@given(text=st.text(max_size=80))
def test_offsets_point_at_the_text(text: str) -> None:
    """Character offsets; a token that ends inside a character covers all of it."""
    tokenizer = Tokenizer.train({"the": 3, "é字": 2}, recipe=preset("gpt2"), vocab_size=262)
    encoding = tokenizer.encode(text)
    for (start, end), piece, token in zip(
        encoding.offsets, encoding.surfaces, encoding.tokens, strict=True
    ):
        assert text[start:end] == piece or "\ufffd" in piece
        assert end > start and token


@given(text=st.text(alphabet="ab\r\n e", max_size=40))
def test_offsets_survive_the_normalizer(text: str) -> None:
    tokenizer = Tokenizer.train({"ab": 3, "aba": 2}, recipe=preset("notebook-bpe"), vocab_size=6)
    encoding = tokenizer.encode(text)
    for (start, end), token in zip(encoding.offsets, encoding.tokens, strict=True):
        covered = text[start:end].replace("\r", "").replace("\n", "")
        assert covered == token.removeprefix("Ġ")
    clean = text.replace("\r", "").replace("\n", "")
    assert encoding.tokens == tokenizer.encode(clean).tokens


def test_special_tokens_are_text_unless_allowed() -> None:
    tokenizer = Tokenizer.train({"ab": 2}, recipe=preset("gpt2"), vocab_size=258)
    text = "ab<|endoftext|>ab"
    plain = tokenizer.encode(text)
    assert 0 not in plain.ids and tokenizer.decode(plain.ids) == text
    for allowed in ("all", "<|endoftext|>", ["<|endoftext|>"]):
        special = tokenizer.encode(text, special=allowed)
        assert special.ids == [257, 0, 257]
        assert special.offsets == [(0, 2), (2, 15), (15, 17)]
        assert special.word_ids == [0, 1, 2]
        assert tokenizer.encode_ids(text, special=allowed) == special.ids
    assert tokenizer.decode([257, 0, 257]) == text
    assert tokenizer.decode([257, 0, 257], skip_special=True) == "abab"
    with raises_code("unknown-name"):
        tokenizer.encode(text, special="<x>")


def test_added_tokens_stand_for_their_own_text() -> None:
    """Tokens decode as their ids do: `é` is an added token's text, and no stand-in of a byte."""
    model = Tokenizer.train({"ab": 2}, recipe=preset("gpt2"), vocab_size=258).model
    texts = ["a b", "é", "ab"]
    added = [
        AddedToken(text, 258 + place, special=False, ordinary=place == 2)
        for place, text in enumerate(texts)
    ]
    tokenizer = Tokenizer(
        replace(
            model,
            tokens=[*model.tokens, *(text.encode() for text in texts)],
            added_tokens=(*model.added, *added),
        )
    )
    for text in ("xa by é", "ab é è<|endoftext|>a b", "Ã©é"):
        encoding = tokenizer.encode(text, special="all")
        assert tokenizer.decode_tokens(encoding.tokens) == tokenizer.decode(encoding.ids) == text
    assert {"a b", "é"} < {*tokenizer.encode("xa by é").tokens}
    with raises_code("bad-input"):
        tokenizer.decode_tokens(["a b c"])
    for made in (tokenizer, Tokenizer.train({"ab": 2}, algorithm="char", vocab_size=3)):
        with pytest.raises(TokctlError, match=r"not UTF-8|stands for no byte"):
            made.decode_tokens(["\ud800"])


def test_every_special_token_is_skipped_where_asked() -> None:
    two = replace(preset("gpt2"), special_tokens=("<a>", "<b>"))
    tokenizer = Tokenizer.train({"ab": 2}, recipe=two, vocab_size=259)
    ids = tokenizer.encode("<b>ab<a>", special="all").ids
    assert ids == [1, 258, 0]
    assert tokenizer.decode(ids, skip_special=True) == "ab"


def test_a_special_token_that_broken_bytes_look_like(tmp_path: Path) -> None:
    broken = replace(preset("gpt2"), special_tokens=("\ufffd", "\ufffd\ufffd"))
    tokenizer = Tokenizer.train({b"\xff\xff": 2}, recipe=broken, vocab_size=259)
    tokenizer.save(tmp_path / "model.json")
    assert Tokenizer.load(tmp_path / "model.json").model == tokenizer.model


def test_text_that_no_token_stands_for() -> None:
    none = Tokenizer.train({"ab": 2}, recipe=preset("notebook-bpe"), vocab_size=4)
    assert none.encode("axb").tokens == ["Ġa", "x", "b"]
    with raises_code("no-id", "'x' is not in the model's alphabet"):
        _ = none.encode("axb").ids
    with raises_code("no-id", "text 1"):
        none.encode_ids(["ab", "axb"])
    unk = Tokenizer.train({"ab": 2}, recipe=default_recipe("bpe", characters=True), vocab_size=4)
    assert unk.encode("axb").tokens == ["a", "[UNK]", "b"]
    assert unk.encode("axb").surfaces == ["a", "x", "b"]


def test_text_that_is_not_utf8() -> None:
    characters = Tokenizer.train({"ab": 2}, recipe=default_recipe("wordpiece"), vocab_size=4)
    with raises_code("not-utf8", "line 2, byte 3"):
        characters.encode(b"ab\n\xff")
    with raises_code("not-utf8"):
        characters.encode("\ud800")
    byte_level = Tokenizer.train({"ab": 2}, recipe=preset("gpt2"), vocab_size=258)
    assert byte_level.decode_bytes(byte_level.encode("\udcff").ids) == b"\xff"
    with raises_code("not-utf8", "not UTF-8 at byte 0"):
        byte_level.decode(byte_level.encode(b"\xff").ids)
    assert byte_level.decode(byte_level.encode(b"\xff").ids, errors="replace") == "\ufffd"


@pytest.mark.parametrize("ids", [[258], [-1], [2**32], [0, 1, 9999]])
def test_ids_outside_the_vocabulary(ids: list[int]) -> None:
    tokenizer = Tokenizer.train({"ab": 2}, recipe=preset("gpt2"), vocab_size=258)
    with pytest.raises(TokctlError) as caught:
        tokenizer.decode(ids)
    assert caught.value.hint == "this model's ids are 0 to 257"
