"""What the families promise about the core: it takes every part that they make, and a part
that counts as lossless keeps every byte."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokctl import TokctlError, Tokenizer, _native
from tokctl.model import Model, Recipe
from tokctl.model.parts import (
    DECODERS,
    NORMALIZERS,
    PRE_TOKENIZERS,
    Part,
    PartFamily,
    PartOption,
    is_lossless,
    native_parts,
)
from tokctl.model.presets import BPE

ODD_TEXTS = [
    *(
        "",
        "a",
        "ab",
        "🙂",
        "🙂🙂",
        "e\u0301",
        "\0",
        "a\0b",
        " ",
        "▁",
        " . ",
        "a=>b",
        "\n",
        "|",
        "$0",
    ),
    *(
        "(",
        "[",
        "a*",
        "(?i)",
        "(?=a)|",
        "a\\",
        "AAAA",
        "AAAAAA==",
        "BAAAAAAAAAAA",
        "\ud800",
        "x" * 5000,
    ),
]
ODD_NUMBERS = [-(2**63), -1, 0, 1, 2**31 - 1, 2**31, 2**63, 2**64]
ODD_LISTS = [(), ("a", "a b"), ["\0", "e\u0301", "x" * 1000], ("",), (1,), "ab"]
TEXT = "a b  ab . é 字 a=>b \0"


def odd(option: PartOption) -> list[Any]:
    if option.choices:
        return [*option.choices, ""]
    return {str: ODD_TEXTS, bool: [True, False], int: ODD_NUMBERS, tuple: ODD_LISTS}[option.type]


def attempts(family: PartFamily, kind: str) -> Iterator[dict[str, Any]]:
    options = family.kinds[kind].options
    for values in product(*map(odd, options.values())):
        yield dict(zip(options, values, strict=True))


def tokenizer(field: str, part: Part) -> Tokenizer:
    """A small model with this one part; TokctlError where a recipe refuses it."""
    more: dict[str, Any] = {"byte_fallback": part.kind == "byte-fallback", field: [part]}
    tokens = [b"[UNK]", *(b"<0x%02X>" % byte for byte in range(256)), b"a", b"b", b"ab", b" "]
    if part.kind == "byte-level" and field == "decoders":
        more |= {"units": "bytes", "alphabet": "bytes"}
        tokens = [b"[UNK]", *(bytes([byte]) for byte in range(256))]
    recipe = Recipe(name="x", algorithm="bpe", unk_token="[UNK]", special_tokens=("[UNK]",), **more)
    return Tokenizer(Model(recipe, tokens))


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("field", "family", "kind"),
    [
        (field, family, kind)
        for field, family in (
            ("normalizers", NORMALIZERS),
            ("pre_tokenizers", PRE_TOKENIZERS),
            ("decoders", DECODERS),
        )
        for kind in family.kinds
    ],
)
def test_the_core_takes_what_a_recipe_takes(field: str, family: PartFamily, kind: str) -> None:
    """Whatever the options: either the recipe says what is wrong, or all of it works."""
    taken = 0
    for options in attempts(family, kind):
        try:
            made = tokenizer(field, family.part(kind, **options))
        except TokctlError as error:
            assert error.message
            continue
        taken += 1
        if field != "decoders":
            made.encode(TEXT)
        made.decode_bytes([1, 257 % made.vocab_size, 2, 0])
        stream = made.decode_stream()
        stream.push([1, 2, 0])
        stream.finish()
    assert taken


@pytest.mark.parametrize(
    ("family", "text"),
    [
        (PRE_TOKENIZERS, '{"kind": "metaspace", "replacement": "%s"}'),
        (DECODERS, '{"kind": "metaspace", "replacement": "%s"}'),
        (DECODERS, '{"kind": "strip", "content": "%s"}'),
    ],
)
def test_one_character(family: PartFamily, text: str) -> None:
    assert family.parse(text % "🙂")
    for wrong in ("", "ab", "e\u0301"):
        with pytest.raises(TokctlError, match=f"invalid value '{wrong}'") as caught:
            family.parse(text % wrong)
        assert caught.value.hint == "give one character"


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("é", "are not base64: string argument should contain only ASCII"),
        ("A", "are not base64"),
        ("AA\nAA", "are not base64"),
        ("AAAA", "are damaged: the precompiled_charsmap is cut off"),
        ("/////w==", "are damaged: the precompiled_charsmap is cut off, or is none"),
        ("BAAAAAAAAAD/", "are damaged: the precompiled_charsmap holds text that is not UTF-8"),
    ],
)
def test_rules_that_are_none_are_refused_with_the_recipe(rules: str, message: str) -> None:
    part = NORMALIZERS.part("precompiled", rules=rules)
    with pytest.raises(TokctlError) as caught:
        Recipe(name="x", algorithm="char", normalizers=(part,))
    assert message in caught.value.message
    assert caught.value.hint


def lossless() -> list[Part]:
    """Every part that counts as lossless."""
    found = []
    for kind in PRE_TOKENIZERS.kinds:
        for options in attempts(PRE_TOKENIZERS, kind):
            try:
                part = PRE_TOKENIZERS.part(kind, **options)
                Recipe(**{**vars(BPE), "pre_tokenizers": (part,)})
            except TokctlError:
                continue
            if is_lossless(part):
                found.append(part)
    return found


#: What scanners stumble over: spaces at the ends, no UTF-8, code points without a script.
PIECES = [
    *(b"a", b"B", b" ", b"  ", b"\n", b"\r\n", b".", b"'s", b"12", b"\0", b"\xff", b"\xc3"),
    *(b"\xe2\x96", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a*", b"(", b"|"),
    *(text.encode() for text in "é字カ▁\u0301\u0378\u3000\u200d\ufeff\U0010ffff🙂"),
]
LOSSLESS = lossless()


def test_what_counts_as_lossless() -> None:
    kinds = {part.kind for part in LOSSLESS}
    assert kinds == {
        *("gpt2", "cl100k", "o200k", "llama3", "qwen2", "deepseek-v3"),
        *("digits", "digit-groups", "digit-cuts", "fixed", "characters", "graphemes"),
        *("punctuation", "split"),
    }
    assert all(dict(part.options).get("behaviour") != "removed" for part in LOSSLESS)


@given(data=st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=3))).map(b"".join))
def test_lossless_pre_tokenizers_keep_every_byte(data: bytes) -> None:
    for part in LOSSLESS:
        text, ranges, _ = _native.pre_tokenize(native_parts([part]), data)
        assert text == data, part
        assert b"".join(text[start:end] for start, end in ranges) == data, part
