"""The examples of `docs/idfiles.md` run, one after the other, and give what stands beside them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import tokctl
from tests.idfiles import made
from tests.tools.docs.examples import run
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
        if kind == "python":
            shown += run(block, names)
            continue
        for part in block.split("$ tokctl ")[1:]:
            line, _, output = part.partition("\n")
            assert tokctl(*shlex.split(line)) == (0, output.encode(), ""), line
    assert shown > 12


def test_every_form_has_a_section() -> None:
    sections = re.findall(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    assert set(idfiles.BINARY_FORMS) <= set(sections)
