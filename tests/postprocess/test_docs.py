"""The example of `docs/encoding.md` says what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "encoding.md"


def test_the_example_says_what_happens() -> None:
    if not PAGE.exists():
        pytest.skip("the documents are not in an installed wheel")
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    names: dict[str, object] = {}
    checked = 0
    for line in found[1].splitlines():
        code, _, said = line.partition("  # ")
        if said:
            assert repr(eval(code, names)) == said
            checked += 1
        else:
            exec(code, names)
    assert checked == 3
