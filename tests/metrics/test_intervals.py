"""Bootstrap intervals: beside a slow twin, by hand, and against what they promise."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.models import TEXT, model
from tests.metrics.test_compare import TEXTS
from tests.twins.resample import drawn, split_mix, sums
from tokctl import _native
from tokctl.analysis.comparison.measuring import (
    RESAMPLES,
    SEED,
    Interval,
    Measurement,
    ModelIntervals,
    intervals,
    measure_all,
)
from tokctl.analysis.metrics import METRICS, Counts, Undefined, range_of
from tokctl.core.errors import CoreError

NAMES = ("bpe", "wordpiece", "notebook-bpe")


def _measured(texts: Sequence[bytes], names: Sequence[str] = NAMES) -> dict[str, list[Measurement]]:
    return {
        name: [measure_all(model(name), text, 1, lines=True) for text in texts] for name in names
    }


def _intervals(
    texts: Sequence[bytes], names: Sequence[str] = NAMES, threads: int = 1
) -> Mapping[str, ModelIntervals]:
    ranges = {name: range_of(model(name).model) for name in names}
    return intervals(_measured(texts, names), ranges, names[0], threads)


def test_the_published_numbers() -> None:
    # From the seed 1234567: the sequence printed with the reference code.
    numbers = split_mix(1_234_567)
    assert [next(numbers) for _ in range(3)] == [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
    ]


@settings(max_examples=30)
@given(texts=st.lists(TEXTS, min_size=1, max_size=3), seed=st.integers(0, 2**64 - 1))
def test_resamples_are_those_of_the_twin(texts: list[bytes], seed: int) -> None:
    measured = list(_measured(texts).values())
    native = [[text.native for text in own] for own in measured]
    rows = [[line for text in own for line in text.lines] for own in native]
    for threads in (1, 2):
        found = _native.resample_lines(native, 11, seed, threads)
        if rows[0]:
            assert found == [sums(own, 11, seed) for own in rows]
        else:
            assert all(not any(sums) for own in found for sums in own)


def test_intervals_are_those_of_the_twin() -> None:
    """Every figure by its formula, from the lines drawn; the 25th and the 975th of 1,000."""
    texts = [TEXT.encode() * 3, b"a new (longer) text\nlow\n"]
    found = _intervals(texts)
    assert found == _intervals(texts, threads=2)
    resampled = {}
    for name, own in _measured(texts).items():
        rows = [line for text in own for line in text.native.lines]
        resampled[name] = [Counts.of(row, {}, "spaces") for row in sums(rows, RESAMPLES, SEED)]
    for name in NAMES:
        reach = range_of(model(name).model)
        assert list(found[name].figures) == [metric.name for metric in METRICS]
        for metric in METRICS:
            interval = found[name].figures[metric.name]
            if not metric.adds_up:
                assert interval == Undefined(
                    "it is no sum over lines: a resample leaves lines out, and has fewer ids "
                    "whatever the noise"
                )
                continue
            both = zip(resampled[name], resampled["bpe"], strict=True)
            figures = [metric.figure(reach, *pair) for pair in both]
            if isinstance(figures[0], Undefined):
                assert interval == figures[0]
                continue
            figures.sort()  # type: ignore[type-var]
            assert interval == Interval(figures[24], figures[974])  # type: ignore[arg-type]
    reference = resampled["bpe"]
    differences = sorted(
        own.tokens / own.words - other.tokens / other.words
        for own, other in zip(resampled["wordpiece"], reference, strict=True)
    )
    fertility = found["wordpiece"].differences["fertility"]
    assert fertility == Interval(differences[24], differences[974])
    assert found["bpe"].differences == {}
    assert found["bpe"].figures["nsl"] == Interval(1, 1)


def test_differences_are_of_pairs() -> None:
    """What moves both models leaves the difference alone: it is narrower by far."""
    rng = random.Random(7)
    words = ["low", "lower", "newest", "widest", "longer", "new", "wide", "(longest)"]
    text = "".join(" ".join(rng.choices(words, k=rng.randint(1, 30))) + "\n" for _ in range(300))
    found = _intervals([text.encode()], ("characters", "bpe"))
    own, difference = (one["tokens"] for one in (found["bpe"].figures, found["bpe"].differences))
    assert isinstance(own, Interval) and isinstance(difference, Interval)
    assert difference.high - difference.low < (own.high - own.low) / 2
    assert Interval(0.1, 0.3).excludes_zero and Interval(-3, -1).excludes_zero
    assert not Interval(-0.1, 0.3).excludes_zero and not Interval(0, 1).excludes_zero


def test_equal_lines_have_no_noise() -> None:
    # Models to which no line is the first: no token takes a line feed or a space along.
    names = ("wordpiece", "bert")
    found = _intervals([b"low newest\n" * 50], names)
    for name in names:
        for interval in (*found[name].figures.values(), *found[name].differences.values()):
            if isinstance(interval, Interval):
                assert interval.low == interval.high


def test_too_little_to_draw_from() -> None:
    reason = Undefined("the text has fewer than two lines to draw from")
    for text in (b"", b"low", b"low\n"):
        assert set(_intervals([text])["bpe"].figures.values()) == {reason}
    # Words in one of two lines: of 1,000 resamples about a quarter have none.
    missing = _intervals([b"low new\n\n"])["bpe"].figures["fertility"]
    assert isinstance(missing, Undefined)
    assert missing.reason.endswith(" of 1,000 resamples there is no figure: the text has no words")
    drawn_twice = sum(set(lines) == {1} for lines in drawn(2, RESAMPLES, SEED))
    assert missing.reason.startswith(f"in {drawn_twice} of")
    assert 200 < drawn_twice < 300


def test_a_line_is_drawn_as_often_as_any_other() -> None:
    counts = [0] * 10
    for lines in drawn(10, RESAMPLES, SEED):
        for line in lines:
            counts[line] += 1
    # 10,000 draws of 10 lines: 1,000 each, with a standard deviation of 30.
    assert all(850 < count < 1150 for count in counts)


@pytest.mark.slow
def test_the_interval_covers_the_true_figure() -> None:
    """Texts of lines that are drawn from a fixed set: about 95 % of the intervals hold the
    figure of the set."""
    lines = [b"low lower\n", b"newest widest longer new\n", b"wide (longest)\n", b"a\n", b"low\n"]
    true = measure_all(model("bpe"), b"".join(lines), 1).counts
    rng = random.Random(20)
    covered = {"fertility": 0, "bytes_per_token": 0}
    runs = 200
    for _ in range(runs):
        text = b"".join(rng.choices(lines, k=120))
        figures = _intervals([text], ("bpe",))["bpe"].figures
        for name, expected in (
            ("fertility", true.tokens / true.words),
            ("bytes_per_token", true.bytes / true.tokens),
        ):
            interval = figures[name]
            assert isinstance(interval, Interval)
            covered[name] += interval.low <= expected <= interval.high
    # 190 of 200 with a standard deviation of 3; percentile intervals are a little short.
    for name, count in covered.items():
        assert 178 <= count <= 199, (name, count)


def test_models_with_other_lines_are_refused() -> None:
    one, other = (measure_all(model("bpe"), text, 1, lines=True) for text in (b"a\nb\n", b"a\n"))
    with pytest.raises(CoreError, match="different lengths"):
        _native.resample_lines([[one.native], [other.native]], 2, SEED, 1)
    with pytest.raises(CoreError, match="lines were not asked for"):
        plain = measure_all(model("bpe"), b"a\nb\n", 1).native
        _native.resample_lines([[plain]], 2, SEED, 1)
