"""Words by UAX #29, beside its rules written down one by one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.models import model
from tests.twins.word_breaks import boundaries, words
from tokctl.analysis.comparison.measuring import measure
from tokctl.analysis.metrics import Counts, Undefined, fertility

#: A few characters of every class that the rules name, and of none.
CHARACTERS = (
    "aZé\u03b1字あアー한ไทא0९½.,:;'\"\u2019·_‿ \u3000\t\n\r\u2028\u0308\u00ad\u200d\u200b"
    "⌚👍🏽🇫🇷Ⓐ²\u066b፩\u05f4\ufeff"
)


def _words(text: str) -> int:
    return measure(model("bpe"), text.encode(), 1, "unicode").words


@given(text=st.text(alphabet=CHARACTERS, max_size=12))
def test_words_are_those_of_the_rules(text: str) -> None:
    assert _words(text) == len(words(text))


def test_the_example_of_the_annex() -> None:
    # Its figure 1: each sign of punctuation and each space is a segment by itself.
    text = "The quick (“brown”) fox can\u2019t jump 32.3 feet, right?"
    cuts = boundaries(text)
    segments = [text[a:b] for a, b in pairwise(cuts)]
    assert segments[4:9] == ["(", "“", "brown", "”", ")"]
    assert _words(text) == 9


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("... !? ☃ 👍 _", 0),
        ("a_b don't 3.14 x-y", 5),
        ("日本語", 3),
        ("カタカナ", 1),
        ("ひらがな", 4),
        ("ภาษาไทย", 7),
    ],
)
def test_what_is_a_word(text: str, count: int) -> None:
    assert _words(text) == count == len(words(text))


def test_fertility_needs_no_spaces_then() -> None:
    # Three characters of three bytes each, which a model of bytes makes nine tokens.
    text = "日本語".encode()
    bpe = model("bpe")
    assert isinstance(fertility(measure(bpe, text, 1)), Undefined)
    assert fertility(measure(bpe, text, 1, "unicode")) == 3
    assert isinstance(fertility(measure(bpe, b"?!", 1, "unicode")), Undefined)


def test_words_of_two_rules_do_not_add_up() -> None:
    one, other = (measure(model("bpe"), b"a b", 1, rule) for rule in ("spaces", "unicode"))
    assert isinstance(one + one, Counts)
    with pytest.raises(ValueError, match="different rules"):
        _ = one + other
