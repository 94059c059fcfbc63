"""The examples and the limits of `docs/chat.md`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.examples import run
from tokctl.chat import mask, sandbox
from tokctl.idfiles.packing import OPEN

PAGE = Path(__file__).resolve().parents[2] / "docs" / "chat.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL))
def test_the_example(example: str) -> None:
    assert run(example) == example.count("  # ") > 0


def test_the_limits() -> None:
    assert f"after {sandbox.MOST_STEPS:,} steps" in TEXT
    assert f"more than {sandbox.LONGEST_TEXT:,} characters" in TEXT
    assert f"may have {mask.MOST_TURNS} turns" in TEXT
    assert f"; {OPEN} are open at a time" in TEXT
