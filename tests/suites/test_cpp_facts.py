"""What SentencePiece's C++ tests say of models and rules, of tokctl's."""

from __future__ import annotations

import pytest

pytest.importorskip("sentencepiece")

from tests.tools.suites import cpp_facts
from tests.tools.suites.cpp_facts import FACTS


@pytest.mark.parametrize("test", sorted({fact.test for fact in FACTS}))
def test_facts(test: str) -> None:
    for fact in FACTS:
        if fact.test == test:
            assert cpp_facts.answer(fact) == cpp_facts.expected(fact), fact
