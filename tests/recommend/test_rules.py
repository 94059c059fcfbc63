"""The knee, the envelope and the model of cost, against twins and numbers worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.twins import recommend as twin
from tokctl.extras.recommend.advice import _compared_with
from tokctl.extras.recommend.curves import (
    FLAT,
    LEAST_GAIN,
    CurvePoint,
    SizeCurve,
    choose,
    doubling_gain,
    ends_early,
    envelope,
    knee,
)
from tokctl.extras.recommend.results import CandidateDifference
from tokctl.extras.recommend.shape import ModelShape

BYTES = 10_000_000
#: Tokens of a curve: what each next size leaves of those before it.
FACTORS = st.lists(st.floats(0.6, 1.0), min_size=1, max_size=12)


def points(sizes: list[int], tokens: list[int]) -> list[CurvePoint]:
    return [CurvePoint(s, t, BYTES / t) for s, t in zip(sizes, tokens, strict=True)]


def falling(factors: list[float]) -> list[int]:
    tokens = [1_000_000]
    for factor in factors:
        tokens.append(max(1, int(tokens[-1] * factor)))
    return tokens


def curve(name: str, sizes: list[int], tokens: list[int], reach: int | None = None) -> SizeCurve:
    return SizeCurve(name, tuple(points(sizes, tokens)), reach, 1.0)


# -- The knee --------------------------------------------------------------------------------------


@given(factors=FACTORS, between=st.booleans())
def test_the_knee_is_that_of_the_twin(factors: list[float], between: bool) -> None:
    tokens = falling(factors)
    starts = (16, 23) if between else (16,)
    sizes = [
        part * 64 << n // len(starts)
        for n in range(len(tokens))
        for part in (starts[n % len(starts)],)
    ]
    found = knee(points(sizes, tokens))
    expected = twin.knee(sizes, tokens, LEAST_GAIN)
    if found is not None and 2 * found.size > sizes[-1]:
        assert expected is None  # told by less than a doubling
    else:
        assert (found and found.size) == expected


def test_the_knee_by_hand() -> None:
    sizes = [1024, 2048, 4096, 8192]
    # 10%, 5.1% and 4.9% fewer.
    own = points(sizes, [1000, 900, 854, 812])
    assert knee(own) == own[2]
    assert doubling_gain(own, 0) == pytest.approx(0.1)
    assert doubling_gain(own, 3) is None
    assert knee(own[:3]) is None
    # Of one and a half times the size, 1 - (950 / 1000) ** (1 / log2(1.5)).
    assert doubling_gain(points([1000, 1500], [1000, 950]), 0) == pytest.approx(0.083952, abs=1e-6)
    assert doubling_gain(points([1000, 1300], [1000, 950]), 0) is None


@given(
    curves=st.lists(
        st.dictionaries(st.integers(256, 5000), st.integers(100, 9000), min_size=1, max_size=8),
        min_size=1,
        max_size=4,
    )
)
def test_the_envelope_is_the_fewest_tokens_up_to_a_size(curves: list[dict[int, int]]) -> None:
    given_ = [
        curve(str(n), sorted(one), [one[s] for s in sorted(one)]) for n, one in enumerate(curves)
    ]
    hull = envelope(given_)
    sizes = [point.size for point, _ in hull]
    assert sizes == sorted({size for one in curves for size in one})
    for point, name in hull:
        fewest = min(t for one in curves for s, t in one.items() if s <= point.size)
        assert point.tokens == fewest
        assert fewest in [t for s, t in curves[int(name)].items() if s <= point.size]


def test_the_choice_is_of_the_best_candidate_at_the_knee() -> None:
    sizes = [1024, 2048, 4096, 8192]
    worse = curve("bpe/gpt2", sizes, [1200, 1000, 990, 985])
    better = curve("bpe/o200k", sizes, [1100, 900, 800, 790])
    assert choose([worse, better], None) == ("bpe/o200k", 4096)
    assert choose([worse], None) == ("bpe/gpt2", 2048)
    # The curves have no knee: the largest that was tried.
    assert choose([curve("bpe/gpt2", sizes[:2], [1200, 1000])], None) == ("bpe/gpt2", 2048)


def test_a_choice_at_the_end_of_the_text_is_none_unless_the_curve_is_flat() -> None:
    sizes = [1024, 2048, 4096]
    steep, flat = [1200, 1000, 950], [1200, 1000, int(1000 * (1 - FLAT / 2))]
    large = ModelShape.of(10**12)
    for tokens, early in ((steep, True), (flat, False)):
        ended = curve("bpe/gpt2", sizes, tokens, 4100)
        assert ends_early(ended, 4096, large) is early
        assert ends_early(ended, 4096, None) is early
        # The doubling from the knee is known, and the compute is less before the end.
        assert not ends_early(ended, 2048, None)
        assert not ends_early(ended, 2048, large)
        assert not ends_early(curve("bpe/gpt2", sizes, tokens), 4096, large)
    assert ends_early(curve("bpe/gpt2", [1024], [1200], 1030), 1024, None)


# -- The model of cost -----------------------------------------------------------------------------


def test_the_shape_by_hand() -> None:
    # width = (128 * 1e9 / 12) ** (1 / 3) = 2201.3, and 2,176 is 34 * 64; layers = 1e9 / 12 / 2176².
    assert ModelShape.of(10**9) == ModelShape(10**9, width=2176, layers=18)
    # 4210.6 is nearer to 66 * 64 than to 65 * 64; 7e9 / 12 / 4224² = 32.7.
    assert ModelShape.of(7 * 10**9) == ModelShape(7 * 10**9, width=4224, layers=33)
    assert ModelShape.of(1000) == ModelShape(1000, width=64, layers=1)


def test_the_cost_by_hand() -> None:
    shape = ModelShape(1_000_000_000, width=2000, layers=21)
    assert shape.embedding(50_000) == 100_000_000
    assert shape.share(50_000) == pytest.approx(1 / 11)
    assert shape.share(50_000, tied=False) == pytest.approx(2 / 12)
    # 6 * 1.1e9 FLOPs a token, 4 bytes each.
    assert shape.flops_per_byte(50_000, 4.0) == pytest.approx(1.65e9)


def test_the_least_compute_by_hand() -> None:
    # Costs are (N + V * width) * tokens: 64 * 1024 = 65,536 more parameters for each 1,024 ids.
    sizes = [1024, 2048, 4096]
    own = curve("bpe/gpt2", sizes, [1000, 900, 850])
    shape = ModelShape(1_000_000, width=64, layers=20)
    costs = [
        (1_000_000 + size * 64) * point.tokens
        for size, point in zip(sizes, own.points, strict=True)
    ]
    assert costs == [1_065_536_000, 1_017_964_800, 1_072_822_400]
    assert choose([own], shape) == ("bpe/gpt2", 2048)
    assert choose([own], ModelShape(100_000_000, width=64, layers=20)) == ("bpe/gpt2", 4096)
    assert choose([own], ModelShape(10_000, width=64, layers=20)) == ("bpe/gpt2", 1024)


def test_the_scaling_law() -> None:
    """The figures of Tao et al. 2024: 4,096 ids of width 768 at 33 million parameters, and for a
    model of 70 billion 216,000 ids and more of width 8,192."""
    small = ModelShape(33_000_000, width=768, layers=5)
    assert small.by_scaling_law == 4096
    assert 216_000 < ModelShape(70 * 10**9, width=8192, layers=87).by_scaling_law < 240_000


@given(params=st.integers(1000, 10**15))
def test_shapes_are_about_as_large_as_asked(params: int) -> None:
    shape = ModelShape.of(params)
    assert shape.width % 64 == 0
    if params > 10**7:
        assert 0.8 < 12 * shape.layers * shape.width**2 / params < 1.2
        assert 60 < shape.width / shape.layers < 260


@pytest.mark.parametrize("params", [0, 999, 10**16, 1.5, True])
def test_no_shape(params: int) -> None:
    with raises_code("bad-value"):
        ModelShape.of(params)


def test_a_number_of_parameters_is_no_text() -> None:
    with raises_code("bad-value", "'1B'") as error:
        ModelShape.of("1B")  # type: ignore[arg-type]
    assert error.value.hint == "give a whole number: 1_000_000_000"


@pytest.mark.parametrize(("share", "said"), [(0.042, "4.20% more"), (-0.01, "1.00% fewer")])
def test_a_difference_says_which_way_it_goes(share: float, said: str) -> None:
    assert _compared_with(CandidateDifference("bpe/gpt2", share, None)) == (
        f"bpe/gpt2 needs {said} tokens"
    )
