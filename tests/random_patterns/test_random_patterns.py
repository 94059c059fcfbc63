"""Some pairs of every day; `python -m tests.tools.random_patterns` compares more."""

from __future__ import annotations

import pytest

from tests.tools.random_patterns.compare import campaign


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(8))
def test_matches_are_those_of_hugging_face(seed: int) -> None:
    outcome = campaign(seed, 2_000)
    assert outcome.faults == []
    # Nothing is proven by what is refused.
    assert outcome.refused.total() < 0.25 * outcome.patterns
    assert outcome.matches > outcome.pairs
