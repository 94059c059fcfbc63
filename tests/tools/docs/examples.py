"""Running the examples of a page: what stands behind two spaces and a # is what they give."""

from __future__ import annotations

import ast
from typing import Any


def run(example: str, names: dict[str, Any] | None = None) -> int:
    """Runs it statement by statement, with these names; how many gave what they should."""
    names = {} if names is None else names
    lines = example.splitlines()
    checked = 0
    for statement in ast.parse(example).body:
        last = lines[(statement.end_lineno or 0) - 1]
        shown = last[statement.end_col_offset :].partition("  # ")[2]
        if isinstance(statement, ast.Expr) and shown:
            code = compile(ast.Expression(statement.value), "example", "eval")
            assert eval(code, names) == ast.literal_eval(shown), last
            checked += 1
        else:
            assert not shown, last
            exec(compile(ast.Module([statement], []), "example", "exec"), names)
    return checked
