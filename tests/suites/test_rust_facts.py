"""What the Rust tests of `tokenizers` say of parts and models, of tokctl's."""

from __future__ import annotations

import pytest

from tests.tools.suites import rust_facts
from tests.tools.suites.rust_facts import FACTS, Fact


@pytest.mark.parametrize("test", sorted({fact.test for fact in FACTS}))
def test_facts(test: str) -> None:
    for fact in FACTS:
        if fact.test == test:
            assert rust_facts.answer(fact) == fact.expected, fact


def test_another_answer_is_seen() -> None:
    first = FACTS[0]
    wrong = Fact(first.test, first.kind, first.part, "Hey man?", first.expected)
    assert rust_facts.answer(wrong) != wrong.expected
