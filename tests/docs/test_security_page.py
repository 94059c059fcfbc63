"""Each promise of SECURITY.md names the tests that show it, and they are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = PAGE.partition("## What is promised")[2].partition("## What is not promised")[0]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_each_promise_names_a_test() -> None:
    promises = re.split(r"\n- |\n\*\*", PROMISES)[1:]
    # What a list begins with ends with a colon, and promises nothing itself.
    bare = [
        text for text in promises if not NAMED.search(text) and not text.strip().endswith(":**")
    ]
    assert len(promises) > 10
    assert not bare


def test_the_tests_are_there() -> None:
    named = NAMED.findall(PAGE)
    assert len(named) > 15
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
