"""The native scanners against the `regex` package, on every kind of text."""

from __future__ import annotations

import unicodedata
from importlib.metadata import version

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.twins.pretokenize import PATTERNS, pretokenize
from tokctl import _native
from tokctl.pretokenizers import PATTERNS as OURS
from tokctl.pretokenizers import split

SCANNERS = (*(name for name in PATTERNS if name != "graphemes"), "none")
LOSSLESS = ("gpt2", "none", "cl100k", "llama3", "qwen2", "o200k", "deepseek-v3", "graphemes")

#: Characters on which the patterns turn: contractions, every kind of space, marks,
#: numbers that are no digits, symbols that BERT counts as punctuation, letters of every case,
#: the long s that folds to s and the Kelvin sign that folds to k, kana that are no letters.
TURNING = (
    "'sreveltmd  \n\r\t\x0b\x1c\x85\xa0\u2003\u200b\u3000aZé字ß1²½Ⅷ٣.,!?#$+<=>^`|~_-"
    "\u2014\u2026\u2019\u201c\u0301\u0e33\U0001f600\ufeff"
    "STLE\u017fk\u212a\u01c5\u02b0\u0903/\0\u2028\U0001d7d8\u30fb\u309b\u3040\u30fc\u4e00\u200d\u0378"
)

texts = st.one_of(st.text(), st.text(alphabet=TURNING, max_size=40))


def spans(name: str, data: bytes) -> list[bytes]:
    text = data.decode("utf-8", "surrogateescape")
    twin = pretokenize(name, text)
    return [text[a:b].encode("utf-8", "surrogateescape") for a, b in twin]


@pytest.mark.parametrize("name", SCANNERS)
@given(text=texts)
def test_scanner_equals_regex_on_text(name: str, text: str) -> None:
    data = text.encode()
    assert [data[a:b] for a, b in _native.pre_tokens(name, data)] == spans(name, data)


@pytest.mark.parametrize("name", SCANNERS)
@given(data=st.one_of(st.binary(), texts.map(lambda text: text.encode()[1:-1])))
def test_scanner_equals_regex_on_bytes(name: str, data: bytes) -> None:
    assert [data[a:b] for a, b in _native.pre_tokens(name, data)] == spans(name, data)


@given(text=texts)
def test_lossless_scanners_keep_every_byte(text: str) -> None:
    data = text.encode()
    for name in LOSSLESS:
        assert b"".join(data[a:b] for a, b in _native.pre_tokens(name, data)) == data


@given(data=st.one_of(st.binary(), texts.map(str.encode)))
def test_a_pattern_keeps_matches_and_gaps(data: bytes) -> None:
    for pattern in (r"\w+", r"\s*\d", r"(?<=a)b|é", r"$", "", r"[^\S\n]+"):
        if pattern:
            name = f"regex:{pattern}"
            assert [data[a:b] for a, b in split(name, data)] == spans(name, data)


def test_a_scanner_and_its_pattern_are_the_same_thing() -> None:
    assert set(OURS) == set(PATTERNS)
    text = TURNING * 3
    for name, pattern in OURS.items():
        found = [m.group() for m in regex.finditer(pattern, text)]
        assert found == [text[a:b] for a, b in pretokenize(name, text)]


def test_every_code_point_has_the_class_that_regex_gives_it() -> None:
    """Exactly, where the tables were read off this release of `regex`; else but for code
    points that Python's older database does not know either."""
    differing = []
    for start in range(0, 0x110000, 0x400):
        chars = [chr(c) for c in range(start, start + 0x400) if not 0xD800 <= c < 0xE000]
        # An ideographic space parts the neighbours.
        block = "\u3000".join(f"a{char}1{char}." for char in chars)
        if not same_pre_tokens(block):
            differing += [char for char in chars if not same_pre_tokens(f"a{char}1{char}.")]
    if version("regex") != _native.REGEX_RELEASE:
        differing = [char for char in differing if unicodedata.category(char) != "Cn"]
    assert differing == []


def same_pre_tokens(text: str) -> bool:
    data = text.encode()
    return all(
        [data[a:b] for a, b in _native.pre_tokens(name, data)] == spans(name, data)
        for name in ("bert", "gpt2", "whitespace-punctuation")
    )
