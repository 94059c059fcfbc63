"""The speed of a model: what it says it measured, and that it ends."""

from __future__ import annotations

import itertools

import pytest

from tests.metrics.models import RECIPES, TEXT, model
from tokctl.analysis.comparison import measuring
from tokctl.analysis.comparison.measuring import BUDGET, _leading_bytes, speed
from tokctl.analysis.metrics import Undefined
from tokctl.analysis.texts import Text


@pytest.mark.parametrize("name", RECIPES)
def test_every_model_has_a_speed(name: str) -> None:
    found = speed(model(name), [Text("a", TEXT.encode() * 40), Text("b", b"low\n")], 1)
    assert found.bytes == len(TEXT) * 40 + 4
    assert found.threads == 1
    assert found.encode_mb_per_s > 0  # type: ignore[operator]
    if isinstance(found.decode_mb_per_s, Undefined):
        assert model(name).unk_id is None
    else:
        assert found.decode_mb_per_s > 0


def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock by which a run takes a thousandth, or a third, of the budget."""
    text = Text("a", TEXT.encode() * 100_000)
    for part in (0.001, 0.3):
        clock = itertools.count(0.0, part * BUDGET)
        monkeypatch.setattr(measuring, "perf_counter", lambda clock=clock: next(clock))
        found = speed(model("bpe"), [text], 2)
        assert (found.bytes > 1 << 14) == (part < 0.1)
        assert found.bytes < len(text.data)
        assert found.seconds < 20 * BUDGET


def test_what_has_no_id_is_not_decoded() -> None:
    found = speed(model("end"), [Text("a", "low é\n".encode() * 9)], 1)
    assert isinstance(found.decode_mb_per_s, Undefined)
    assert found.encode_mb_per_s > 0  # type: ignore[operator]


def test_no_text_has_no_speed() -> None:
    found = speed(model("bpe"), [Text("a", b"")], 1)
    assert isinstance(found.encode_mb_per_s, Undefined)
    assert isinstance(found.decode_mb_per_s, Undefined)
    assert found.bytes == 0


@pytest.mark.parametrize(
    ("texts", "size", "expected"),
    [
        ([b"ab\ncd\nef"], 99, b"ab\ncd\nef"),
        ([b"ab\ncd\nef"], 7, b"ab\ncd\n"),
        ([b"ab\n", b"cd\nef"], 7, b"ab\ncd\n"),
        ([b"ab", b"cd"], 4, b"abcd"),
        (["aéé".encode()], 4, "aé".encode()),
        (["aéé".encode()], 3, "aé".encode()),
        (["字字".encode()], 5, "字".encode()),
        (["字字".encode()], 3, "字".encode()),
        ([b"\x80" * 9], 5, b"\x80" * 5),
    ],
)
def test_a_slice_ends_with_a_line_or_a_character(
    texts: list[bytes], size: int, expected: bytes
) -> None:
    assert _leading_bytes([Text("", text) for text in texts], size) == expected
