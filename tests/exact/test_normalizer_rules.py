"""SentencePiece's rules, built in and of a file, against the library and Hugging Face."""

from __future__ import annotations

import importlib.util
import random
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tokenizers import normalizers

from tests.exact.normalizing import HARD, TURNING, code_points, ours, places_there, rules, texts
from tokctl import _native
from tokctl.core.errors import CoreError

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


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_built_in_rules_are_sentencepieces(name: str) -> None:
    library = sentencepiece(name, remove_extra_whitespaces=False)
    part = rules(name)
    for text in [*code_points()[1:], *generated(20_000)]:
        # The library ends a text at its NUL when it looks for a rule, and no rule has one.
        assert _native.normalize([part], text.encode()).decode() == library.Normalize(text)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", RULES)
def test_rules_of_a_file_are_the_built_in_ones(name: str) -> None:
    texts = "\u2028".join([*code_points(), *generated(20_000)]).encode()
    for graphemes in (False, True):
        by_name = _native.normalize([rules(name, graphemes)], texts)
        of_a_file = {"kind": "chars-map", "blob": blob(name), "graphemes": graphemes}
        assert by_name == _native.normalize([of_a_file], texts)


@pytest.mark.few(2)
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


@pytest.mark.few(2)
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
        with pytest.raises(CoreError, match="precompiled_charsmap"):
            _native.normalize([{"kind": "chars-map", "blob": damaged}], b"a")
