"""Patterns that can match a text in ages of ways: an error, soon, where a search does not end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tokctl import TokctlError, Tokenizer
from tokctl.model import patterns
from tokctl.model.parts import PRE_TOKENIZERS
from tokctl.model.presets import preset

SLOW = [r"(a|aa)+$", r"(?=(a|aa)+$)a", r"(?:(?:a|aa))+$"]
#: `regex` knows a way around; that it always does, nothing says.
DOUBTFUL = [r"(a+)+$", r"(?:a?a?)+$", r"(?:a|b|aa)*?c", r"a*a*a*$", r"(a(?1)?)$"]
QUICK = [
    r"\w+|[^\w\s]+",
    r"\d{1,3}(?=(\d{3})*\b)",
    r"(?>a|aa)+$",
    r"(a|aa)++b",
    r"\(a|aa\)+",
    r"[(a|b)+]+",
]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit that a test can wait for."""
    monkeypatch.setattr(patterns, "seconds", lambda _size: 0.2)


@pytest.mark.parametrize("pattern", SLOW)
@pytest.mark.usefixtures("soon")
def test_a_search_without_an_end_is_given_up(pattern: str) -> None:
    assert patterns.can_backtrack(pattern)
    text = "a" * 60 + "b"
    message = "takes too long for a text of 61 bytes"
    with pytest.raises(TokctlError, match=message):
        patterns.split(f"regex:{pattern}", text.encode())
    made = replace(preset("gpt2"), pre_tokenizers=PRE_TOKENIZERS.steps(f"regex:{pattern}"))
    tokenizer = Tokenizer.train({"ab": 1}, recipe=made, vocab_size=300)
    with pytest.raises(TokctlError, match=message):
        tokenizer.encode(text)


@pytest.mark.parametrize("pattern", [*SLOW, *DOUBTFUL])
def test_what_ends_is_found_with_a_limit_as_without(pattern: str) -> None:
    import regex

    assert patterns.can_backtrack(pattern)
    compiled = regex.compile(pattern)
    for text in ("", "aaa", "aaaaac", "xaab aaa", "aéaa"):
        assert patterns.matches(compiled, text, 60) == patterns.matches(compiled, text)


@pytest.mark.parametrize("pattern", [*QUICK, *patterns.PATTERNS.values(), *patterns.KNOWN_PATTERNS])
def test_no_limit_where_none_is_needed(pattern: str) -> None:
    """A limit costs more than the search does."""
    assert not patterns.can_backtrack(pattern)


@pytest.mark.parametrize("pattern", ["", "(", ")", "*", "a{", "(?", "[", "(()", "{2}", "|*", "(?>"])
def test_any_text_can_be_asked_about(pattern: str) -> None:
    assert patterns.can_backtrack(pattern) in (False, True)
