"""The script of a text, against what `regex` says of its characters."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tokctl._native import scripts_of
from tokctl.analysis.explain.vocabulary import MIXED, NONE, PIECES, script_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("lower", "Latin"),
        (" café́ 12!", "Latin"),
        ("слово", "Cyrillic"),
        ("語", "Han"),
        ("ひらがな", "Hiragana"),
        ("カタカナ", "Katakana"),
        ("語の", MIXED),
        ("aж", MIXED),
        ("한국어", "Hangul"),
        ("شيء", "Arabic"),
        ("𐌀𐌁", "Old Italic"),
        ("12, …☃😀", NONE),
        ("", NONE),
        ("\u0301", NONE),
        ("\u0378", NONE),
    ],
)
def test_script_of(text: str, script: str) -> None:
    assert script_of(text.encode()) == script


def test_pieces_of_characters_have_none() -> None:
    assert script_of(b"\xe2\x80") == PIECES


@given(text=st.text(max_size=30))
def test_every_character_has_one_of_them(text: str) -> None:
    found = scripts_of(text)
    assert len(found) == len(set(found))
    known = "".join(rf"\p{{Script={name.replace(' ', '_')}}}" for name in found)
    shared = r"\p{Script=Common}\p{Script=Inherited}\p{Script=Unknown}"
    assert regex.fullmatch(f"[{known}{shared}]*", text)
    for name in found:
        assert regex.search(rf"\p{{Script={name.replace(' ', '_')}}}", text)
