"""The examples of `docs/arrow.md` run, one after the other, and give what stands beside them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.tools.docs.examples import run
from tokctl.extras import arrow

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "arrow.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    for example in EXAMPLES:
        names = re.findall(r"^(?:from|import) (\w+)", example, flags=re.MULTILINE)
        if all(importlib.util.find_spec(name) for name in names):
            assert run(example) >= 1


def test_every_function_is_named() -> None:
    assert [name for name in arrow.__all__ if f"{name}(" not in PAGE] == []
