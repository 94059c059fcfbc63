"""The examples of `docs/engines.md` run, each behind the first, where its engine is installed."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
FIRST, *EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
NAMES = [re.findall(r"^(?:from|import) (\w+)", example, flags=re.MULTILINE) for example in EXAMPLES]


def test_each_engine_has_an_example() -> None:
    assert [names[0] for names in NAMES] == ["pyspark", "dask", "datatrove", "datasets"]


#: Runs the first block and another, in a process of its own: Spark's Java stays in the folder in
#: which it was started.
_RUN = """
import sys
from tests.tools.docs.examples import run
from tests.docs.test_engines_page import EXAMPLES, FIRST

if __name__ == "__main__":
    given = {}
    run(FIRST, given)
    assert run(EXAMPLES[int(sys.argv[1])], given) >= 2
"""


@pytest.mark.parametrize("number", range(len(NAMES)), ids=[names[0] for names in NAMES])
def test_the_examples(number: int, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    if missing := [name for name in NAMES[number] if not importlib.util.find_spec(name)]:
        pytest.skip(f"{missing[0]} is not installed")
    if "pyspark" in NAMES[number] and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    program = tmp_path / "example.py"
    program.write_text(_RUN, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(program), str(number)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
