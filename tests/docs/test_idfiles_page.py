"""The examples of `docs/idfiles.md` run, one after the other, and give what stands beside them."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import tokctl
from tests.idfiles import made
from tokctl import idfiles

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "idfiles.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(console|python)\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.models(tmp_path)
    (tmp_path / "bytes.json").rename(tmp_path / "m.json")
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_bytes(b"low lower\nnewest, widest\nlow\n")
    names: dict[str, Any] = {}
    shown = 0
    for kind, block in BLOCKS:
        lines = block.splitlines()
        if kind == "console":
            for line in lines:
                command = shlex.split(line.removeprefix("$ tokctl "))
                assert tokctl(*command) == (0, b"", ""), line
            continue
        for statement in ast.parse(block).body:
            last = lines[(statement.end_lineno or 0) - 1]
            answer = last[statement.end_col_offset :].partition("  # ")[2]
            if isinstance(statement, ast.Expr) and answer:
                code = compile(ast.Expression(statement.value), "example", "eval")
                assert eval(code, names) == ast.literal_eval(answer), last
                shown += 1
            else:
                exec(compile(ast.Module([statement], []), "example", "exec"), names)
    assert shown > 12


def test_every_form_has_a_section() -> None:
    sections = re.findall(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    assert set(idfiles.FORMS) <= set(sections)
