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

from tokctl import Tokenizer, formats
from tokctl.formats.huggingface.components import native_pattern
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
