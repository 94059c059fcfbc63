"""The examples of `docs/engines.md` run, each behind the first, where its engine is installed."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.docs.examples import run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "engines.md").read_text(encoding="utf-8")
FIRST, *EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
NAMES = [re.findall(r"^(?:from|import) (\w+)", example, flags=re.MULTILINE) for example in EXAMPLES]


def test_each_engine_has_an_example() -> None:
    assert [names[0] for names in NAMES] == ["pyspark", "dask", "datatrove", "datasets"]


@pytest.mark.parametrize(
    ("example", "names"), zip(EXAMPLES, NAMES, strict=True), ids=lambda x: x[0]
)
def test_the_examples(
    example: str, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    if missing := [name for name in names if not importlib.util.find_spec(name)]:
        pytest.skip(f"{missing[0]} is not installed")
    if "pyspark" in names and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {}
    run(FIRST, given)
    assert run(example, given) >= 2
