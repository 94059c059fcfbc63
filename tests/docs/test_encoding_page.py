"""The examples of `docs/encoding.md` give what stands beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tools.docs.examples import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "encoding.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_example(example: str) -> None:
    assert run(example) == example.count("  # ") > 0
