"""The normalizers against the libraries that define them, and against the slow twin."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, normalizers

from tests.conftest import shared_file
from tests.exact import newer_unicode
from tests.exact.normalizing import HARD, code_points, ours, places_there, rules, texts
from tests.twins import normalize as twin
from tokctl import _native
from tokctl.core.errors import CoreError


def bert(*options: bool) -> dict[str, Any]:
    names = ("clean_text", "cjk_spacing", "strip_accents", "lowercase")
    return {"kind": "bert", **dict(zip(names, options, strict=True))}


def replace(pattern: str, content: str, regex: bool = False) -> dict[str, Any]:
    return {"kind": "replace", "pattern": pattern, "content": content, "regex": regex}


LIBRARY: dict[str, tuple[list[Any], Callable[[], Any]]] = {
    "nfc": (["nfc"], normalizers.NFC),
    "nfd": (["nfd"], normalizers.NFD),
    "nfkc": (["nfkc"], normalizers.NFKC),
    "nfkd": (["nfkd"], normalizers.NFKD),
    "lowercase": (["lowercase"], normalizers.Lowercase),
    "strip-accents": (["strip-accents"], normalizers.StripAccents),
    "nmt": (["nmt"], normalizers.Nmt),
    "bert": (["bert"], normalizers.BertNormalizer),
    "bert cased": (
        [bert(True, True, False, False)],
        lambda: normalizers.BertNormalizer(True, True, None, False),
    ),
    "bert cleaning": (
        [bert(True, False, False, False)],
        lambda: normalizers.BertNormalizer(True, False, False, False),
    ),
    "bert spacing": (
        [bert(False, True, False, False)],
        lambda: normalizers.BertNormalizer(False, True, False, False),
    ),
    "bert accents": (
        [bert(False, False, True, False)],
        lambda: normalizers.BertNormalizer(False, False, True, False),
    ),
    "strip": (["strip"], normalizers.Strip),
    "strip left": (
        [{"kind": "strip", "right": False}],
        lambda: normalizers.Strip(left=True, right=False),
    ),
    "strip right": (
        [{"kind": "strip", "left": False}],
        lambda: normalizers.Strip(left=False, right=True),
    ),
    "collapse-spaces": (
        ["collapse-spaces"],
        lambda: normalizers.Replace(Regex(" {2,}"), " "),
    ),
    "replace": ([replace("a", "éb")], lambda: normalizers.Replace("a", "éb")),
    "replace by nothing": ([replace("é", "")], lambda: normalizers.Replace("é", "")),
    "replace nothing": ([replace("", "é")], lambda: normalizers.Replace("", "é")),
    "replace a pattern": (
        [replace("[ae]*", "xy", regex=True)],
        lambda: normalizers.Replace(Regex("[ae]*"), "xy"),
    ),
    "prepend": (
        [{"kind": "prepend", "text": "\u2581x"}],
        lambda: normalizers.Prepend("\u2581x"),
    ),
    "several": (
        ["nfkd", "strip-accents", "lowercase", replace(" ", "\u2581"), "nfc"],
        lambda: normalizers.Sequence(
            [
                normalizers.NFKD(),
                normalizers.StripAccents(),
                normalizers.Lowercase(),
                normalizers.Replace(" ", "\u2581"),
                normalizers.NFC(),
            ]
        ),
    ),
}


@pytest.mark.few(109)
@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize("text", HARD, ids=ascii)
def test_hard_texts_come_out_as_the_library_has_them(name: str, text: str) -> None:
    parts, make = LIBRARY[name]
    expected = make().normalize_str(text), places_there(make(), text)
    assert ours(parts, text) == expected


@pytest.mark.few(2)
@pytest.mark.parametrize("name", LIBRARY)
@given(text=texts)
def test_text_and_places_equal_the_library(name: str, text: str) -> None:
    parts, make = LIBRARY[name]
    assert ours(parts, text) == (make().normalize_str(text), places_there(make(), text))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "differing"),
    [
        ("nfc", frozenset()),
        ("nfd", newer_unicode.NFD),
        ("nfkc", newer_unicode.NFKC),
        ("nfkd", newer_unicode.NFKD),
        ("lowercase", frozenset()),
        ("strip-accents", newer_unicode.STRIP_ACCENTS),
        ("nmt", frozenset()),
        ("bert cleaning", newer_unicode.BERT_CLEAN),
        ("bert spacing", frozenset()),
        ("bert accents", newer_unicode.BERT_ACCENTS),
        ("strip", frozenset()),
    ],
)
def test_every_code_point_but_those_of_newer_unicode(name: str, differing: frozenset[int]) -> None:
    parts, make = LIBRARY[name]
    library = make()
    found = {
        ord(char)
        for char in code_points()
        if _native.normalize(parts, char.encode()).decode() != library.normalize_str(char)
    }
    assert found == differing


@pytest.mark.slow
def test_marks_whose_class_is_newer() -> None:
    library = normalizers.NFD()
    found = {
        ord(char)
        for char in code_points()
        for text in (f"a\u0345{char}", f"a{char}\u0334")
        if _native.normalize(["nfd"], text.encode()).decode() != library.normalize_str(text)
    }
    assert found == newer_unicode.REORDERED


# The twin, the documents, and text that is not UTF-8

TWIN: dict[str, tuple[list[Any], Callable[[twin.Placed], twin.Placed]]] = {
    "nfd": (["nfd"], lambda chars: twin.decompose("NFD", chars)),
    "nfkd": (["nfkd"], lambda chars: twin.decompose("NFKD", chars)),
    "lowercase": (["lowercase"], twin.lowercase),
    "strip-accents": (["strip-accents"], twin.strip_accents),
    "delete-newlines": (["delete-newlines"], twin.delete_newlines),
    "collapse-spaces": (["collapse-spaces"], twin.collapse_spaces),
    "strip": (["strip"], lambda chars: twin.strip(chars, True, True)),
    "prepend": ([{"kind": "prepend", "text": "é_"}], lambda chars: twin.prepend(chars, "é_")),
    "replace": ([replace("a", "é_")], lambda chars: twin.replace(chars, "a", "é_")),
    "replace a pattern": (
        [replace(r"\s+|b*", "é_", regex=True)],
        lambda chars: twin.replace(chars, r"[^\S\x1c-\x1f]+|b*", "é_"),
    ),
}

assigned = st.text(st.characters(exclude_categories=["Cs", "Cn"]))


@pytest.mark.few(2)
@pytest.mark.parametrize("first", TWIN)
@given(text=st.one_of(texts, assigned), second=st.sampled_from([*TWIN]))
def test_chains_equal_the_twin(first: str, second: str, text: str) -> None:
    parts = TWIN[first][0] + TWIN[second][0]
    expected = TWIN[second][1](TWIN[first][1](twin.placed(text)))
    places = [place for _, place in expected]
    assert ours(parts, text) == (twin.text_of(expected), places)


@given(text=st.one_of(texts, assigned))
def test_composed_forms_are_pythons(text: str) -> None:
    for form in ("NFC", "NFKC"):
        expected = unicodedata.normalize(form, text)
        assert ours([form.lower()], text)[0] == expected


@given(text=st.text(alphabet="aábfi\u0301ﬁ ", max_size=12))
def test_longest_rules_equal_the_twin(text: str) -> None:
    some = {"á": "á", "a\u0301": "á", "b\u0301": "b\u0301", "ﬁ": "fi", "i\u0301": "í"}
    expected = twin.longest_rule(twin.placed(text), some)
    assert ours([rules("nfkc")], text)[0] == twin.text_of(expected)


def test_the_documents_normalizers() -> None:
    data = json.loads(shared_file("golden/documents.json").read_text(encoding="utf-8"))
    document = data["normalize"]
    for kind in ("nfc", "lowercase", "bert", "collapse-spaces"):
        assert ours([kind], document["text"])[0] == document[kind]


PER_STRETCH = ("nfc", "nfkd", "lowercase", "strip-accents", "bert", "nmt", rules("nmt_nfkc"))


@given(stretches=st.lists(texts, min_size=1, max_size=4))
def test_bytes_that_are_not_utf8_part_stretches(stretches: list[str]) -> None:
    for part in (*PER_STRETCH, rules("nmt_nfkc", graphemes=True)):
        normalized = b"\xff".join(
            _native.normalize([part], stretch.encode()) for stretch in stretches
        )
        data = b"\xff".join(stretch.encode() for stretch in stretches)
        assert _native.normalize([part], data) == normalized


@given(data=st.binary())
def test_any_bytes_have_places_within(data: bytes) -> None:
    for part in (*PER_STRETCH, "strip", replace(r"\w?", "x", regex=True), replace("", "x")):
        normalized, places = _native.normalize_aligned([part], data)
        assert normalized == _native.normalize([part], data)
        assert len(places) == len(normalized)
        assert all(0 <= start <= end <= len(data) for start, end in places)


def test_a_pattern_sees_a_broken_byte_as_one_character() -> None:
    part = replace(r"[^a]b", "x", regex=True)
    assert _native.normalize([part], b"a\xffb\xe5\xad\x97b\xe5b") == b"axxx"


def test_what_cannot_be_a_normalizer() -> None:
    for part, words in (
        ("upper", "no normalizer is called upper"),
        ({}, "without a kind"),
        ({"kind": "prepend"}, "needs the option text"),
        ({"kind": "chars-map", "name": "nfkd"}, "no rules"),
        (1, "a name or a dictionary"),
    ):
        with pytest.raises(CoreError, match=words):
            _native.normalize([part], b"")
