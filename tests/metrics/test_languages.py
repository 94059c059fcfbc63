"""Parity and the Gini coefficient."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokctl.analysis.metrics import Undefined, gini, parity, tokens_per_line

COSTS = st.lists(st.floats(0, 1e6), min_size=2, max_size=30)


def test_parity() -> None:
    # 300 tokens of German for 200 of English.
    assert parity(300, 200) == 1.5
    assert parity(200, 200) == 1
    assert isinstance(parity(3, 0), Undefined)


def test_gini_by_hand() -> None:
    # 1, 2, 3, 6: the six differences are 1, 2, 5, 1, 4, 3 = 16, twice that 32; n = 4, mean 3:
    # 32 / (2 * 16 * 3) = 1/3.
    assert gini([3.0, 1.0, 6.0, 2.0]) == pytest.approx(1 / 3, abs=1e-15)
    assert gini([7.5] * 9) == 0
    # One bears everything: (n - 1) / n.
    assert gini([0.0, 0.0, 0.0, 5.0]) == 0.75


def test_where_there_is_none() -> None:
    assert isinstance(gini([]), Undefined)
    assert isinstance(gini([3.0]), Undefined)
    assert isinstance(gini([0.0, 0.0]), Undefined)
    assert tokens_per_line(9, 4) == 2.25
    assert gini([1.0, tokens_per_line(0, 0)]) == Undefined("the text has no lines")


@given(costs=COSTS)
def test_gini_is_the_sum_over_pairs(costs: list[float]) -> None:
    found = gini(costs)
    if not sum(costs):
        assert isinstance(found, Undefined)
        return
    apart = sum(abs(one - other) for one in costs for other in costs)
    assert found == pytest.approx(apart / (2 * len(costs) * sum(costs)), abs=1e-9)
    assert 0 <= found <= 1 - 1 / len(costs) + 1e-12  # type: ignore[operator]
    assert gini(costs[::-1]) == found
    assert gini([2 * cost for cost in costs]) == pytest.approx(found, abs=1e-12)
