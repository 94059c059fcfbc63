"""`docs/formats.md` names every format, and says truly what is read and written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokctl.formats import FORMATS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats.md"


def test_the_table_is_that_of_the_code() -> None:
    if not PAGE.exists():
        pytest.skip("the documentation is not in an installed wheel")
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    found = [tuple(row) for row in rows if len(row) == 4 and row[0][:1] == "`"][1:]
    expected = []
    for one in FORMATS:
        read = "yes" if one.name != "word-counts" else "by `train --word-counts`"
        expected.append((f"`{one.name}`", one.title, read, "yes" if one.writes else "no"))
    assert found == expected


@pytest.mark.parametrize("name", [one.name for one in FORMATS])
def test_each_has_a_section(name: str) -> None:
    if not PAGE.exists():
        pytest.skip("the documentation is not in an installed wheel")
    assert f"\n### {name}\n" in PAGE.read_text(encoding="utf-8")
