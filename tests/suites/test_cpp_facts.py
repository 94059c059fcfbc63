"""What SentencePiece's C++ tests say of models and rules, of tokctl's."""

from __future__ import annotations

import pytest

pytest.importorskip("sentencepiece")

from tests.suites import cpp_facts
from tests.suites.cpp_facts import FACTS
from tokctl import TokctlError


@pytest.mark.parametrize("test", sorted({fact.test for fact in FACTS}))
def test_facts(test: str) -> None:
    for fact in FACTS:
        if test == fact.test and test in cpp_facts.REFUSED:
            with pytest.raises(TokctlError, match=cpp_facts.REFUSED[test]):
                cpp_facts.answer(fact)
        elif fact.test == test:
            assert cpp_facts.answer(fact) == cpp_facts.expected(fact), fact
