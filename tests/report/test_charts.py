"""Charts: every one can be drawn, says what its data says, and is inert."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import slow_but
from tests.explain import every
from tests.report.made import EVIL, NAMES, contrast, hostile
from tokctl.analysis.comparison import Comparison, Language, Languages, SweepPoint
from tokctl.analysis.explain import summarize
from tokctl.analysis.explain.summary import UseCurves, model_curves
from tokctl.analysis.metrics import METRICS, Undefined
from tokctl.core.errors import TokctlError
from tokctl.report import charts
from tokctl.report.charts.converter import Converter
from tokctl.report.charts.drawing import (
    ENDINGS,
    PAGE,
    PAPER,
    Drawing,
    chart_bytes,
    ending_of,
    labels,
    page_svg,
)

pytest.importorskip("altair", reason="charts need the extra `report`")
pytest.importorskip("vl_convert", reason="charts need the extra `report`")

from tokctl.report.charts import figures
from tokctl.report.charts.figures import compare_drawings, inspect_drawings

START = {".png": b"\x89PNG\r\n", ".svg": b"<svg ", ".pdf": b"%PDF-", ".json": b"{\n"}


def asked_for() -> Comparison:
    """The hostile comparison with everything that comparisons have only where it is asked."""
    figures = {"tokens": 100.0, "bytes_per_token": 3.0, "fertility": 1.5}
    points = tuple(
        SweepPoint(name, size, size, False, figures | {"tokens": 1e5 / size})
        for name in NAMES
        for size in (1000, 2000)
    )
    costs = tuple({"parity": 1.0 + n, "tokens_per_line": 20.0} for n in range(3))
    languages = Languages(EVIL[0], tuple(Language(n, 3, costs) for n in EVIL), (0.1, 0.2, 0.3))
    return replace(hostile().comparison, sweep=points, languages=languages, findings=tuple(EVIL))


def drawings() -> dict[str, Drawing]:
    """Every chart there is, of hostile names and of every kind of model."""
    found = dict(compare_drawings(asked_for(), hostile().uses))
    for name in ("default bpe", "default wordpiece", "default unigram", "ranks", "default word"):
        model = every.model(name)
        use = UseCurves({1: 3, 4: 2}, [(1, 9), (2, 3)])
        made = inspect_drawings(summarize(model), model_curves(model), use)
        found |= {f"{name}: {chart}": drawing for chart, drawing in made.items()}
    return found


DRAWINGS = drawings()


@pytest.fixture(scope="module")
def converter() -> Iterator[Converter]:
    with Converter() as found:
        yield found


def test_every_name_is_drawn_somewhere() -> None:
    names = {drawing.name for drawing in DRAWINGS.values()}
    assert names == {*charts.COMPARE, *charts.INSPECT}
    found = compare_drawings(asked_for(), hostile().uses)
    assert list(found) == list(charts.COMPARE)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("width", [680, 340])
def test_charts_of_the_page(name: str, width: int, converter: Converter) -> None:
    drawing = DRAWINGS[name]
    svg = page_svg(converter, drawing.draw(width, PAGE), "wide")
    root = ElementTree.fromstring(svg)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "g", "path", "rect", "line", "text", "tspan"}
    for element in root.iter():
        assert not [a for a in element.attrib if a.startswith(("on", "{")) or a == "style"]
    # All colours are the page's.
    paints = set(re.findall(r'(?:fill|stroke)="([^"]*)"', svg))
    assert paints <= {"none", "transparent", *map("var(--{})".format, _variables())}
    assert "#00fe" not in svg
    _, _, shown, _ = map(float, root.attrib["viewBox"].split())
    assert shown <= width + 130
    tips = [element.get("data-tip") for element in root.iter() if element.get("data-tip")]
    assert tips
    assert all(len(row) == len(drawing.columns) for row in drawing.rows)


def _variables() -> list[str]:
    return ["ink", "quiet", "grid", *(f"s{n}" for n in range(1, 9))]


@pytest.mark.slow
@pytest.mark.parametrize("ending", slow_but(ENDINGS, ".svg"))
def test_files(ending: str) -> None:
    for name in ("relative", "languages", "default bpe: kinds"):
        data = chart_bytes(DRAWINGS[name], ending)
        assert data.startswith(START[ending])
        again = chart_bytes(DRAWINGS[name], ending)
        # The converter puts the fonts of a PDF in an order of its own each time.
        assert data == again if ending != ".pdf" else len(data) == len(again)


def test_the_specification_holds_the_numbers() -> None:
    found = orjson.loads(chart_bytes(DRAWINGS["lengths"], ".json"))
    values = found["data"]["values"]
    assert {entry["model"] for entry in values} == set(labels(NAMES))
    for name in labels(NAMES):
        assert sum(e["y"] for e in values if e["model"] == name) == pytest.approx(100)


def test_the_largest_tick_is_no_invention() -> None:
    svg = chart_bytes(DRAWINGS["sweep"], ".svg").decode()
    assert "1,000" in svg or "1k" in svg
    assert "http" not in svg.replace("http://www.w3.org", "")


def test_wrong_endings_are_refused() -> None:
    for path in ("chart.gif", "chart", "chart.svg.gz"):
        with pytest.raises(TokctlError, match=f"can't write a chart to {path}, which "):
            ending_of(path)
    assert ending_of("A.PNG") == ".png"


def test_better_is_better() -> None:
    metrics = {metric.name: metric for metric in METRICS}
    assert figures.better(metrics["tokens"], 90, 100) == pytest.approx(10)
    assert figures.better(metrics["tokens"], 110, 100) == pytest.approx(-10)
    assert figures.better(metrics["strr"], 0.6, 0.5) == pytest.approx(20)
    assert figures.better(metrics["strr"], 0.6, 0.0) is None
    assert figures.better(metrics["strr"], Undefined("x"), 1.0) is None


@settings(max_examples=60)
@given(st.dictionaries(st.integers(0, 40), st.integers(1, 10**12), max_size=30))
def test_shares_of_lengths_are_shares(counts: dict[int, int]) -> None:
    drawing = figures.lengths(["a"], [counts])
    total = sum(float(row[1].strip("<>%")) for row in drawing.rows)
    assert not counts or total == pytest.approx(100, abs=0.4)


@given(st.lists(st.text(max_size=90), min_size=1, max_size=6))
def test_labels_are_many_and_seen(names: list[str]) -> None:
    found = labels(names)
    assert len(set(found)) == len(names)
    assert all(label.isprintable() for label in found)


def test_charts_on_paper_can_be_seen() -> None:
    assert contrast(PAPER.ink, PAPER.background) >= 7
    assert contrast(PAPER.quiet, PAPER.background) >= 4.5
    assert all(contrast(color, PAPER.background) >= 3 for color in PAPER.series)


@pytest.mark.slow
def test_a_comparison_without_sizes_and_languages_has_no_charts_of_them() -> None:
    found = compare_drawings(hostile().comparison, hostile().uses)
    assert not {"sweep", "languages"} & set(found)
