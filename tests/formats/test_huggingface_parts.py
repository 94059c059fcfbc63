"""Each of Hugging Face's components: what it is read as, and what is written for it."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
import tokenizers as hf
from tokenizers import Regex, normalizers, pre_tokenizers, processors

from tests.errors import raises_code
from tests.formats.models import filled
from tests.formats.theirs import RULES, back, read, tokenizer
from tokctl import TokctlError, Tokenizer, _native, formats
from tokctl.formats.huggingface.components import (
    BYTE_LEVEL,
    read_pre_tokenizers,
    write_pre_tokenizers,
)
from tokctl.formats.huggingface.document import why_not_loadable
from tokctl.model import Recipe
from tokctl.model.parts import (
    NORMALIZERS,
    POST_PROCESSORS,
    PRE_TOKENIZERS,
    native_parts,
)
from tokctl.model.patterns import DEEPSEEK_V3, KNOWN_PATTERNS, PATTERNS, digit_groups
from tokctl.model.presets import BPE_CHARACTERS, WORD

THEIR_NORMALIZERS = {
    "nfc": normalizers.NFC(),
    "nfd": normalizers.NFD(),
    "nfkc": normalizers.NFKC(),
    "nfkd": normalizers.NFKD(),
    "lowercase": normalizers.Lowercase(),
    "strip-accents": normalizers.StripAccents(),
    "nmt": normalizers.Nmt(),
    "bert": normalizers.BertNormalizer(),
    '{"kind": "bert", "strip_accents": false, "lowercase": false}': normalizers.BertNormalizer(
        lowercase=False
    ),
    '{"kind": "strip", "right": false}': normalizers.Strip(right=False),
    "prepend:▁": normalizers.Prepend("▁"),
    "replace:a=>b": normalizers.Replace("a", "b"),
    '{"kind": "replace", "pattern": "[a-c]+", "content": "x", "regex": true}': normalizers.Replace(
        Regex("[a-c]+"), "x"
    ),
    "collapse-spaces": normalizers.Replace(Regex(" {2,}"), " "),
    "delete-newlines": normalizers.Replace(Regex(r"[\r\n]"), ""),
    "strip-spaces": normalizers.Replace(Regex(r"\A +| +\z"), ""),
}


@pytest.mark.parametrize("text", THEIR_NORMALIZERS)
def test_normalizers(text: str) -> None:
    made = tokenizer()
    made.normalizer = normalizers.Sequence([THEIR_NORMALIZERS[text], normalizers.Sequence([])])
    model = read(made)
    assert model.recipe.normalizers == (NORMALIZERS.parse(text),)
    made.normalizer = THEIR_NORMALIZERS[text]
    expected = json.loads(made.to_str())["normalizer"]
    if expected["type"] == "BertNormalizer":
        expected["strip_accents"] = expected["lowercase"]  # null there: as lowercase
    assert back(model)["normalizer"] == expected


def test_rules_go_by_graphemes_there() -> None:
    document = json.loads(tokenizer().to_str())
    document["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": RULES}
    model = formats.parse(json.dumps(document).encode(), "x")
    part = NORMALIZERS.part("precompiled", rules=RULES, graphemes=True)
    assert model.recipe.normalizers == (part,)
    assert json.loads(formats.serialize(model))["normalizer"] == document["normalizer"]
    ours = replace(model.recipe, normalizers=("nmt_nfkc_cf",))
    assert "SentencePiece's rules (nmt_nfkc_cf)" in str(why_not_loadable(ours))


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 17])
@pytest.mark.parametrize("kind", ["nmt_nfkc", "sp_nfkc"])
def test_sentencepieces_rules_by_nfkc(kind: str, step: int) -> None:
    """SentencePiece's rules as they are written for Hugging Face, on every code point: they
    differ only where its Unicode tables (of 2016) are older, and on text composed in part."""
    recipe = replace(BPE_CHARACTERS, normalizers=(kind,))
    theirs = hf.Tokenizer.from_str(formats.serialize(filled(recipe)).decode()).normalizer
    assert theirs is not None

    def ours(text: str) -> str:
        return _native.normalize(native_parts(recipe.normalizers), text.encode()).decode()

    characters = [chr(c) for c in range(1, 0x110000, step) if not 0xD800 <= c < 0xE000]
    different = {c for c in characters if ours(c) != theirs.normalize_str(c)} - {"\ufdd0"}
    assert {c for c in different if c < "\u32ff"} == set()
    newer = {c for c in different if unicodedata.category(c) != "Cn"}
    assert all(c == "\u32ff" or c > "\ua7f0" for c in newer)
    assert len(different) < 200
    for text in ("e\u0302\u0300", "\u1ec1", "\ufb01\u200d x", "\uff21\uff5e\t\u2581"):
        assert ours(text) == theirs.normalize_str(text)
    assert ours("\xea\u0300") == "\xea\u0300"
    assert theirs.normalize_str("\xea\u0300") == "\u1ec1"


THEIR_PRE_TOKENIZERS = {
    "bert": pre_tokenizers.BertPreTokenizer(),
    "whitespace-punctuation": pre_tokenizers.Whitespace(),
    "whitespace": pre_tokenizers.WhitespaceSplit(),
    "delimiter:-": pre_tokenizers.CharDelimiterSplit("-"),
    "digits": pre_tokenizers.Digits(),
    "digits-individual": pre_tokenizers.Digits(individual_digits=True),
    "digit-groups:3": pre_tokenizers.Split(Regex(digit_groups(3)), "isolated"),
    "digit-cuts:3": pre_tokenizers.Split(Regex(r"(?=(\d{3})+(?!\d))"), "isolated"),
    "fixed:7": pre_tokenizers.FixedLength(7),
    "characters": pre_tokenizers.FixedLength(1),
    "metaspace": pre_tokenizers.Metaspace(),
    '{"kind": "metaspace", "prepend": "first", "replacement": "_", "split": false}': (
        pre_tokenizers.Metaspace("_", prepend_scheme="first", split=False)
    ),
    "punctuation:contiguous": pre_tokenizers.Punctuation("contiguous"),
    "scripts": pre_tokenizers.UnicodeScripts(),
    "split:-=>merged-with-next": pre_tokenizers.Split("-", "merged_with_next"),
    "split:-=>merged-with-previous": pre_tokenizers.Split("-", "merged_with_previous"),
    r"regex:\p{L}+": pre_tokenizers.Split(Regex(r"\p{L}+"), "isolated"),
    r'{"kind": "split", "pattern": "\\p{L}+", "regex": true, "invert": true, '
    r'"behaviour": "removed"}': pre_tokenizers.Split(Regex(r"\p{L}+"), "removed", invert=True),
    "gpt2-words": pre_tokenizers.Split(Regex(PATTERNS["gpt2-words"]), "removed", invert=True),
}
#: Written as a pattern, because theirs have the punctuation of Unicode 8.
AS_PATTERNS = {"bert", "punctuation:contiguous"}


@pytest.mark.parametrize("text", THEIR_PRE_TOKENIZERS)
def test_pre_tokenizers(text: str) -> None:
    made = tokenizer()
    made.pre_tokenizer = THEIR_PRE_TOKENIZERS[text]
    model = read(made)
    assert model.recipe.pre_tokenizers == (PRE_TOKENIZERS.parse(text),)
    written = back(model)["pre_tokenizer"]
    if text in AS_PATTERNS:
        assert written["type"] == "Split"
    else:
        assert written == json.loads(made.to_str())["pre_tokenizer"]
    assert formats.parse(formats.serialize(model), "x") == model
    # What we write is read as the same part when nobody says what it was.
    assert read_pre_tokenizers(written) == list(model.recipe.pre_tokenizers)


@pytest.mark.parametrize("kind", [*PRE_TOKENIZERS.kinds])
def test_every_kind_is_written_or_refused(kind: str) -> None:
    options = {"delimiter": {"text": "-"}, "split": {"pattern": "-"}}.get(kind, {})
    recipe = replace(BPE_CHARACTERS, pre_tokenizers=(PRE_TOKENIZERS.part(kind, **options),))
    refused = {"graphemes", "penn-treebank", "prefix-space"}
    assert (why_not_loadable(recipe) is not None) == (kind in refused)
    if kind not in refused:
        written = write_pre_tokenizers(recipe.pre_tokenizers, is_byte_level=False)
        assert read_pre_tokenizers(written) == list(recipe.pre_tokenizers)


@pytest.mark.parametrize("pattern", sorted(KNOWN_PATTERNS.keys() - {PATTERNS["cl100k"]}))
def test_known_patterns_are_native(pattern: str) -> None:
    data = {
        "type": "Sequence",
        "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": pattern},
                "behavior": "Isolated",
                "invert": False,
            },
            {
                "type": "ByteLevel",
                "add_prefix_space": False,
                "trim_offsets": True,
                "use_regex": False,
            },
        ],
    }
    assert read_pre_tokenizers(data) == [PRE_TOKENIZERS.part(KNOWN_PATTERNS[pattern]), BYTE_LEVEL]
    data["pretokenizers"][0] |= {"behavior": "Removed", "invert": True}
    assert read_pre_tokenizers(data) == [PRE_TOKENIZERS.part(KNOWN_PATTERNS[pattern]), BYTE_LEVEL]


def test_the_patterns_of_deepseek_are_one_scanner() -> None:
    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in DEEPSEEK_V3]
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made = tokenizer()
    made.pre_tokenizer = pre_tokenizers.Sequence([*splits, last])
    data = json.loads(made.to_str())["pre_tokenizer"]
    assert read_pre_tokenizers(data) == [PRE_TOKENIZERS.part("deepseek-v3"), BYTE_LEVEL]


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({"add_prefix_space": False}, ["gpt2"]),
        ({"add_prefix_space": True}, ["prefix-space", "gpt2"]),
        ({"add_prefix_space": True, "use_regex": False}, ["prefix-space"]),
        ({"add_prefix_space": False, "use_regex": False}, []),
    ],
)
def test_byte_level(options: dict[str, bool], kinds: list[str]) -> None:
    made = tokenizer()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(**options)
    data = json.loads(made.to_str())["pre_tokenizer"]
    parts = read_pre_tokenizers(data)
    assert [part.kind for part in parts] == [*kinds, "byte-level"]
    assert write_pre_tokenizers(tuple(parts), is_byte_level=False) == data
    assert write_pre_tokenizers(tuple(parts[:-1]), is_byte_level=True) == data


def test_older_forms() -> None:
    legacy = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "str_rep": "▁"}
    assert read_pre_tokenizers(legacy) == list(PRE_TOKENIZERS.steps("metaspace"))
    legacy["add_prefix_space"] = False
    assert read_pre_tokenizers(legacy) == list(PRE_TOKENIZERS.steps("metaspace:never"))
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    assert read_pre_tokenizers(byte_level) == [*PRE_TOKENIZERS.steps("gpt2"), BYTE_LEVEL]


CLS, SEP = ("[CLS]", 1), ("[SEP]", 2)
BERT = "template:[CLS] $A [SEP]=>[CLS] $A [SEP] $B:1 [SEP]:1"
THEIR_PROCESSORS = {
    "bert": (processors.BertProcessing(SEP, CLS), [BERT]),
    "roberta": (
        processors.RobertaProcessing(SEP, CLS),
        ["trim-offsets", "template:[CLS] $A [SEP]=>[CLS] $A [SEP] [SEP] $B [SEP]"],
    ),
    "roberta, offsets kept": (
        processors.RobertaProcessing(SEP, CLS, trim_offsets=False),
        ["template:[CLS] $A [SEP]=>[CLS] $A [SEP] [SEP] $B [SEP]"],
    ),
    "byte level": (
        processors.ByteLevel(add_prefix_space=False),
        ['{"kind": "trim-offsets", "prefix_space": false}'],
    ),
    "byte level, offsets kept": (processors.ByteLevel(trim_offsets=False), []),
    "template": (
        processors.TemplateProcessing(
            single="[CLS] $0 [SEP]:3",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[CLS, SEP],
        ),
        ["template:[CLS] $A [SEP]:3=>[CLS] $A [SEP] $B:1 [SEP]:1"],
    ),
    "second text first": (
        processors.TemplateProcessing(
            single="[CLS] $A", pair="[CLS] $B:1 [SEP]:1 $A", special_tokens=[CLS, SEP]
        ),
        ["template:[CLS] $A=>[CLS] $B:1 [SEP]:1 $A"],
    ),
    "sequence": (
        processors.Sequence([processors.ByteLevel(), processors.BertProcessing(SEP, CLS)]),
        ["trim-offsets", BERT],
    ),
}


@pytest.mark.parametrize("name", THEIR_PROCESSORS)
def test_post_processors(name: str) -> None:
    processor, expected = THEIR_PROCESSORS[name]
    made = tokenizer()
    made.post_processor = processor
    model = read(made)
    assert model.recipe.post_processors == POST_PROCESSORS.steps(expected)
    ours = hf.Tokenizer.from_str(formats.serialize(model).decode())
    for texts in (("ab",), ("a", "bb")):
        found, wanted = ours.encode(*texts), made.encode(*texts)
        assert (found.ids, found.type_ids) == (wanted.ids, wanted.type_ids)
    assert formats.parse(formats.serialize(model), "x") == model


def test_a_template_names_tokens_of_the_vocabulary_only() -> None:
    made = tokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 1), CLS)
    with raises_code("damaged-model", r"post-processor gives '\[SEP\]' the id 1"):
        read(made)


@pytest.mark.parametrize(
    ("place", "component", "named"),
    [
        ("normalizer", {"type": "Shiny"}, "normalizer 'Shiny'"),
        ("pre_tokenizer", {"type": "Shiny"}, "pre-tokenizer 'Shiny'"),
        ("post_processor", {"type": "Shiny"}, "post-processor 'Shiny'"),
        ("decoder", {"type": "Shiny"}, "decoder 'Shiny'"),
        ("model", {"type": "Shiny"}, "model 'Shiny'"),
    ],
)
def test_unknown_types_are_named(place: str, component: dict[str, Any], named: str) -> None:
    document = json.loads(tokenizer().to_str())
    document[place] = component
    with pytest.raises(TokctlError, match=named) as caught:
        formats.parse(json.dumps(document).encode(), "theirs.json")
    assert caught.value.message.startswith("tokctl can't use theirs.json: ")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"a\x{61C}[\x{1}-\x{1F600}\\x]", r"a\U0000061C[\U00000001-😀]"),
        (r"^a|b$", r"(?:\A|(?<=\n)(?!\Z))a|b(?m:$)"),
        (r"[^$]\^\$", r"[^$]\^\$"),
        (r"\s+\z", r"\s+\Z"),
        (r"x(?i:'s|'t)?|\d+", r"x(?i:'s|'t)?|\d+"),
        # Where a pattern begins, `regex` would look for every first character without case.
        (r"(?i:x)|'(?i:t)|\P{L}", r"[Xx]|'(?i:t)|\P{L}"),
        (r"[[:alpha:]]+", r"[[:alpha:]]+"),
        (r"\h+", r"[0-9A-Fa-f]+"),
        (r"[a[b]]", r"[ab]"),
        (r"[a-z&&[aeiou]]", r"(?V1)[[a-z]&&[aeiou]]"),
        (r"a{2}+", r"(?:a{2})+"),
        (r"a{3,1}", r"a{1,3}+"),
        (r"(?m:.)", r"(?s:.)"),
        (r"(?<x>a)\k<x>(b)", r"(a)(?:\1)b"),
        (r"[\D\d]", r"[\D\d]"),
        (r"[^\D\d]", None),
        (r"(", None),
        (r"[\w", None),
        (r"[\w\]", None),
    ],
)
def test_their_regular_expressions(pattern: str, expected: str | None) -> None:
    from tokctl.formats.huggingface.components import native_pattern

    if expected is None:
        with pytest.raises(TokctlError):
            native_pattern(pattern)
    else:
        assert native_pattern(pattern) == expected


@pytest.mark.parametrize("pattern", [r"\w+", r"[^\W\d]", r"[[:punct:]]", r"\b.", r"^a|b$"])
def test_what_was_translated_is_written_as_it_was(pattern: str) -> None:
    from tokctl.formats.huggingface.components import native_pattern, portable_pattern

    ours = native_pattern(pattern)
    assert ours != pattern and native_pattern(portable_pattern(ours)) == ours


@pytest.mark.parametrize("pattern", [r"\b", r"\B", r"\b\w", r"^\w+", r"\w+$", r"\w+\b|\W"])
@pytest.mark.parametrize(
    "text",
    ["a²b ½ c\u200dd", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0301x", "x ²\n½y", "²"],
)
def test_borders_of_words_are_oniguruma_s(pattern: str, text: str) -> None:
    made = tokenizer()
    made.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "isolated")
    ours = Tokenizer(read(made))
    normalized, pieces = ours.pre_tokens(text)
    assert [normalized[a:b].decode() for a, b in pieces] == [
        piece for piece, _ in made.pre_tokenizer.pre_tokenize_str(text)
    ]


def test_tokens_that_their_model_would_make_of_text() -> None:
    assert why_not_loadable(WORD) is None
    reason = why_not_loadable(replace(WORD, special_tokens=("[UNK]", "MASK")))
    assert reason == "its WordLevel would find the special token MASK in ordinary text"
    one: Recipe = replace(BPE_CHARACTERS, special_tokens=("[UNK]", "☃"))
    assert why_not_loadable(one) == "its BPE would find the special token ☃ in ordinary text"
