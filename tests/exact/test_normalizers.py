"""The normalizers against the libraries that define them, and against the slow twin."""

from __future__ import annotations

import importlib.util
import itertools
import json
import random
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from tests.conftest import shared_file
from tests.exact import newer_unicode
from tests.twins import normalize as twin
from tokctl import _native

Places = list[tuple[int, int]]

#: Marks in and out of order, jamo of both widths, ligatures, full-width and half-width
#: forms, emoji sequences, bidi controls, NUL and other controls, every kind of space.
TURNING = (
    "aAbeK12 .\n\r\t\0\x01\x0b\x7f\x85\x9f\xa0é\u0301\u0323\u0327\u0345\u0344\u0334"
    "ßİ\u0131Σ\u0391\u0399ǅ\u0390\u1e69\u212b\u2126ﬁﬀ①½²\u1100\u1112\u1161\u11a8\u11ab"
    "\uffa1\uffc2\uac00각한ｶﾞﾊﾟか\u3099\uff21\uff22\uff01\uff5e"
    "\u2581\u3000\u200b\u200d\u200e\u202e\ufeff\ufffd\u2028\u0627\u0653\ufdfa\ufefb\u0621"
    "\u0651\u064bक\u093c\u094dष\u09c7\u09be\u0e33\u037a\u0d4e\u0600字漢\uf900\U0002f800"
    "\U0002b830\U0002b930\U0001f468\u200d\U0001f469\U0001f3fd\ufe0f\U0001d157\U0001d165"
    "\U0001f600\ue000\u0378"
)

NEWER = frozenset(
    itertools.chain.from_iterable(
        value for name, value in vars(newer_unicode).items() if name.isupper()
    )
)

#: Text from before the Unicode versions that the libraries differ in.
texts = st.one_of(
    st.text(alphabet=TURNING, max_size=30),
    st.text(st.characters(exclude_categories=["Cs", "Cn"]).filter(lambda c: ord(c) not in NEWER)),
)

HARD = (
    "",
    " ",
    "Thís is  áN ExaMPlé     sÉnteNCE",
    "  \t e\u0301\u0323 \u0301\u0301a\u0323\u0301  ",
    "\u0301",
    "\x01\x02ab\x01",
    "\x01",
    "a\x01\u0390\x9f\uffa1",
    "한국어 \u1112\u1161\u11ab \uffbe\uffc2\uffa4",
    "漢字と仮名ｶﾞｷﾞ\uff01",
    "ﬁancé №１２③ ﷺ \ufefb",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f44d\U0001f3fd",
    "\u202eabc\u202c\x00\ufffd",
    "\r\n\r\r\n",
    "e" + "\u0301\u0323" * 40,
)


def places_there(normalizer: Any, text: str) -> Places:
    """The places of the normalized characters: a token of each, and its offsets."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return tokenizer.encode(text).offsets


def ours(parts: list[Any], text: str) -> tuple[str, Places]:
    """The normalized text, and the places of its characters, in characters."""
    data = text.encode()
    normalized, places = _native.normalize_aligned(parts, data)
    assert normalized == _native.normalize(parts, data)
    lengths = [len(char.encode()) for char in text]
    numbers = {at: number for number, at in enumerate(itertools.accumulate(lengths, initial=0))}
    result, at = [], 0
    for char in normalized.decode():
        length = len(char.encode())
        (place,) = set(places[at : at + length])
        result.append((numbers[place[0]], numbers[place[1]]))
        at += length
    assert at == len(places)
    return normalized.decode(), result


def bert(*options: bool) -> dict[str, Any]:
    names = ("clean_text", "cjk_spacing", "strip_accents", "lowercase")
    return {"kind": "bert", **dict(zip(names, options, strict=True))}


def replace(pattern: str, content: str, regex: bool = False) -> dict[str, Any]:
    return {"kind": "replace", "pattern": pattern, "content": content, "regex": regex}


def rules(name: str, graphemes: bool = False) -> dict[str, Any]:
    return {"kind": "chars-map", "name": name, "graphemes": graphemes}


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


@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize("text", HARD, ids=ascii)
def test_hard_texts_come_out_as_the_library_has_them(name: str, text: str) -> None:
    parts, make = LIBRARY[name]
    expected = make().normalize_str(text), places_there(make(), text)
    assert ours(parts, text) == expected


@pytest.mark.parametrize("name", LIBRARY)
@given(text=texts)
def test_text_and_places_equal_the_library(name: str, text: str) -> None:
    parts, make = LIBRARY[name]
    assert ours(parts, text) == (make().normalize_str(text), places_there(make(), text))


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


def test_marks_whose_class_is_newer() -> None:
    library = normalizers.NFD()
    found = {
        ord(char)
        for char in code_points()
        for text in (f"a\u0345{char}", f"a{char}\u0334")
        if _native.normalize(["nfd"], text.encode()).decode() != library.normalize_str(text)
    }
    assert found == newer_unicode.REORDERED


def code_points() -> list[str]:
    return [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


# SentencePiece

RULES = ("nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")


def sentencepiece(name: str, **options: bool) -> Any:
    library = pytest.importorskip("sentencepiece")
    return library.SentencePieceNormalizer(
        rule_name=name, add_dummy_prefix=False, escape_whitespaces=False, **options
    )


@lru_cache
def blob(name: str) -> bytes:
    """The rules as a model file holds them."""
    pytest.importorskip("sentencepiece")
    path = Path(__file__).parents[2] / "tokctl" / "native" / "tools" / "chars_map.py"
    spec = importlib.util.spec_from_file_location("chars_map", path)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    found = tool.blob(name)
    assert isinstance(found, bytes)
    return found


def generated(count: int) -> list[str]:
    """Combining sequences, jamo, ligatures, half-width kana with voiced marks and the like."""
    source = random.Random(9)
    return ["".join(source.choices(TURNING, k=source.randint(2, 8))) for _ in range(count)]


@pytest.mark.parametrize("name", RULES)
def test_built_in_rules_are_sentencepieces(name: str) -> None:
    library = sentencepiece(name, remove_extra_whitespaces=False)
    part = rules(name)
    for text in [*code_points()[1:], *generated(20_000)]:
        # The library ends a text at its NUL when it looks for a rule, and no rule has one.
        assert _native.normalize([part], text.encode()).decode() == library.Normalize(text)


@pytest.mark.parametrize("name", RULES)
def test_rules_of_a_file_are_the_built_in_ones(name: str) -> None:
    texts = "\u2028".join([*code_points(), *generated(20_000)]).encode()
    for graphemes in (False, True):
        by_name = _native.normalize([rules(name, graphemes)], texts)
        of_a_file = {"kind": "chars-map", "blob": blob(name), "graphemes": graphemes}
        assert by_name == _native.normalize([of_a_file], texts)


@pytest.mark.parametrize("name", RULES)
@given(text=texts)
def test_places_and_extra_spaces_are_sentencepieces(name: str, text: str) -> None:
    library = sentencepiece(name, remove_extra_whitespaces=True)
    parts = [rules(name), "collapse-spaces", "strip-spaces"]
    normalized, places = ours([parts[0]], text)
    kept, _ = ours(parts, text)
    assert kept == library.Normalize(text)
    plain = sentencepiece(name, remove_extra_whitespaces=False)
    expected, starts = plain.Normalize(text, with_offsets=True)
    assert normalized == expected
    assert [start for start, _ in places] == list(starts)[: len(normalized)]


@pytest.mark.parametrize("name", RULES)
@given(text=texts)
def test_graphemes_are_hugging_faces_way(name: str, text: str) -> None:
    library = normalizers.Precompiled(blob(name))
    for candidate in (text, *HARD):
        expected = library.normalize_str(candidate), places_there(library, candidate)
        assert ours([rules(name, graphemes=True)], candidate) == expected


def test_the_two_ways_differ() -> None:
    """Where a grapheme holds more than the first rule's key, Hugging Face drops the rest."""
    text = "ﬁ\u0301"
    assert ours([rules("nfkc")], text)[0] == "fi\u0301"
    assert ours([rules("nfkc", graphemes=True)], text)[0] == "fi"


def test_a_damaged_blob_is_refused() -> None:
    for damaged in (b"abc", b"\xff\xff\xff\xffabcd", b"\3\0\0\0abcdefgh", b"\0\0\0\0\xff"):
        with pytest.raises(_native.CoreError, match="precompiled_charsmap"):
            _native.normalize([{"kind": "chars-map", "blob": damaged}], b"a")


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
        with pytest.raises(_native.CoreError, match=words):
            _native.normalize([part], b"")
