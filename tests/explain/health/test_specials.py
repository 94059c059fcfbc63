"""Special tokens: what text can write, what has no id, what is unknown."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.explain.every import model
from tests.explain.health.sick import (
    BYTES,
    CHARACTERS,
    byte_level_model,
    finding,
    health,
    merging,
    tokens,
    unigram,
)
from tokctl import Tokenizer
from tokctl.analysis.health.vocabulary import looks_like_control
from tokctl.model import Model, byte_level
from tokctl.model.parts import AddedToken

CONTROL = """<|im_start|> <|end|> [CLS] [MASK2] [/INST] [unused7] <s> </s> <unk> <pad> <extra_id_0>
<start_of_turn> <tool_call> </think> <unused12>"""
ORDINARY = """<div> </p> <br> <int> <T> [0] [a] [A] [] <> <||> < |> <String> [index] a<s> <0x41>
<table> <section> </span> <small>"""


@pytest.mark.parametrize("text", CONTROL.split())
def test_control_tokens(text: str) -> None:
    assert looks_like_control(text)


@pytest.mark.parametrize("text", ORDINARY.split())
def test_what_is_none(text: str) -> None:
    assert not looks_like_control(text)


def test_text_that_gives_a_special_token() -> None:
    # The only token of a byte is special, as in models that have "!" for padding.
    alphabet = list(byte_level.IN_ID_ORDER)
    recipe = replace(BYTES, special_tokens=("!",))
    added = (AddedToken("!", alphabet.index(b"!")),)
    sick = Tokenizer(Model(recipe, alphabet, added_tokens=added))
    report = health(sick)
    assert tokens(report, "special-from-text") == ["!"]
    assert report.verdict == "error"
    healthy = Tokenizer(
        Model(
            replace(BYTES, special_tokens=("<|end|>",)),
            [*alphabet, b"<|end|>"],
            added_tokens=(AddedToken("<|end|>", 256),),
        )
    )
    assert finding(health(healthy), "special-from-text") is None


def test_the_unknown_token_stands_for_its_own_spelling_as_well() -> None:
    tokenizer = merging(["ab"], replace(CHARACTERS, fuse_unknown=True))
    assert tokenizer.encode_ids("[UNK]") == [tokenizer.unk_id]
    assert finding(health(tokenizer), "special-from-text") is None


def test_an_ordinary_token_that_looks_like_control() -> None:
    healthy = byte_level_model(["im", "im_"])
    assert finding(health(healthy), "control-from-text") is None
    recipe = replace(BYTES, pre_tokenizers=())
    steps = ["<|", "<|i", "<|im", "<|im|", "<|im|>"]
    sick = merging(steps, recipe, byte_level.IN_ID_ORDER)
    assert tokens(health(sick), "control-from-text") == ["<|im|>"]
    # Where no text can write it, it is no danger.
    safe = merging(steps, BYTES, byte_level.IN_ID_ORDER)
    assert finding(health(safe), "control-from-text") is None
    assert "<|im|>" in tokens(health(safe), "unreachable-by-pre-tokenizer")


def test_an_added_token_is_always_found() -> None:
    sick = byte_level_model(["ab"], added=[AddedToken("<tool_call>", 0, special=False)])
    found = finding(health(sick), "control-from-text")
    assert found is not None
    assert [(one.token, one.note) for one in found.examples] == [("<tool_call>", "an added token")]
    special = byte_level_model(["ab"], added=[AddedToken("<tool_call>", 0)])
    assert finding(health(special), "control-from-text") is None


def test_a_special_tokens_text_as_an_ordinary_one() -> None:
    sick = merging(["ab", "abc"], replace(CHARACTERS, special_tokens=("[UNK]", "abc")))
    found = finding(health(sick), "control-from-text")
    assert found is not None
    (example,) = found.examples
    assert (example.token, example.note) == ("abc", "the text of a special token")
    assert example.id != sick.special_ids["abc"]
    assert finding(health(sick), "special-from-text") is None
    assert finding(health(sick), "duplicates-alone") is None


def test_byte_tokens_that_text_spells() -> None:
    # Hugging Face's Unigram finds them in text; SentencePiece's does not.
    pieces = {f"<0x{byte:02X}>": -9.0 for byte in range(256)} | {"a": -1.0}
    found = finding(health(unigram(pieces, byte_fallback=True)), "control-from-text")
    assert found is not None and found.count == 256
    single = unigram(pieces, byte_fallback=True, precision="single")
    assert finding(health(single), "control-from-text") is None
    assert finding(health(model("llama2")), "control-from-text") is None


def test_names_without_an_id() -> None:
    healthy = byte_level_model(["ab"], added=[AddedToken("<|end|>", 0)])
    assert finding(health(healthy), "special-without-id") is None
    config = {
        "eos_token": "<|end|>",
        "bos_token": {"content": "<|start|>"},
        "additional_special_tokens": ["<|more|>", {"content": "<|end|>"}],
        "pad_token": None,
        "chat_template": "<|config|>{{ x }}",
        "model_max_length": 77,
    }
    template = "{{ bos_token }}<|im_start|>{% for m in messages %}<|end|>{% endfor %}"
    sick = replace(
        healthy.model,
        extra_files={"tokenizer_config.json": json.dumps(config), "chat_template.jinja": template},
    )
    found = finding(health(Tokenizer(sick)), "special-without-id")
    assert found is not None
    files = {one.token: one.note for one in found.examples}
    assert files == {
        "<|im_start|>": "chat_template.jinja",
        "<|start|>": "tokenizer_config.json",
        "<|more|>": "tokenizer_config.json",
        "<|config|>": "tokenizer_config.json",
    }
    assert found.of == 5


@pytest.mark.parametrize("text", ["", "[]", "{", '{"extra_special_tokens": 7, "a_token": 1}'])
def test_damaged_extra_files_name_nothing(text: str) -> None:
    model_ = replace(byte_level_model(["ab"]).model, extra_files={"tokenizer_config.json": text})
    assert finding(health(Tokenizer(model_)), "special-without-id") is None


def test_no_unknown_token() -> None:
    assert finding(health(merging(["ab"])), "no-unknown-token") is None
    sick = merging(["ab"], replace(CHARACTERS, unk_token=None, special_tokens=()))
    report = health(sick, "abx")
    assert report.verdict == "error"
    assert finding(report, "no-unknown-token") is not None
    unknown = finding(report, "unknown-in-text")
    assert unknown is not None and (unknown.count, unknown.of) == (1, 2)
    assert finding(health(byte_level_model(["ab"])), "no-unknown-token") is None
    fallback = {"byte_fallback": True, "unk_token": None, "special_tokens": ()}
    assert finding(health(unigram({"a": -1.0}, **fallback)), "no-unknown-token") is None
    del fallback["byte_fallback"]
    assert finding(health(unigram({"a": -1.0}, **fallback)), "no-unknown-token") is not None


def test_unknown_tokens_of_a_text() -> None:
    tokenizer = merging(["ab"])
    assert finding(health(tokenizer, "abba", "b"), "unknown-in-text") is None
    unknown = finding(health(tokenizer, "abxa", "y"), "unknown-in-text")
    assert unknown is not None and (unknown.count, unknown.of) == (2, 4)
    assert unknown.severity == "warning"
    assert [(one.id, one.token) for one in unknown.examples] == [(None, "x"), (None, "y")]
    many = finding(health(tokenizer, "axbyb\nya\nbx\nz\u00e9", limit=5), "unknown-in-text")
    assert many is not None
    assert [one.token for one in many.examples] == ["x", "y", "\n", "z", "\u00e9"]
