"""`docs/suite.md` says of each metric what the code says, and names every key of the document."""

from __future__ import annotations

import re
from pathlib import Path

import numpy
import pytest
from safetensors.numpy import save_file

from tests.docs.test_compare_page import paths
from tests.metrics.models import TEXT, document, model
from tests.metrics.test_definitions import plain
from tests.tools.docs import examples
from tokctl.analysis.metrics import Definition, metric_names
from tokctl.analysis.suite_metrics import DEFINITIONS
from tokctl.extras.suite import run_suite, splits
from tokctl.extras.suite.morphology import GoldWord

PAGE = (Path(__file__).parents[2] / "docs" / "suite.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("definition", DEFINITIONS.values(), ids=lambda definition: definition.name)
def test_the_page_says_the_same(definition: Definition) -> None:
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{definition.name}` |"))
    name, formula, better, source = (
        plain(cell).strip() for cell in row.replace("\\|", "¦").split("|")[1:-1]
    )
    assert (name, formula.replace("¦", "|")) == (definition.name, plain(definition.formula))
    assert better == ("" if definition.better == "neither" else definition.better)
    assert source == definition.source
    said = " ".join(PAGE.split())
    assert f"**`{definition.name}`**, {definition.label}. {definition.misleads}" in said


def test_every_key_is_documented(tmp_path: Path) -> None:
    tokenizer = model("bpe")
    rows = numpy.random.default_rng(0).normal(size=(tokenizer.vocab_size, 4)).astype("float32")
    file = tmp_path / "model.safetensors"
    save_file({"wte.weight": rows, "lm_head.weight": rows}, file)
    found = run_suite(
        [("bpe", tokenizer), ("unigram", model("char-bpe"))],
        [document(TEXT)],
        gold={"gold": [GoldWord("low", ("low",))]},
        embeddings={"bpe": file},
        published=["unigram"],
    )
    names = {*metric_names(), *DEFINITIONS, "bpe", "unigram", "parity", "tokens_per_line"}
    keys = set(paths(found.to_dict(), "suite", names))
    documented = set(re.findall(r"^\| `(suite\.[^`]+)` \|", PAGE, flags=re.MULTILINE))
    assert keys == documented


def test_the_page_counts_what_there_is() -> None:
    assert f"{len(splits.OPERATORS)} operators" in PAGE
    assert "Forty names" in PAGE and len(splits.NAMES) == 40
    said = [f"{n}" for kind, n in splits.INDENTATIONS if kind == "space"]
    assert f"{', '.join(said[:-1])} and {said[-1]} spaces" in PAGE


def test_the_example() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert examples.run(example, {"__name__": "example"}) == 3
