"""What is said of the metrics: in the code, and in `docs/metrics.md`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.errors import raises_code
from tokctl.analysis.metrics import DEFINITIONS, METRICS, Definition, definition_of

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")


def plain(markdown: str) -> str:
    """Without what makes text italic, bold, code or a link."""
    linked = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    return re.sub(r"[*`\\]", "", linked)


def _row(name: str) -> list[str]:
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    assert len(rows) == 1, name
    return [plain(cell).strip() for cell in rows[0].replace("\\|", "¦").split("|")[1:-1]]


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=lambda definition: definition.name)
def test_the_page_says_the_same(definition: Definition) -> None:
    name, formula, *others = _row(definition.name)
    assert (name, formula.replace("¦", "|")) == (definition.name, definition.formula)
    if definition.better != "neither":
        assert others[0] == definition.better
    for part in definition.source.split("; "):
        assert part in others[-1], part
    assert f"**`{definition.name}`**" in PAGE, "when does it mislead?"


def test_every_metric_is_defined() -> None:
    names = [metric.name for metric in METRICS]
    assert list(DEFINITIONS)[: len(names)] == names
    for metric in METRICS:
        assert metric.better in ("higher", "lower")
        assert metric.unit.startswith("share") == (metric.kind == "share")


def test_every_definition_is_whole() -> None:
    for name, definition in DEFINITIONS.items():
        assert definition_of(name) is definition
        assert definition.better in ("higher", "lower", "neither")
        said = definition.to_dict()
        assert list(said) == ["name", "label", "formula", "unit", "better", "source", "misleads"]
        assert all(text == text.strip() for text in said.values())
        assert definition.misleads.endswith(".") and definition.formula and definition.unit


def test_a_name_that_is_none() -> None:
    with raises_code("unknown-name", "no metric is called 'fertilty'") as raised:
        definition_of("fertilty")
    assert str(raised.value.hint).startswith("did you mean fertility? choose one of: tokens, ")


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_label_is_a_name_too(name: str) -> None:
    definition = DEFINITIONS[name]
    for spelled in (definition.label, definition.label.upper(), name.replace("_", "-")):
        assert definition_of(spelled) is definition
