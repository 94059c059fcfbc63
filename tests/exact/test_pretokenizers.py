"""The native scanners against the `regex` package, on every kind of text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from ast import literal_eval
from importlib.metadata import version

import pytest
import regex
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tests.twins.pretokenize import PATTERNS, pretokenize
from tokctl import _native
from tokctl.model.patterns import PATTERNS as OURS
from tokctl.model.patterns import split

#: What a `split` at these patterns isolates is found by a scanner as well: GPT-2's pattern without
#: contractions, and SuperBPE's.
UNNAMED = (
    r"regex: ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"regex:\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)",
)
SCANNERS = (*(name for name in PATTERNS if name != "graphemes"), "none", *UNNAMED)
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

#: Texts of several blocks of 64 bytes, on which most scanners work: the turns come to lie at
#: every place of a block, and runs reach from one over the next.
turns = st.one_of(
    st.text(alphabet=TURNING, min_size=1, max_size=4),
    st.sampled_from(["don't", " I'LL", "\n\n  ", "!\r\n/", " 12345", "aB\u0301C", "\u5b57NHK"]),
    st.builds(str.__mul__, st.sampled_from(TURNING), st.sampled_from([3, 64, 130])),
)
long_texts = st.builds(
    lambda offset, turns: "x" * offset + "".join(turns),
    st.integers(0, 63),
    st.lists(turns, min_size=20, max_size=80),
)

#: What `TOKCTL_SIMD` can ask for; the best where the processor has not got it.
LEVELS = ("portable", "avx2", "avx512")


def native_parts(name: str) -> str | list[dict[str, object]]:
    """What the native module calls a scanner."""
    pattern = name.removeprefix("regex:")
    if pattern == name:
        return name
    return [{"kind": "split", "pattern": pattern, "regex": True, "behaviour": "isolated"}]


def scanned(name: str, data: bytes) -> list[bytes]:
    """The pre-tokens by the native scanner."""
    return [data[a:b] for a, b in _native.pre_tokens(native_parts(name), data)]


def spans(name: str, data: bytes) -> list[bytes]:
    text = data.decode("utf-8", "surrogateescape")
    twin = pretokenize(name, text)
    return [text[a:b].encode("utf-8", "surrogateescape") for a, b in twin]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", SCANNERS)
@given(text=texts)
def test_scanner_equals_regex_on_text(name: str, text: str) -> None:
    data = text.encode()
    assert scanned(name, data) == spans(name, data)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SCANNERS)
@given(text=long_texts)
def test_scanner_equals_regex_on_long_texts(name: str, text: str) -> None:
    data = text.encode()
    assert scanned(name, data) == spans(name, data)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", SCANNERS)
@given(data=st.one_of(st.binary(), texts.map(lambda text: text.encode()[1:-1])))
def test_scanner_equals_regex_on_bytes(name: str, data: bytes) -> None:
    assert scanned(name, data) == spans(name, data)


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


@pytest.mark.parametrize("name", UNNAMED)
def test_a_pattern_that_has_a_scanner_is_not_searched(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> None:
        raise AssertionError

    data = (TURNING * 3 + " 12345 a.b -- c\n/\n// d   e  \n f  ").encode()
    expected = [data[a:b] for a, b in split(name, data)]
    monkeypatch.setattr("tokctl.model.patterns.compile_pattern", refuse)
    assert scanned(name, data) == expected == spans(name, data)
    with pytest.raises(AssertionError):
        scanned(f"{name}|x", data)
    there = hf.pre_tokenizers.Split(hf.Regex(name.removeprefix("regex:")), "isolated")
    known = "".join(char for char in data.decode() if unicodedata.category(char) != "Cn")
    pieces = [word.encode() for word, _ in there.pre_tokenize_str(known)]
    assert scanned(name, known.encode()) == pieces


def test_a_scanner_and_its_pattern_are_the_same_thing() -> None:
    assert set(OURS) == set(PATTERNS)
    text = TURNING * 3
    for name, pattern in OURS.items():
        found = [m.group() for m in regex.finditer(pattern, text)]
        assert found == [text[a:b] for a, b in pretokenize(name, text)]


@pytest.mark.slow
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


#: Prints the pre-tokens of what it reads, for each pre-tokenizer that it is given.
SPLIT = """
import json, sys
from tokctl import _native
data = sys.stdin.buffer.read()
for parts in sys.argv[1:]:
    print(_native.pre_tokens(json.loads(parts), data))
"""


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_of_the_processor_gives_the_same(level: str) -> None:
    """Each turn twice, with the next one behind it, and one place further in its block."""
    turns = [char * count for char in TURNING for count in (1, 2, 5, 70)]
    pieces = [
        "x" * (number % 64) + turn + following
        for number, (turn, following) in enumerate(zip(turns, turns[1:] + turns[:1], strict=True))
    ]
    data = "".join(pieces).encode() + b"\x80\xc3 \xff's\xe5\xad"
    found = subprocess.run(
        [sys.executable, "-c", SPLIT, *(json.dumps(native_parts(name)) for name in SCANNERS)],
        input=data,
        env=os.environ | {"TOKCTL_SIMD": level},
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name, pre_tokens in zip(SCANNERS, found.splitlines(), strict=True):
        assert [data[a:b] for a, b in literal_eval(pre_tokens)] == spans(name, data), name


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SCANNERS)
@pytest.mark.parametrize("file", ["books.txt", "code.txt", "multilingual.txt"])
def test_scanner_equals_regex_on_whole_files(name: str, file: str) -> None:
    """A part of the file, or all of it with TOKCTL_WHOLE_TEXTS=1."""
    size = None if os.environ.get("TOKCTL_WHOLE_TEXTS") else 100_000
    data = shared_file(f"corpora/{file}").read_bytes()[:size]
    assert scanned(name, data) == spans(name, data)
