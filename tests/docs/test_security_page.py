"""Each promise of SECURITY.md stands in a table beside the tests that hold it, and they exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
PROMISES = PAGE.partition("## What is promised")[2].partition("## What is not promised")[0]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows() -> list[list[str]]:
    """Return the cells of the tables, without their heads."""
    lines = [line for line in PROMISES.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    heads = {at for at, line in enumerate(lines) for at in (at - 1, at) if line.startswith("| ---")}
    return [row for at, row in enumerate(cells) if at not in heads]


def test_each_promise_names_a_test() -> None:
    found = rows()
    assert len(found) > 15
    for row in found:
        assert len(row) == 2 and row[0].endswith("."), row
        assert re.sub(r"<br>", "", NAMED.sub("", row[1])) == "" and NAMED.search(row[1]), row
    # All that is promised stands in a table.
    outside = [line for line in PROMISES.splitlines() if not line.startswith("|")]
    assert not NAMED.search("\n".join(outside))
    assert not [line for line in outside if line.startswith(("- ", "**"))]


def test_the_tests_are_there() -> None:
    named = NAMED.findall(PAGE)
    assert len(named) > 15
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
