"""Scripts, digits, and odd characters in tokens."""

from __future__ import annotations

import unicodedata

import pytest

from tests.explain.health.sick import Tokenizer, finding, health, tokens, unigram
from tokctl.analysis.health.vocabulary import LONG, fits, has_lookalikes, scripts_of

NAMES = (
    "lookalike-scripts",
    "mixed-scripts",
    "digits-with-letters",
    "long-numbers",
    "replacement-characters",
    "control-characters",
    "trailing-spaces",
    "long-tokens",
)


def of(*pieces: str) -> Tokenizer:
    letters = {char: -9.0 for piece in pieces for char in piece}
    return unigram(letters | dict.fromkeys(pieces, -1.0))


def found(*pieces: str) -> dict[str, list[str]]:
    report = health(of(*pieces), limit=None)
    return {name: seen for name in NAMES if (seen := tokens(report, name))}


def test_ordinary_tokens() -> None:
    assert found("the", "▁the", "123", "don't", "naïve", "e\u0301", "\n\n", "  ", "--", "_a") == {}


@pytest.mark.parametrize(
    "text",
    [
        "サーティ",
        "漢字かな",
        "カ漢",
        "한국어",
        "韓國한",
        "ㄅ漢",
        "Привет",
        "αβγ",
        "ça",
        "नमस्ते",
        "x=1",
    ],
)
def test_scripts_that_belong_together(text: str) -> None:
    assert fits(scripts_of(text))
    assert {"mixed-scripts", "lookalike-scripts"} & found(text).keys() == set()


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("p\u0430ypal", "Cyrillic + Latin"),
        (" \u03bcg", "Greek + Latin"),
        ("\u0391\u0410", "Cyrillic + Greek"),
    ],
)
def test_letters_that_look_alike(text: str, scripts: str) -> None:
    sick = finding(health(of(text)), "lookalike-scripts")
    assert sick is not None
    assert [(one.token, one.note) for one in sick.examples] == [(text, scripts)]
    assert finding(health(of(text)), "mixed-scripts") is None


@pytest.mark.parametrize(
    "text", ["A股", "한カ", "שa", "a\u0431".replace("a", "ア"), "Д-x", "Tシャツ"]
)
def test_other_mixes(text: str) -> None:
    assert found(text).keys() >= {"mixed-scripts"}
    assert not has_lookalikes(text)


def test_scripts_are_those_of_character_names() -> None:
    """Most names of letters begin with their script's."""
    for script in ("Latin", "Greek", "Cyrillic", "Hebrew", "Arabic", "Thai", "Hiragana", "Khmer"):
        start = script.upper() + " "
        chars = [c for c in map(chr, range(0x3100)) if unicodedata.name(c, "").startswith(start)]
        letters = [c for c in chars if c.isalpha()]
        named = [c for c in letters if scripts_of(c) == (script,)]
        assert len(named) > 0.95 * len(letters) > 20
    assert scripts_of("1 .,!\u0301ー") == ()


def test_digits() -> None:
    assert found("a1", "1st", "42") == {"digits-with-letters": ["a1", "1st"]}
    assert found("123", "1234", "12.345", "٣٤٥٦") == {"long-numbers": ["1234", "٣٤٥٦"]}
    sick = finding(health(of("1234", "x12345y123456", "123456")), "long-numbers")
    assert sick is not None
    assert sick.detail == "1 of 4 digits, 2 of 6 digits."


def test_odd_characters() -> None:
    assert found("\ufffd", "a\ufffd") == {"replacement-characters": ["\ufffd", "a\ufffd"]}
    assert found("a\x00", "\t\r\n", "\x1b[") == {
        "control-characters": ["\x00", "\x1b", "a\x00", "\x1b["]
    }
    assert found("a ", "a\t", "a\u3000", "a\n", " a", "  ") == {
        "trailing-spaces": ["a ", "a\t", "a\u3000"]
    }
    assert found("x" * LONG) == {}
    assert found("x" * (LONG + 1)) == {"long-tokens": ["x" * (LONG + 1)]}


def test_the_mark_of_a_space_is_one() -> None:
    tokenizer = unigram({"a▁": -1.0, "a": -2.0, "▁": -2.0}, pre_tokenizers="metaspace")
    assert tokens(health(tokenizer), "trailing-spaces") == ["a▁"]
