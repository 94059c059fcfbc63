"""Each of Hugging Face's decoders: what it is read as, and what is written for it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import tokenizers as hf
from tokenizers import Regex, decoders, models, pre_tokenizers

from tests.errors import raises_code
from tests.formats.theirs import back, read, tokenizer
from tokctl import Tokenizer, formats
from tokctl.formats.huggingface.document import why_not_loadable
from tokctl.model.parts import (
    DECODERS,
)
from tokctl.model.presets import preset

THEIR_DECODERS = {
    "wordpiece": decoders.WordPiece(),
    '{"kind": "wordpiece", "prefix": "@@", "cleanup": false}': decoders.WordPiece("@@", False),
    "metaspace": decoders.Metaspace(),
    "metaspace:never": decoders.Metaspace(prepend_scheme="never"),
    "bpe-suffix": decoders.BPEDecoder(),
    "fuse": decoders.Fuse(),
    '{"kind": "strip", "content": " ", "start": 1, "stop": 2}': decoders.Strip(" ", 1, 2),
    "replace:▁=> ": decoders.Replace("▁", " "),
    "ctc": decoders.CTC(),
}


@pytest.mark.parametrize("text", THEIR_DECODERS)
def test_decoders(text: str) -> None:
    made = tokenizer()
    made.decoder = THEIR_DECODERS[text]
    model = read(made)
    assert model.recipe.decoders == (DECODERS.parse(text),)
    assert back(model)["decoder"] == json.loads(made.to_str())["decoder"]


def test_decoders_of_bytes() -> None:
    """There a decoder gets bytes as they are spelled, unless ByteLevel stands before it."""
    recipe = replace(preset("gpt2"), decoders=("byte-level", "strip"))
    assert why_not_loadable(recipe) is None
    for decoder in ("fuse", "strip", "replace:a=>b", "ctc"):
        assert "bytes as they are spelled" in str(
            why_not_loadable(replace(recipe, decoders=(decoder,)))
        )
    made = Tokenizer.train({"low": 5, " é": 3}, recipe=preset("gpt2"), vocab_size=262)
    document = json.loads(formats.serialize(made.model))
    del document["model"]["tokctl"]
    for decoder in (
        None,
        {"type": "Fuse"},
        {"type": "Replace", "pattern": {"String": "a"}, "content": ""},
    ):
        data = json.dumps({**document, "decoder": decoder})
        ours, theirs = Tokenizer(formats.parse(data.encode(), "x")), hf.Tokenizer.from_str(data)
        for text in ("low é", " é日本", ""):
            ids = theirs.encode(text).ids
            assert (ours.encode_ids(text), ours.decode(ids)) == (ids, theirs.decode(ids))


@pytest.mark.parametrize("decoders", ["byte-level", "byte-level,fuse", "byte-level,replace:é=>e"])
def test_byte_level_decoders_are_the_same_there(decoders: str) -> None:
    recipe = replace(preset("gpt2"), decoders=DECODERS.parse_list(decoders))
    made = Tokenizer.train({"low": 5, " é": 3}, recipe=recipe, vocab_size=262)
    theirs = hf.Tokenizer.from_str(formats.serialize(made.model).decode())
    for text in ("low é", " é日本", ""):
        ids = made.encode_ids(text)
        assert made.decode(ids) == theirs.decode(ids)


def test_a_special_token_with_stand_ins_is_bytes_there() -> None:
    """Their decoder takes the text of an added token for what bytes are spelled with (`č` is a
    carriage return); here the token gives its text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = hf.Tokenizer(models.BPE({token: id_ for id_, token in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["Začnimo"])
    ids = made.encode("Začnimo").ids
    assert made.decode(ids, skip_special_tokens=False) == "Za\rnimo"
    ours = Tokenizer(read(made))
    assert ours.encode_ids("Začnimo", special="all") == ids
    assert ours.decode(ids) == "Začnimo"


def test_no_decoder() -> None:
    model = read(tokenizer())
    assert model.recipe.decoders == DECODERS.steps("join")
    assert back(model)["decoder"] is None
    with_more = replace(model.recipe, decoders=("fuse", "join"))
    assert "only without any decoder" in str(why_not_loadable(with_more))


@pytest.mark.parametrize(
    "chain",
    [
        [decoders.ByteLevel(), decoders.Replace("b", "é")],
        [decoders.ByteLevel(), decoders.Strip(" ", 1, 0), decoders.Replace(Regex("a+"), "-")],
    ],
    ids=["replace", "strip"],
)
def test_decoders_behind_bytes(chain: list[Any]) -> None:
    """They see the text, and not the characters that its bytes are spelled as."""
    stand_ins = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = tokenizer(["<unk>", *stand_ins])
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.Sequence(chain)
    model = read(made)
    assert model.recipe.decoders[0] == DECODERS.part("byte-level")
    assert why_not_loadable(model.recipe) is None
    ours, again = Tokenizer(model), hf.Tokenizer.from_str(formats.serialize(model).decode())
    for text in (" aab é 字", "bÃ©Ġ", "  \n"):
        ids = made.encode(text).ids
        assert ours.encode_ids(text) == ids
        assert ours.decode(ids) == made.decode(ids) == again.decode(ids)


def test_an_empty_word_delimiter() -> None:
    made = tokenizer()
    made.decoder = decoders.CTC(word_delimiter_token="", cleanup=False)
    model = read(made)
    ids = list(range(made.get_vocab_size()))
    expected = made.decode(ids, skip_special_tokens=False)
    assert Tokenizer(model).decode(ids) == expected
    made.decoder = decoders.CTC(word_delimiter_token="", cleanup=True)
    with raises_code("unsupported") as caught:
        read(made)
    assert caught.value.hint


def test_a_sequence_of_decoders() -> None:
    tokens = ["<unk>", "[CLS]", "[SEP]", *(f"<0x{byte:02X}>" for byte in range(256))]
    made = hf.Tokenizer(
        models.BPE({t: i for i, t in enumerate(tokens)}, [], unk_token="<unk>", byte_fallback=True)
    )
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    model = read(made)
    assert model.recipe.decoders == DECODERS.steps(["replace:▁=> ", "byte-fallback", "fuse"])
    assert back(model)["decoder"] == json.loads(made.to_str())["decoder"]
