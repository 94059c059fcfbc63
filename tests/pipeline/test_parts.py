"""Parts: made and checked, written as text and as JSON, read back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.errors import raises_code
from tokctl import TokctlError
from tokctl.model import Model, Recipe
from tokctl.model.parts import (
    DECODERS,
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    AddedToken,
    Part,
    PartFamily,
)
from tokctl.model.presets import BPE, BPE_CHARACTERS, DEFAULTS, PRESETS, UNIGRAM, WORDPIECE

FAMILIES = [NORMALIZERS, PRE_TOKENIZERS, POST_PROCESSORS, DECODERS]
RECIPES = [*DEFAULTS.values(), *(recipe for _, recipe in PRESETS.values())]
TEXTS = {
    str: ["x", "a,b", "a=>b", "{", "é:"],
    bool: [True, False],
    int: [1, 7],
    tuple: [("a",), ("x y", "é")],
}


def variants(family: PartFamily) -> list[Part]:
    """Every kind with each of some values for each of its options."""
    found = []
    for name, kind in family.kinds.items():
        needed = {n: "x" for n, option in kind.options.items() if option.default is None}
        found.append(family.part(name, **needed))
        for option, value in kind.options.items():
            for given in value.choices or TEXTS[value.type]:
                if not value.one_character or len(given) == 1:
                    found.append(family.part(name, **{**needed, option: given}))
    return found


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_text_and_json_forms_come_back(family: PartFamily) -> None:
    for part in variants(family):
        assert family.parse(str(part)) == part
        assert family.from_dict(part.to_dict()) == part
        assert family.parse(json.dumps(part.to_dict())) == part
        assert family.steps([str(part), part, part.to_dict()]) == (part,) * 3


@pytest.mark.parametrize(
    ("family", "text", "parts"),
    [
        (NORMALIZERS, "nfkc, lowercase", ["nfkc", "lowercase"]),
        (NORMALIZERS, "nfc,replace:a,b=>c", ["nfc", "replace:a,b=>c"]),
        (PRE_TOKENIZERS, "digits,gpt2", ["digits", "gpt2"]),
        (PRE_TOKENIZERS, "fixed:3,punctuation:removed", ["fixed:3", "punctuation:removed"]),
        (PRE_TOKENIZERS, r"digits,regex:\w+,\W+", ["digits", r"regex:\w+,\W+"]),
        (PRE_TOKENIZERS, "", []),
    ],
)
def test_lists(family: PartFamily, text: str, parts: list[str]) -> None:
    assert [str(part) for part in family.parse_list(text)] == parts


@pytest.mark.parametrize(
    ("family", "text", "message", "hint"),
    [
        (NORMALIZERS, "lowrcase", "no normalizer is called 'lowrcase'", "did you mean lowercase?"),
        (NORMALIZERS, "nfc:x", "takes no value", None),
        (NORMALIZERS, "replace:", "can't be empty", None),
        (NORMALIZERS, "replace:a=>b=>c", "too many '=>'", "PATTERN=>CONTENT"),
        (NORMALIZERS, "prepend", "needs the option 'text'", "write prepend:TEXT"),
        (NORMALIZERS, '{"kind": "nfc"', "is not valid JSON", None),
        (NORMALIZERS, '{"kind": "nfc", "x": 1}', "has no option 'x'", "options of nfc: none"),
        (PRE_TOKENIZERS, "punctuation:gone", "invalid value 'gone'", "removed, isolated"),
        (PRE_TOKENIZERS, "fixed:0", "invalid value 0", "at least 1"),
        (PRE_TOKENIZERS, "fixed:many", "not a whole number", None),
        (PRE_TOKENIZERS, "regex:", "needs a value", "write regex:VALUE"),
        (PRE_TOKENIZERS, "digits-individual:1", "takes no value", None),
        (DECODERS, '{"kind": "strip", "start": true}', "not a whole number", None),
        (DECODERS, "[]", "no decoder is called '[]'", "choose one of"),
    ],
)
def test_what_is_refused(family: PartFamily, text: str, message: str, hint: str | None) -> None:
    with pytest.raises(TokctlError) as caught:
        family.parse(text)
    assert message in caught.value.message
    assert hint is None or hint in str(caught.value.hint)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_recipes_come_back(recipe: Recipe) -> None:
    assert Recipe.from_dict(json.loads(json.dumps(recipe.to_dict()))) == recipe


def test_a_recipe_of_format_1_is_read() -> None:
    data = BPE_CHARACTERS.to_dict()
    for name in ("byte_fallback", "fuse_unknown", "whole_words", "precision"):
        del data[name]
    for name in ("post_processors", "decoders", "pre_tokenizers"):
        del data[name]
    old = {**data, "pre_tokenizer": "regex:a+", "normalizers": ["delete-newlines"]}
    assert Recipe.from_dict(old) == replace(
        BPE_CHARACTERS, pre_tokenizers="regex:a+", normalizers="delete-newlines"
    )


@pytest.mark.parametrize(
    ("base", "changes", "message"),
    [
        (BPE, {"decoders": "wordpiece"}, "the decoder wordpiece does not fit"),
        (BPE, {"decoders": "byte-fallback"}, "the decoder byte-fallback does not fit"),
        (UNIGRAM, {"decoders": ["metaspace", "byte-fallback"]}, "byte-fallback does not fit"),
        (BPE, {"pre_tokenizers": "bert"}, "does not keep the text as it is"),
        (BPE, {"pre_tokenizers": "metaspace"}, "does not keep the text as it is"),
        (BPE, {"pre_tokenizers": "scripts"}, "does not keep the text as it is"),
        (BPE, {"byte_fallback": True}, "can fall back to bytes"),
        (BPE, {"segmentation": "viterbi"}, "bpe can't be segmented by viterbi"),
        (BPE, {"segmentation": "best"}, "no segmentation is called 'best'"),
        (UNIGRAM, {"marker": ("start", "_")}, "unigram has no word marker"),
        (UNIGRAM, {"units": "bytes", "alphabet": "bytes"}, "unigram reads characters"),
        (
            WORDPIECE,
            {"post_processors": "template:[CLS] $A"},
            "names [CLS], which is not a special",
        ),
        (WORDPIECE, {"post_processors": "template:[UNK]"}, "should hold $A, once"),
        (WORDPIECE, {"post_processors": "template:$A $A"}, "should hold $A, once"),
        (WORDPIECE, {"post_processors": "template:$C"}, "names $C"),
        (WORDPIECE, {"pre_tokenizers": "regex:("}, "does not compile"),
        (WORDPIECE, {"normalizers": {"kind": "replace", "pattern": "(", "regex": True}}, "compile"),
        (WORDPIECE, {"normalizers": "gpt2"}, "no normalizer is called 'gpt2'"),
    ],
)
def test_recipes_that_can_not_be_built_are_refused_when_they_are_made(
    base: Recipe, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(TokctlError) as caught:
        replace(base, **changes)  # type: ignore[arg-type]
    assert message in caught.value.message
    assert caught.value.hint or "compile" in message


def test_added_tokens_must_be_in_the_vocabulary() -> None:
    recipe = replace(BPE_CHARACTERS, special_tokens=("[UNK]",))
    with raises_code("damaged-model"):
        Model(recipe, [b"[UNK]", b"a"], added_tokens=(AddedToken("b", 7),))
    with raises_code("damaged-model", r"'\[UNK\]' is not in the vocabulary"):
        Model(recipe, [b"x", b"a"])
    with raises_code("bad-value"):
        Model(recipe, [b"[UNK]"], added_tokens=(AddedToken("", 0),))
    with raises_code("bad-value", "can't have the id -1"):
        Model(recipe, [b"[UNK]"], added_tokens=(AddedToken("x", -1),))
    twice = (AddedToken("[UNK]", 0), AddedToken("[UNK]", 1))
    with raises_code("conflict"):
        Model(recipe, [b"[UNK]", b"[UNK]"], added_tokens=twice)
    twice = (AddedToken("[UNK]", 0), AddedToken("a", 0, special=False))
    with raises_code("conflict", "the id 0 has two"):
        Model(recipe, [b"[UNK]", b"a"], added_tokens=twice)
    with raises_code("bad-value", "not UTF-8"):
        Model(recipe, [b"[UNK]"], added_tokens=(AddedToken("\ud800", 0),))
