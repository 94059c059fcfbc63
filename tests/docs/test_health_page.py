"""docs/health.md has a row for every check, and no other, with what the code says of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.explain.every import TEXT, model
from tests.explain.health.sick import health
from tokctl.analysis.health import CHECKS, SEVERITIES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "health.md").read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    """The cells of the table of checks; a bar inside one is written with a backslash."""
    section = PAGE.split("## The checks\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines
    ]


def test_every_check_has_its_row_and_every_row_its_check() -> None:
    expected = [
        [f"`{name}`", check.severity, check.things, check.what, check.why]
        for name, check in CHECKS.items()
    ]
    assert rows() == expected
    assert {check.severity for check in CHECKS.values()} == set(SEVERITIES)


def test_the_fields_of_the_json() -> None:
    section = PAGE.split("## JSON\n")[1]
    data = health(model("char-bpe"), TEXT).to_dict()
    table = re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
    assert table == list(data)
    said, _, of_examples = section.split("A finding has ")[1].partition("An example has ")
    finding = data["findings"][0]
    assert set(re.findall(r"`(\w+)`", said)) == finding.keys()
    assert set(re.findall(r"`(\w+)`", of_examples)) == finding["examples"][0].keys()
    json.dumps(data)
