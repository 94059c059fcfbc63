"""Models of other libraries in Hugging Face's format."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models, pre_tokenizers

from tests.conftest import shared_file
from tests.errors import raises_code
from tests.formats.models import RECIPES, with_added
from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats import UnsupportedByFormat
from tokctl.model import Model, byte_level

TOKENS = ["<unk>", "a", "b", "c", "ab", "abc"]
VOCAB = {token: id_ for id_, token in enumerate(TOKENS)}
MERGES = [("a", "b"), ("ab", "c")]


def read(made: hf.Tokenizer) -> Model:
    return formats.parse(made.to_str().encode(), "theirs.json")


def changed(made: hf.Tokenizer, **model: Any) -> bytes:
    document = json.loads(made.to_str())
    document["model"] |= model
    return json.dumps(document).encode()


def bpe(**options: Any) -> hf.Tokenizer:
    return hf.Tokenizer(models.BPE(VOCAB, MERGES, **options))


def test_gpt2() -> None:
    path = shared_file("vocab/gpt2.tokenizer.json")
    model = formats.load(path)
    assert (model.recipe.units, model.recipe.splitting) == ("bytes", "gpt2")
    assert (len(model.tokens), len(model.merges)) == (50257, 50000)
    assert model.special_ids == {"<|endoftext|>": 50256}
    assert model.tokens[262] == b" the" and model.tokens[220] == b" "
    data = formats.serialize(model)
    assert formats.parse(data, "again") == model
    ours, theirs = hf.Tokenizer.from_str(data.decode()), hf.Tokenizer.from_file(str(path))
    for text in ("Hello  world's été\n\n <|endoftext|> 12345", "日本語 🦜"):
        assert ours.encode(text).ids == theirs.encode(text).ids
        assert ours.decode(ours.encode(text).ids) == theirs.decode(theirs.encode(text).ids)


def test_bpe_and_its_flags() -> None:
    made = bpe(unk_token="<unk>", fuse_unk=True, byte_fallback=True, ignore_merges=True)
    model = read(made)
    recipe = model.recipe
    assert (recipe.algorithm, recipe.segmentation) == ("bpe", "merges")
    assert recipe.fuse_unknown and recipe.byte_fallback and recipe.whole_words
    assert model.special_ids == {"<unk>": 0}  # no added token there, one here
    assert [merge[:3] for merge in model.merges] == [(1, 2, 4), (4, 3, 5)]
    plain = read(bpe(unk_token="<unk>")).recipe
    assert not (plain.fuse_unknown or plain.byte_fallback or plain.whole_words)
    assert read(bpe(unk_token="nowhere")).recipe.unk_token is None


def test_merges_in_both_encodings() -> None:
    made = bpe()
    pairs = read(made)
    lines = formats.parse(changed(made, merges=["#version: 0.2", "a b", "ab c"]), "x")
    assert lines == pairs
    with_space = hf.Tokenizer(models.BPE({"a": 0, " ": 1, "a ": 2}, [("a", " ")]))
    assert [merge[:3] for merge in read(with_space).merges] == [(0, 1, 2)]
    twice = formats.parse(changed(made, merges=[["ab", "c"], ["a", "b"], ["ab", "c"]]), "x")
    assert twice == pairs  # of equal merges the last one counts


def test_ids_in_any_order() -> None:
    vocab = dict(reversed(VOCAB.items()))
    assert formats.parse(changed(bpe(), vocab=vocab), "x") == read(bpe())


def test_suffix_and_prefix() -> None:
    vocab = {"a": 0, "b</w>": 1, "ab</w>": 2}
    made = hf.Tokenizer(models.BPE(vocab, [("a", "b</w>")], end_of_word_suffix="</w>"))
    assert read(made).recipe.marker == ("end-fused", "</w>")
    assert [merge[:3] for merge in read(made).merges] == [(0, 1, 2)]
    vocab = {"a": 0, "##b": 1, "ab": 2}
    made = hf.Tokenizer(models.BPE(vocab, [("a", "##b")], continuing_subword_prefix="##"))
    model = read(made)
    assert (model.recipe.marker, model.recipe.segmentation) == (("continuation", "##"), "merges")
    assert [merge[:3] for merge in model.merges] == [(0, 1, 2)]


def test_dropout() -> None:
    assert read(bpe(dropout=None)) == read(bpe())
    assert formats.parse(changed(bpe(), dropout=0.0), "x") == read(bpe())
    with raises_code("unsupported", r"dropout 0\.1") as caught:
        read(bpe(dropout=0.1))
    assert caught.value.hint == "set dropout to null in the file"


def test_wordpiece() -> None:
    made = hf.Tokenizer(models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2}, unk_token="[UNK]"))
    model = read(made)
    recipe = model.recipe
    assert (recipe.algorithm, recipe.segmentation) == ("wordpiece", "longest-match")
    assert (recipe.marker, recipe.max_input_chars) == (("continuation", "##"), 100)
    assert (recipe.unknown, recipe.unk_token) == ("word", "[UNK]")
    assert model.tokens == [b"[UNK]", b"a", b"##b"]


def test_words() -> None:
    made = hf.Tokenizer(models.WordLevel({"[UNK]": 0, "one": 1, "two": 2}, unk_token="[UNK]"))
    recipe = read(made).recipe
    assert (recipe.algorithm, recipe.segmentation) == ("word", "lookup")


def test_unigram() -> None:
    vocab = [("<unk>", 0.0), ("a", -1.1234567890123457), ("b", -2.5), ("ab", -1e-300)]
    model = read(hf.Tokenizer(models.Unigram(vocab, unk_id=0, byte_fallback=True)))
    assert model.scores == [score for _, score in vocab]
    recipe = model.recipe
    assert (recipe.precision, recipe.segmentation, recipe.unk_token) == (
        "double",
        "viterbi",
        "<unk>",
    )
    assert recipe.byte_fallback and recipe.fuse_unknown
    assert formats.parse(formats.serialize(model), "x") == model
    without = hf.Tokenizer(models.Unigram(vocab[1:], None, False))
    assert read(without).recipe.unk_token is None


def test_added_tokens_and_their_flags() -> None:
    made = bpe(unk_token="<unk>")
    made.add_special_tokens([AddedToken("<s>", special=True), AddedToken("c", special=True)])
    made.add_tokens(
        [
            AddedToken("new", single_word=True, lstrip=True, normalized=False),
            AddedToken("abc", rstrip=True),
        ]
    )
    model = read(made)
    by_text = {token.text: token for token in model.added}
    assert {text: token.id for text, token in by_text.items()} == {
        "<unk>": 0,
        "c": 3,
        "abc": 5,
        "<s>": 6,
        "new": 7,
    }
    assert by_text["c"].special and not by_text["c"].ordinary
    assert by_text["abc"].ordinary and by_text["abc"].strip_right and by_text["abc"].normalized
    assert not by_text["new"].ordinary and not by_text["new"].normalized
    assert by_text["new"].single_word and by_text["new"].strip_left
    assert model.recipe.special_tokens == ("<unk>", "c", "<s>")
    assert model.reserved_ids == {3, 6, 7}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"id": -1, "content": "x"}, "has the id -1"),
        ({"id": 2**32, "content": "x"}, "has the id 4294967296"),
        ({"id": "1", "content": "x"}, "'id' of the added token 0 is '1'"),
        ({"id": 6}, "'content' of the added token 0 is None"),
        (3, "added token 0 is 3"),
    ],
)
def test_added_tokens_that_are_wrong(entry: Any, message: str) -> None:
    document = json.loads(bpe().to_str())
    document["added_tokens"] = [entry]
    with pytest.raises(TokctlError, match=message):
        formats.parse(json.dumps(document).encode(), "x")


@given(
    st.lists(
        st.tuples(
            st.integers(0, 300),
            st.sampled_from(["x", "y", "yx", "<s>", "a", "b", "ab"]),
            st.booleans(),
        ),
        unique_by=lambda entry: entry[1],
    ),
    st.booleans(),
)
def test_ids_of_added_tokens_are_those_that_they_get(
    entries: list[tuple[int, str, bool]], twice: bool
) -> None:
    """Whatever stands in the file: the id of the vocabulary, or the next free one."""
    document = json.loads(bpe().to_str())
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    listed = [
        {"id": id_, "content": text, **flags, "special": special} for id_, text, special in entries
    ]
    if twice:
        listed += [{**entry, "id": 5} for entry in listed[:2]]
    document["added_tokens"] = listed
    theirs = hf.Tokenizer.from_str(json.dumps(document))
    ours = Tokenizer(formats.parse(json.dumps(document).encode(), "x"))
    found = {token.text: token.id for token in ours.model.added if token.listed}
    added = theirs.get_added_tokens_decoder()
    assert found == {token.content: id_ for id_, token in added.items()}
    for text in ("abx<s>", "yxyab", "x a"):
        ids = theirs.encode(text).ids
        assert ours.encode_ids(text, special="all") == ids
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False)


def test_the_lowest_id_that_two_tokens_have_is_found_at_once() -> None:
    vocab = {f"t{id_}": id_ for id_ in range(100_000)} | {"x": 99_999, "y": 99_998}
    with raises_code("damaged-model", "two tokens of the vocabulary have the id 99998"):
        formats.parse(changed(bpe(), vocab=vocab, merges=[]), "x")


@pytest.mark.parametrize(
    ("vocab", "message"),
    [
        ({"a": 0, "b": 2, "ab": 99999}, "of the ids up to 99999, only 3 have a token"),
        ({"a": 0, "b": 1, "ab": 1}, "two tokens of the vocabulary have the id 1"),
        ({"a": 0, "b": -1, "ab": 1}, "has the id -1"),
        ({"a": 0, "b": 1.0, "ab": 2}, "not a whole number"),
        ({"a": 0, "b": True, "ab": 2}, "not a whole number"),
        ({"a": 0, "b": 10**30, "ab": 2}, "not a whole number|no token of the vocabulary"),
        (["a"], "the vocabulary is not an object"),
        ({"a": 0, "b": 1}, "merge 1 names 'ab', which is not a token"),
    ],
)
def test_vocabularies_that_are_wrong(vocab: Any, message: str) -> None:
    with pytest.raises(TokctlError, match=message):
        formats.parse(changed(bpe(), vocab=vocab, merges=["a b"]), "x")


def byte_tokenizer(tokens: list[str]) -> hf.Tokenizer:
    made = hf.Tokenizer(models.BPE({token: id_ for id_, token in enumerate(tokens)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made


def test_byte_level_vocabularies() -> None:
    tokens = sorted(byte_level.BYTES)
    made = byte_tokenizer(tokens)
    made.add_special_tokens(["<é>"])
    made.add_tokens(["日本"])
    model = read(made)
    assert model.recipe.units == "bytes"
    assert model.tokens == [*byte_level.IN_ID_ORDER, "<é>".encode(), "日本".encode()]
    lacking = read(byte_tokenizer(tokens[3:]))
    assert (lacking.recipe.alphabet, lacking.recipe.unknown) == ("seen", "drop")
    never = {byte_level.CHARACTERS[byte] for byte in byte_level.NEVER_IN_UTF8}
    text_alone = read(byte_tokenizer([token for token in tokens if token not in never]))
    assert (text_alone.recipe.alphabet, text_alone.recipe.unknown) == ("seen", "word")


def test_truncation_and_padding_are_options_of_a_call() -> None:
    made = bpe()
    plain = read(made)
    made.enable_truncation(7)
    made.enable_padding(length=9)
    cut = read(made)
    assert (cut.lengths["truncation"]["max_length"], plain.lengths) == (7, {})
    assert cut.recipe == plain.recipe
    text = "ab ba" * 4
    assert Tokenizer(cut).encode_ids(text) == Tokenizer(plain).encode_ids(text)


def test_an_added_token_of_the_vocabulary_that_no_bytes_spell() -> None:
    """A space is no stand-in: the model never makes the token, and it is found in the text."""
    vocab = {one: id_ for id_, one in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = hf.Tokenizer(models.BPE({**vocab, "<x y>": 256, "lo": 257}, [("l", "o")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_tokens([AddedToken("<x y>", normalized=True, lstrip=True), "lo"])
    text = "low <x y>lo < x y>\u00a7"
    ours = Tokenizer(read(made))
    assert ours.encode_ids(text) == made.encode(text, add_special_tokens=False).ids
    again = Tokenizer(formats.parse(formats.write(ours.model, "huggingface")[""], "again"))
    assert again.encode_ids(text) == ours.encode_ids(text)


def test_an_added_token_that_the_vocabulary_spells_otherwise() -> None:
    """It would get another id there."""
    model = with_added(RECIPES["unigram that they load"])
    tokens = [b"acb" if token == b"abc" else token for token in model.tokens]
    with pytest.raises(UnsupportedByFormat, match="no 'abc', which is one of its tokens"):
        formats.losses(replace(model, tokens=tokens), "huggingface")
    data = formats.serialize(model)
    assert data.count(b'"abc",-0.1') == 1
    with raises_code("damaged-model"):
        formats.parse(data.replace(b'"abc",-0.1', b'"acb",-0.1'), "edited")


@pytest.mark.parametrize(
    "model",
    [
        models.Unigram([("<pad>", 0.0), ("a", -1.0), ("<", -2.0), ("?", -9.0)], 3),
        models.WordLevel({"<pad>": 0, "a": 1, "?": 2}, "?"),
        models.WordPiece({"<pad>": 0, "a": 1, "?": 2}, unk_token="?"),
    ],
)
def test_no_text_spells_a_special_token_that_is_not_allowed(model: models.Model) -> None:
    """There the model makes it of text where its vocabulary has it, although special tokens are to
    be text: `encode_special_tokens`. Here it never does."""
    there = hf.Tokenizer(model)
    there.add_special_tokens(["<pad>"])
    here = Tokenizer(read(there))
    there.encode_special_tokens = True
    assert 0 in there.encode("<pad>").ids
    assert 0 not in here.encode_ids("<pad>")
    assert here.encode_ids("a") == there.encode("a").ids
    there.encode_special_tokens = False
    assert here.encode_ids("<pad>a", special="all") == there.encode("<pad>a").ids
