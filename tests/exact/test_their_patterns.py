# ruff: noqa: RUF001
"""Regular expressions of a `tokenizer.json`, which Oniguruma reads there and `regex` here."""

from __future__ import annotations

import json
from functools import cache
from itertools import accumulate
from unicodedata import category

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

from tokctl import TokctlError, Tokenizer, formats
from tokctl.formats.huggingface.components import native_pattern, portable_pattern
from tokctl.model import patterns, regular_expressions
from tokctl.model.patterns import compile_pattern

#: What this Python's Unicode knows; the engines differ in how new theirs is. U+0295 has become a
#: letter without case since.
KNOWN = "".join(
    char
    for char in map(chr, range(0x110000))
    if category(char) not in ("Cn", "Cs") and char != "\u0295"
)
NAMES = [
    "alpha",
    "alnum",
    "punct",
    "word",
    "space",
    "digit",
    "upper",
    "lower",
    "blank",
    "cntrl",
    "graph",
    "print",
    "xdigit",
]
CLASSES = [
    *(r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"[\w]", r"[\W]", r"[^\w]", r"[^\W]", r"[^\w\s]"),
    *(r"[\w\s]", r"\p{Word}", r"\P{Word}", r"\p{^Word}", r"[\p{Word}]", r"[^\p{Word}]"),
    *(r"\p{Punct}", r"\p{Alnum}", r"\p{Alpha}", r"\p{Upper}", r"\p{Lower}", r"\p{Graph}"),
    *(r"\p{Print}", r"\p{XDigit}", r"\P{XDigit}", r"[\p{XDigit}]", r"[[:punct:]a]"),
    *(r"[^[:punct:]\s]", r"[[:^digit:]]", r"[[:^alnum:]]", r"[[:^upper:]]"),
    *(r"[\P{Word}a]", r"[\P{XDigit}]", "[[:^word:]]", "[[:^punct:]]", r"[^a\W]"),
    *(f"[[:{name}:]]" for name in NAMES),
    *(f"[^[:{name}:]]" for name in NAMES),
]


@pytest.mark.few(3)
@pytest.mark.parametrize("pattern", CLASSES)
def test_a_class_has_the_same_characters(pattern: str) -> None:
    without = hf.normalizers.Replace(hf.Regex(pattern), "").normalize_str(KNOWN)
    assert compile_pattern(f"regex:{native_pattern(pattern)}").sub("", KNOWN) == without


TEXTS = st.text("ab _-.,²½\u200c\u200d\u0301é٣日1\n", max_size=25)
PATTERNS = [
    *(r"\w+", r"\W+", r"\b", r"\B", r"\bw?", r"\w\b", r"[\w.]+", r"[^\w\s]+", r"\b\w"),
    *(r"[[:punct:]]", r"\w+|[^\w\s]+", r"(?=\W)"),
]


@cache
def split_by(pattern: str) -> tuple[hf.Tokenizer, Tokenizer]:
    splitting = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}
    document = {
        "version": "1.0",
        "pre_tokenizer": {**splitting, "invert": False},
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"},
    }
    text = json.dumps(document)
    return hf.Tokenizer.from_str(text), Tokenizer(formats.parse(text.encode(), "theirs.json"))


@pytest.mark.few(5)
@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXTS)
def test_a_split(pattern: str, text: str) -> None:
    there, here = split_by(pattern)
    assert here.encode(text).offsets == there.encode(text).offsets


#: What matches nothing, or may: in front of a match, behind it, in its place, at ends of lines.
EMPTY = [
    *(r"^", r"$", r"\A", r"\Z", r"\z", r"a*", r"a*?", r"|a", r"a|", r"a??b?", r"(?=a)", r"(?<=a)"),
    *(r"\b|\s", r"\s|\b", r"^a?", r"a?$", r"(?<=a)b*|(?=b)a*", r"\B|é", r"(?!b)", r"(?<!a)|aa"),
]


@cache
def replaced_by(pattern: str) -> tuple[hf.Tokenizer, hf.Tokenizer, Tokenizer, Tokenizer]:
    """The pattern in a normalizer and in a decoder, for characters."""
    replace = {"type": "Replace", "pattern": {"Regex": pattern}, "content": "_"}
    chars = ["[UNK]", *"ab _-.,²½\u200c\u200d\u0301é٣日1\n"]
    model = {
        "type": "BPE",
        "vocab": {char: id_ for id_, char in enumerate(chars)},
        "merges": [],
        "unk_token": "[UNK]",
    }
    decoder = {"type": "Sequence", "decoders": [{"type": "Fuse"}, replace]}
    texts = [
        json.dumps({"version": "1.0", "model": model, **part})
        for part in ({"normalizer": replace}, {"decoder": decoder})
    ]
    theirs = map(hf.Tokenizer.from_str, texts)
    ours = (Tokenizer(formats.parse(text.encode(), "theirs.json")) for text in texts)
    return (*theirs, *ours)


@pytest.mark.few(4)
@pytest.mark.parametrize("pattern", [*EMPTY, *PATTERNS])
@given(text=TEXTS)
def test_replaced_and_split_where_matches_are_empty(pattern: str, text: str) -> None:
    there, there_decoding, here, here_decoding = replaced_by(pattern)
    assert here.encode_ids(text) == there.encode(text).ids
    ids = there_decoding.encode(text).ids
    assert here_decoding.decode(ids) == there_decoding.decode(ids, skip_special_tokens=False)
    splits, pieces = split_by(pattern)
    wanted = [place for _, place in splits.pre_tokenizer.pre_tokenize_str(text)]
    found = pieces.pre_tokens(text)[1]
    starts = [*accumulate(map(len, map(str.encode, text)), initial=0)]
    assert found == [(starts[a], starts[b]) for a, b in wanted if a < b]


#: Patterns of published files and of reports, a text, and what Hugging Face splits it into.
KIMI = (
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CL100K = patterns.PATTERNS["cl100k"]
BLOOM = " ?[^(\\s|[.,!?…。，、।۔،])]+"
SPLITS = [
    (BLOOM, "Hello (world) [x]. a|b, c", "Hello\\ (\\world\\)\\ [x]\\.\\ a\\|\\b\\,\\ c"),
    (KIMI, "HelloWorld中文ABCdef 漢字a 1234", "Hello\\World\\中文\\ABCdef\\ \\漢字\\a\\ \\123\\4"),
    ("[a[bc]]+|.", "abcd", "abc\\d"),
    ("[a-z&&[^aeiou]]+|.", "hello world", "h\\e\\ll\\o\\ \\w\\o\\rld"),
    (r"\p{N}{1,3}+|\D", "123456 7", "123456\\ \\7"),
    (r"\h+|.", "deadbeefxyz", "deadbeef\\x\\y\\z"),
    (r"(?i)\p{Lu}+|.", "abCD", "a\\b\\CD"),
    (r"(?i)\p{Ll}+|.", "abCD", "ab\\C\\D"),
    (r"(?i)[\p{Lu}]+|.", "abCD1", "abCD\\1"),
    (r"(?i)[a-c]+|.", "aBcD", "aBc\\D"),
    (r"(?i)straße|.", "STRASSEs", "STRASSE\\s"),
    (r"(?i)[ß]|.", "SSß", "SS\\ß"),
    (r"(?i)i+|.", "iIİı", "iI\\İ\\ı"),
    (r"\R|.", "a\r\nb\u2028", "a\\\r\n\\b\\\u2028"),
    (r"(?m).+", "a\nb", "a\nb"),
    (r"(?<q>['\"]).*?\k<q>|.", "'a'\"", "'a'\\\""),
    (r"a\Kb|.", "ab", "a\\b"),
    (r"a{3,1}|.", "aaaa", "aaa\\a"),
    (r"(?x) a b # two letters", "abab", "ab\\ab"),
    ("(?x)a\xa0b|.", "a\xa0bab", "a\xa0b\\a\\b"),
    (r"(?i)x(?:aa)?y|.", "XaAYx", "XaAY\\x"),
    # tiktoken's cl100k_base as it stands: its possessive interval is none here.
    (CL100K, "1234567 a", "1234567\\ a"),
]


@pytest.mark.parametrize(("pattern", "text", "pieces"), SPLITS)
def test_what_hugging_face_splits(pattern: str, text: str, pieces: str) -> None:
    there, here = split_by(pattern)
    wanted = pieces.split("\\")
    assert [piece for piece, _ in there.pre_tokenizer.pre_tokenize_str(text)] == wanted
    data = text.encode()
    assert [data[a:b].decode() for a, b in here.pre_tokens(text)[1]] == wanted


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"\Gab", r"'\\Gab' at character 1: the start of a search"),
        (r"a(?~b)", "at character 2: an absent operator"),
        (r"(?<n>a|b\g<n>)", "a call of a group"),
        (r"(?i)(?<=ss)a", "case folding to several characters in a look-behind"),
        (r"(?<=\bx)a", "it stands in a look-behind"),
        (r"(?i)(a)\1", "a back reference without case"),
        (r"(?W)\w", "the flag 'W' is not known"),
        (r"\B.+P", "at the start of a line only"),
        (r"[^[\p{^Number}\p{N}]]", "a combined class that lists all characters"),
        (r"[^[^\D]&&4-Ǆ]", "a negated intersection with a negated class"),
        (r"(?:a?|b){2}c", "a counted repetition of what can match nothing"),
        (r"[^[^\d\D]\d]", "a combined class that lists all characters"),
    ],
)
def test_what_is_refused_says_why(pattern: str, why: str) -> None:
    hf.Regex(pattern)
    with pytest.raises(TokctlError) as caught:
        native_pattern(pattern)
    assert why in caught.value.message


def test_all_foldings_are_known() -> None:
    found = regular_expressions.foldings()
    here = {char: char.casefold() for char in map(chr, range(0x110000)) if char.casefold() != char}
    late = regular_expressions.characters_in(regular_expressions._FOLDED_SINCE, "".join(here))
    assert here.keys() - late <= found.keys()
    assert all(found[char] == folded for char, folded in here.items() if char not in late)


def test_a_scanner_is_found_by_what_a_pattern_means() -> None:
    spelled = (
        r"(?:'[sS\u017f]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\x0d\n\p{N}\p{L}]?"
    )
    spelled += r"(?:\p{L})+|[\p{N}]{1,3}|[ ]?[^\p{N}\s\p{L}]+[\n\r]*|\s*[\r\n]+|\s+(?!\S)|\s{1,}"
    _, here = split_by(spelled)
    assert [part.kind for part in here.recipe.pre_tokenizers] == ["llama3"]


@pytest.mark.parametrize("pattern", [one for one, _, _ in SPLITS if "\\K" not in one])
def test_a_translation_is_translated_back(pattern: str) -> None:
    ours = native_pattern(pattern)
    assert native_pattern(portable_pattern(ours)) == ours or "{3,1}" in pattern
