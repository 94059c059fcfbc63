"""The examples of `docs/api.md` run as they stand, one after the other, and give what stands beside
them."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^## ([^\n]*)\n(?:(?!^## ).)*?```python\n(.*?)```", TEXT, flags=re.M | re.S)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == TEXT.count("```python") >= 8


def run(example: str) -> int:
    """Runs it statement by statement; how many gave what they should."""
    names: dict[str, Any] = {"__name__": "example"}
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.mark.parametrize(("title", "example"), EXAMPLES, ids=[title for title, _ in EXAMPLES])
def test_the_example(
    title: str, example: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del title
    for name in re.findall(r"^(?:from|import) (\w+)", example, flags=re.M):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    monkeypatch.chdir(folder)
    if not (folder / "book.json").exists():  # when an example is run by itself
        run(EXAMPLES[0][1])
    assert run(example) >= 1


def test_every_method_is_named() -> None:
    from tokctl.decodes import Decodes
    from tokctl.encodes_bulk import EncodesBulk

    methods = [name for name in dir(EncodesBulk) if name.startswith("encode_")]
    methods += ["decode", "decode_bytes", "decode_batch"]
    assert all(hasattr(Decodes, name) for name in methods[-3:])
    assert [name for name in methods if f"`{name}" not in TEXT] == []
