"""tokctl's own file: what is written is read, all of it, and both halves agree."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import tokenizers as hf

from tests.errors import raises_code
from tests.formats.models import RECIPES, filled, with_added
from tokctl import TokctlError, formats
from tokctl.model import Model
from tokctl.model.parts import AddedToken
from tokctl.model.presets import BPE_CHARACTERS, WORD, preset

#: What Hugging Face can't do with the same ids.
REFUSED = {
    "notebook-bpe",
    "notebook-wordpiece",
    "unigram with case folding",
    "graphemes",
    "end marker",
}


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_comes_back(name: str) -> None:
    model = filled(RECIPES[name])
    data = formats.serialize(model)
    assert formats.parse(data, "x") == model
    assert formats.serialize(formats.parse(data, "x")) == data
    reason = formats.why_not_loadable(model)
    assert reason == formats.why_not_loadable(model.recipe)
    assert (reason is not None) == (name in REFUSED)
    if reason:
        assert json.loads(data)["version"] == "tokctl-1"
        with pytest.raises(Exception, match="Unknown tokenizer version"):
            hf.Tokenizer.from_str(data.decode())
    else:
        theirs = hf.Tokenizer.from_str(data.decode())
        assert theirs.get_vocab_size() == len(set(model.tokens))
        assert [theirs.token_to_id(text) for text in model.special_ids] == [
            *model.special_ids.values()
        ]


@pytest.mark.parametrize("name", ["gpt2", "chars", "bert", "unigram that they load", "word"])
def test_added_tokens_come_back(name: str) -> None:
    model = with_added(RECIPES[name])
    data = formats.serialize(model)
    assert formats.parse(data, "x") == model
    theirs = hf.Tokenizer.from_str(data.decode())
    for token in model.added:
        assert theirs.token_to_id(token.text) == token.id
    decoder = theirs.get_added_tokens_decoder()
    for token in model.added:
        found = decoder[token.id]
        assert (found.content, found.special) == (token.text, token.special)
        assert (found.lstrip, found.rstrip) == (token.strip_left, token.strip_right)
        assert (found.single_word, found.normalized) == (token.single_word, token.normalized)
    # Behind the vocabulary they are theirs alone.
    vocabulary = json.loads(data)["model"]["vocab"]
    assert len(vocabulary) == len(model.tokens) - 3


def test_read_without_our_half_it_is_the_same_tokenizer() -> None:
    for name in ("gpt2", "bert", "llama2", "llama3", "qwen", "cl100k", "o200k", "char-bpe"):
        model = filled(RECIPES[name])
        document = json.loads(formats.serialize(model))
        del document["model"]["tokctl"]
        theirs = formats.parse(json.dumps(document).encode(), "x")
        assert theirs.tokens == model.tokens
        assert [merge[:3] for merge in theirs.merges] == (
            [] if name == "bert" else [merge[:3] for merge in model.merges]
        )
        assert theirs.special_ids == model.special_ids
        for part in ("normalizers", "pre_tokenizers", "post_processors", "units", "unk_token"):
            assert getattr(theirs.recipe, part) == getattr(model.recipe, part), (name, part)
        for part in ("marker", "byte_fallback", "fuse_unknown", "whole_words", "max_input_chars"):
            assert getattr(theirs.recipe, part) == getattr(model.recipe, part), (name, part)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        # Characters are BPE without merges.
        ("char", "ab qc", [1, 2, 0, 0, 3]),
        ("chars", "abc ab", [5, 0, 4]),
        ("word", "ab  abc abcd", [4, 5, 0]),
        ("unigram that they load", "abc ab", [0, 5, 0, 4]),  # ▁ has no token
    ],
)
def test_ids_there(name: str, text: str, expected: list[int]) -> None:
    data = formats.serialize(filled(RECIPES[name]))
    assert hf.Tokenizer.from_str(data.decode()).encode(text).ids == expected


def test_byte_fallback_there() -> None:
    model = filled(RECIPES["llama2"])
    theirs = hf.Tokenizer.from_str(formats.serialize(model).decode())
    expected = [model.tokens.index(b"<0x%02X>" % byte) for byte in "▁é".encode()]
    assert theirs.encode("é", add_special_tokens=False).ids == expected


def test_tokens_that_are_spelled_alike() -> None:
    """A special token whose text is the stand-in of a byte."""
    model = filled(replace(preset("gpt2"), special_tokens=("é",)))
    data = formats.serialize(model)
    assert json.loads(data)["version"] == "tokctl-1"
    assert formats.parse(data, "x") == model
    assert formats.why_not_loadable(model) == (
        "it knows tokens by their spelling, and two of these are spelled alike"
    )


def test_a_literal_added_token_is_not_theirs() -> None:
    model = filled(BPE_CHARACTERS)
    token = AddedToken("q", len(model.tokens), special=False, normalized=True, literal=True)
    model = replace(model, tokens=[*model.tokens, b"q"], added_tokens=(*model.added, token))
    assert "normalize the spelling" in str(formats.why_not_loadable(model))
    assert formats.parse(formats.serialize(model), "x") == model


def edited(model: Model, place: str, value: Any) -> bytes:
    document = json.loads(formats.serialize(model))
    *parents, last = place.split(".")
    inner: Any = document
    for name in parents:
        inner = inner[int(name) if isinstance(inner, list) else name]
    inner[int(last) if isinstance(inner, list) else last] = value
    return json.dumps(document).encode()


LOADED = filled(RECIPES["unigram that they load"])
EDITS: dict[str, tuple[Model, str, Any]] = {
    "another decoder": (LOADED, "decoder", {"type": "Fuse"}),
    "another unknown token": (LOADED, "model.unk_id", 1),
    "a score that is text": (LOADED, "model.vocab.1", ["a", "x"]),
    "a round that is none": (LOADED, "model.tokctl.rounds", [[1, 2]]),
    "examples that are none": (LOADED, "model.tokctl.rounds", [[1, 2.0, 3, [[1, 2]]]]),
    "a count too many": (filled(WORD), "model.tokctl.token_counts", [1, 2]),
    "a negative count": (filled(WORD), "model.tokctl.token_counts.1", -1),
    "an added token's id": (
        with_added(BPE_CHARACTERS),
        "model.tokctl.added_tokens.1.1",
        2**40,
    ),
    "an added token's flag": (with_added(BPE_CHARACTERS), "model.tokctl.added_tokens.1.2", 1),
    "an added token there": (with_added(BPE_CHARACTERS), "added_tokens.2.lstrip", False),
    "a part that is none": (LOADED, "model.tokctl.recipe.normalizers", [{"kind": "nfq"}]),
    "no scores": (filled(RECIPES["unigram with case folding"]), "model.tokctl.scores", ["x"]),
    "a hole": (filled(BPE_CHARACTERS), "model.vocab.ab", 17),
    "the same id twice": (filled(BPE_CHARACTERS), "model.vocab.ab", 1),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_by_hand(edit: str) -> None:
    with pytest.raises(
        TokctlError, match="x is not a model file in a supported format, or it is damaged: "
    ) as caught:
        formats.parse(edited(*EDITS[edit]), "x")
    assert "Error" not in caught.value.message


@pytest.mark.parametrize("number", [3, 0, True, "2", 10**30])
def test_other_formats(number: Any) -> None:
    data = edited(filled(BPE_CHARACTERS), "model.tokctl.format", number)
    with raises_code("unsupported", r"and this tokctl reads 2|is not a model file"):
        formats.parse(data, "x")


def test_format_1_is_read() -> None:
    model = filled(replace(preset("gpt2"), normalizers=("delete-newlines",)))
    document = json.loads(formats.serialize(model))
    private = document["model"]["tokctl"]
    private["format"] = 1
    recipe = private["recipe"]
    known = ("name", "algorithm", "units", "marker", "alphabet", "score", "tie_break")
    known += ("segmentation", "unk_token", "unknown", "max_input_chars", "special_tokens")
    private["recipe"] = {name: recipe[name] for name in known} | {
        "normalizers": ["delete-newlines"],
        "pre_tokenizer": "gpt2",
    }
    assert formats.parse(json.dumps(document).encode(), "x") == model
