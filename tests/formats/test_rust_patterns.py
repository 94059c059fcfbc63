"""Patterns of tiktoken's: what is taken over splits every text as tiktoken does."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exact.pipeline_peers import texts
from tests.exact.strings import settled
from tests.formats.ranks import BYTES, their_encoding, tokens
from tokctl import TokctlError, Tokenizer
from tokctl._native import RankFile
from tokctl.formats.contract import UnsupportedByFormat
from tokctl.formats.rust_patterns import pattern_of, pre_tokenizers_of
from tokctl.formats.tiktoken import TiktokenEncoding, build_model
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.model.patterns import KNOWN_PATTERNS

pytest.importorskip("tiktoken")


def ours(pre_tokenizer: str) -> Tokenizer:
    parts = () if pre_tokenizer == "none" else tuple(PRE_TOKENIZERS.parse_list(pre_tokenizer))
    ranks = RankFile.of([(token, rank) for rank, token in enumerate(tokens())])
    return Tokenizer(build_model(ranks, TiktokenEncoding("", parts, {})))


PRE_TOKENIZERS_OF_ONE_PATTERN = [
    "none",
    "gpt2",
    "cl100k",
    "llama3",
    "qwen2",
    "o200k",
    "deepseek-v3",
    "characters",
    "fixed:1",
    "fixed:7",
    "digits",
    "digits-individual",
    "digit-groups",
    "digit-groups:2",
    r"regex:\w+",
    r"regex:\w+|[^\w\s]+",
    r"regex:\p{L}+$|\d",
    r"regex:(?<=\s)\w|(?<!a)b+",
    r"regex:(?i:'re|THE|s)|\s\Z",
    "split:, ",
    '{"kind": "split", "pattern": "a|b+"}',
    '{"kind": "split", "pattern": "[a-e]{2}", "regex": true, "invert": true}',
]


@pytest.mark.few(4)
@pytest.mark.parametrize("name", PRE_TOKENIZERS_OF_ONE_PATTERN)
def test_pre_tokenizers_as_a_pattern(name: str) -> None:
    pattern = pattern_of(PRE_TOKENIZERS.steps(name))
    theirs = their_encoding(tokens(), pattern)
    given, again = ours(name), ours(pre_tokenizers_of(pattern))
    for text in texts(size=4000, seed=5):
        expected = theirs.encode_ordinary(text)
        assert given.encode_ids(text) == expected, text[:200]
        assert again.encode_ids(text) == expected, text[:200]


TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|"
    r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
KIMI = (
    r"[\p{Han}]+|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "pattern",
    [
        *KNOWN_PATTERNS,
        TEKKEN,
        KIMI,
        r"\w+|\W",
        r"a$|[\s\S]",
        r"(a|b)*?c|(?s:.)",
        r"(?>a+)|.|\n",
        r"b?+[ab]|[^a]",
        r"[\x20-\u007e]{2,9}|[^\"\'\@\-]|[\"\'\@\-]",
        r"(?i:i)|[^i]",
        r"(?i:straße|[k-s]+)|[\s\S]",
        r"(?i:[^x]+|[^a-k]{2})|[\s\S]",
        r"[a-z&&[^aeiou]]+|[\w--x]|(?s:.)",
        r"[[a-c][\d&&[^3]]]+|[^[a-c]\d]|\d|[a-c]",
    ],
)
def test_their_patterns(pattern: str) -> None:
    theirs, here = their_encoding(tokens(), pattern), ours(pre_tokenizers_of(pattern))
    for text in texts(size=4000, seed=6):
        assert here.encode_ids(text) == theirs.encode_ordinary(text), text[:200]


ATOMS = [
    *"abs \n1'.",
    *(r"\s", r"\S", r"\d", r"\w", r"\W", r"\p{L}", r"\P{L}", r"\n", r"\.", r"\pN", "^", "$"),
    *("[ab]", "[^a]", r"[^\s\p{L}]", r"[a-c\d]", r"[\p{L}&&[^ab]]", r"[\r\n]", "[a-]", "[.^]"),
    *("(?=a)", "(?!b)", "(?<=a)", r"(?<!\s)", "(?i:S)", "(?i:[sb])", "(?s:.)", r"\z", r"\Z", r"\b"),
]
quantifiers = st.sampled_from(
    ["", "", "", "*", "+", "?", "{2}", "{1,2}", "+?", "*+", "?+", "{0,2}+"]
)
atoms = st.tuples(st.sampled_from(ATOMS), quantifiers).map("".join)
patterns = st.recursive(
    st.lists(atoms, min_size=1, max_size=4).map("".join),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("|".join),
        st.tuples(st.sampled_from(["(", "(?:", "(?>", "(?=", "(?!"]), inner, quantifiers).map(
            lambda three: f"{three[0]}{three[1]}){three[2]}"
        ),
        st.tuples(inner, inner).map("".join),
    ),
    max_leaves=4,
)
short = st.text("aabbcsS 1\n'.é字\r", max_size=24)


@given(patterns, st.sampled_from(["", r"|\s|\S", r"|[\s\S]"]), st.lists(short, max_size=5))
def test_any_pattern_is_read_as_there_or_refused(pattern: str, rest: str, some: list[str]) -> None:
    pattern += rest
    try:
        here = ours(pre_tokenizers_of(pattern))
    except UnsupportedByFormat:
        return
    theirs = their_encoding(tokens(), pattern)
    for text in some:
        assert here.encode_ids(text) == theirs.encode_ordinary(text), text


@given(patterns, st.lists(short, max_size=5))
def test_any_pattern_is_written_as_here_or_refused(pattern: str, some: list[str]) -> None:
    try:
        here = ours(f"regex:{pattern}")
        written = pattern_of(PRE_TOKENIZERS.steps(f"regex:{pattern}"))
    except (UnsupportedByFormat, TokctlError):
        return
    theirs, again = their_encoding(tokens(), written), ours(pre_tokenizers_of(written))
    for text in some:
        expected = here.encode_ids(text)
        assert theirs.encode_ordinary(text) == expected, text
        assert again.encode_ids(text) == expected, text


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"\w+", "leaves out U+0000, and tiktoken drops"),
        (r"\w+|\s+|[^\w\sa]", None),
        (r"[^a]+", "leaves out U+0061"),
        (r"b?+[ab]|[^b]", "leaves out U+0062"),
        ("a*|[^a]", "can match nothing"),
        ("", "can match nothing"),
        (r"\bx|[^x]", "not read alike"),
        ("[", "has no end"),
        ("a)", "not read alike"),
        ("(a", "has no end"),
        ("a{2000}", "not read alike"),
        ("a{3,2}", "not read alike"),
        ("[b-a]|[^b]", "ends before it begins"),
        (r"(?:\p{L}{1000}){1000}|(?s:.)", "too large to compile"),
        ("(?:a*)*b", "not read alike"),
        ("(?P<x>a)", "leaves out"),
        ("(" * 60 + "a" + ")" * 60, "deep"),
        ("a" * 70_000, "longer than"),
        ("|".join(map(chr, range(0x4E00, 0x4E80))), "leaves out U+0000"),
        (r"\p{Old_Italic}|[^a]", "the property"),
        ("(?<=aa)b|[^b]|b", "look-behind at more than one character"),
    ],
)
def test_what_is_refused(pattern: str, why: str | None) -> None:
    if why is None:
        assert pre_tokenizers_of(pattern) == f"regex:{pattern}"
        return
    with pytest.raises(UnsupportedByFormat) as caught:
        pre_tokenizers_of(pattern)
    assert why in str(caught.value)


@pytest.mark.parametrize("name", ["scripts", "graphemes", "punctuation", r"regex:a*", r"regex:\h"])
def test_what_no_pattern_says(name: str) -> None:
    with pytest.raises(UnsupportedByFormat):
        pattern_of(PRE_TOKENIZERS.steps(name))
    with pytest.raises(UnsupportedByFormat, match="several"):
        pattern_of(PRE_TOKENIZERS.steps(["digits", name]))


@given(st.text(st.sampled_from("ab\\[](){}*+?|^$.-&pPLxu1,:i<=!>s"), max_size=12))
def test_nonsense_is_refused(pattern: str) -> None:
    for what in (pre_tokenizers_of, lambda text: pattern_of(PRE_TOKENIZERS.steps(f"regex:{text}"))):
        try:
            what(pattern)
        except (UnsupportedByFormat, TokctlError) as error:
            assert str(error)


def test_the_texts_show_how_they_are_split() -> None:
    """Else the tests above would prove nothing."""
    some = ["x \n \n  ", "a|b+a", *islice(texts(4000, seed=5), 60)]
    found = {str(ours(name).encode_ids(some)) for name in PRE_TOKENIZERS_OF_ONE_PATTERN}
    assert len(found) == len(PRE_TOKENIZERS_OF_ONE_PATTERN) - 1  # fixed:1 is characters


def test_sets_have_the_same_characters() -> None:
    """Where both libraries know a character, they agree on what it is. (U+0295 has become a
    small letter since.)"""
    import regex

    from tokctl.model import regular_expressions

    text = settled().replace("\u0295", "") + "".join(map(chr, range(0x20000, 0x20100)))
    names = [rf"\p{{{name}}}" for name in sorted(regular_expressions._KNOWN_PROPERTIES)]
    for name in [*names, *(rf"\{sign}" for sign in "sSdDwW"), "(?i:s)", "(?i:k)", "."]:
        theirs = their_encoding(BYTES, name)
        found = theirs.decode(theirs.encode_ordinary(text))
        assert found == "".join(regex.findall(name, text)), name
