"""Entropies and efficiencies: by hand, and beside the package that came with the paper."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokctl.analysis.metrics import (
    RENYI_ORDER,
    Undefined,
    efficiency,
    entropy,
    renyi_efficiency,
    shannon_efficiency,
)

COUNTS = st.lists(st.integers(1, 10_000), min_size=1, max_size=40)


def test_by_hand() -> None:
    # p = 1/2, 1/4, 1/4: H = 1/2 * 1 + 2 * 1/4 * 2 = 1.5 bits; of 4 ids at most 2 bits.
    assert entropy([2, 1, 1], 1) == 1.5
    assert shannon_efficiency([2, 1, 1], 4) == 0.75
    # Order 2: -log2(1/4 + 1/16 + 1/16) = -log2(3/8).
    assert entropy([2, 1, 1], 2) == pytest.approx(3 - math.log2(3))
    # Order 2.5 of p = 4/5, 1/5: 0.8^2.5 = 0.572433, 0.2^2.5 = 0.017889, the sum 0.590322,
    # its log2 -0.760426, over -1.5: 0.506951 bits; of 8 ids at most 3 bits.
    assert entropy([4, 1], RENYI_ORDER) == pytest.approx(0.506951, abs=1e-6)
    assert renyi_efficiency([4, 1], 8) == pytest.approx(0.168984, abs=1e-6)


@pytest.mark.parametrize("size", [2, 3, 10, 1000, 50_257])
def test_ids_that_are_all_as_frequent_have_efficiency_1(size: int) -> None:
    for figure in (renyi_efficiency([7] * size, size), shannon_efficiency([7] * size, size)):
        assert not isinstance(figure, Undefined)
        assert figure == pytest.approx(1, abs=1e-12)
        assert figure <= 1


def test_the_edges() -> None:
    # One id alone: no choice was made, of the choices there were.
    assert renyi_efficiency([9], 8) == 0
    assert math.copysign(1, entropy([9], 1)) == 1  # type: ignore[arg-type]
    # A vocabulary of one id leaves no choice: log2 1 = 0.
    assert isinstance(renyi_efficiency([9], 1), Undefined)
    assert isinstance(shannon_efficiency([9], 0), Undefined)
    assert renyi_efficiency([], 8) == Undefined("the text has no tokens with an id")
    assert shannon_efficiency([0, 0], 8) == Undefined("the text has no tokens with an id")


@given(counts=COUNTS, rest=st.integers(0, 50), order=st.sampled_from([0.5, 1, 2, 2.5, 10]))
def test_bounds(counts: list[int], rest: int, order: float) -> None:
    vocabulary = max(2, len(counts) + rest)
    found = efficiency(counts, vocabulary, order)
    assert not isinstance(found, Undefined)
    assert 0 <= found <= 1
    # Ids that never come out count in |V| alone.
    assert efficiency([*counts, 0], vocabulary, order) == found


@given(counts=COUNTS, data=st.data())
def test_the_order_of_ids_does_not_matter(counts: list[int], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(counts))
    for order in (1, RENYI_ORDER):
        assert entropy(shuffled, order) == entropy(counts, order)


@given(counts=COUNTS)
def test_a_higher_order_is_never_more(counts: list[int]) -> None:
    found = [entropy(counts, order) for order in (0.5, 1, 2, RENYI_ORDER, 4)]
    assert all(a + 1e-12 >= b for a, b in pairwise(found))  # type: ignore[operator]


@given(counts=COUNTS, rest=st.integers(0, 50))
def test_as_tokenization_scorer(counts: list[int], rest: int) -> None:
    metrics = pytest.importorskip("tokenization_scorer.metrics", reason="the package is not here")
    lines = [[f"{id_}"] * count for id_, count in enumerate(counts)]
    ours = [entropy(counts, order) for order in (1, RENYI_ORDER)]
    theirs = [
        metrics.get_metric("shannon_entropy")(lines),
        metrics.get_metric("renyi_entropy")(lines, power=RENYI_ORDER),
    ]
    assert ours == [pytest.approx(bits, abs=1e-9) for bits in theirs]
    if (vocabulary := len(counts) + rest) < 2:
        return
    ours = [shannon_efficiency(counts, vocabulary), renyi_efficiency(counts, vocabulary)]
    theirs = [
        metrics.get_metric("shannon_efficiency")(lines, vocab=vocabulary),
        metrics.get_metric("renyi_efficiency")(lines, vocab=vocabulary, power=RENYI_ORDER),
    ]
    assert ours == [pytest.approx(share, abs=1e-9) for share in theirs]


def test_where_tokenization_scorer_differs() -> None:
    """Without `vocab` it divides by the distinct tokens that it saw."""
    metrics = pytest.importorskip("tokenization_scorer.metrics", reason="the package is not here")
    lines = [["a"] * 4, ["b"]]
    seen = metrics.get_metric("renyi_efficiency")(lines, power=RENYI_ORDER)
    assert renyi_efficiency([4, 1], 2) == pytest.approx(seen)
    assert renyi_efficiency([4, 1], 8) == pytest.approx(seen / 3)
