"""A comparison in its forms: what any text becomes on terminals, in Markdown and in LaTeX."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.metrics.models import TEXT, document, model
from tokctl.analysis.comparison import Comparison, compare, train_sizes
from tokctl.analysis.metrics import HEADLINE
from tokctl.analysis.texts import Text
from tokctl.model.presets import default_recipe
from tokctl.report.compare import comparison_answer, difference, metric_named, metric_rows
from tokctl.report.document import Figure
from tokctl.report.latex import latex
from tokctl.report.markdown import markdown
from tokctl.report.spreadsheet import spreadsheet
from tokctl.report.terminal import console, show
from tokctl.report.visible import safe

HOSTILE = (
    "low \x1b[31m\\input{/etc/passwd} $x^2_1$ 100% & <script>#~|` \u202elow\u0301 語 שלום [b]x[/b]"
)


def compared(text: str) -> Comparison:
    names = ("bpe", "wordpiece", "unigram")
    return compare(
        [(f"{name}_{text[:9]}", model(name)) for name in names],
        [document(f"{TEXT}{text}\n")],
        sentences=[text],
        words=["lowest", text],
        languages={f"A{text[:5]}": document(TEXT), "B&B": document("low\n")},
    )


@pytest.fixture(scope="module")
def hostile() -> Comparison:
    return compared(HOSTILE)


def drawn(comparison: Comparison, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    stream = io.StringIO()
    show(comparison_answer(comparison), console(stream, color=False, is_terminal=False))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("width", [40, 60, 100, 160])
def test_terminals_of_any_width(
    hostile: Comparison, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = drawn(hostile, width, monkeypatch)
    assert max(cell_len(line.rstrip()) for line in lines) <= width
    page = "\n".join(lines)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    assert "\\x1b" in page
    # Markup of the terminal's library is text.
    assert "[b]" in page.replace("\n", "")


def test_the_same_text_stands_in_the_same_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [("b", model("bpe")), ("w", model("wordpiece"))]
    found = compare(models, [document(TEXT)], sentences=["lowest lower new"])
    lines = drawn(found, 100, monkeypatch)
    place = lines.index("lowest lower new")
    assert [line.rstrip() for line in lines[place + 1 : place + 3]] == [
        "b  5  low│est  │␣low│er│␣new",
        "w  4  low│##est│lower  │new",
    ]


def test_sentences_without_common_cuts_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [("b", model("bpe")), ("n", model("notebook-bpe"))]
    found = compare(models, [document(TEXT)], sentences=["low" * 40])
    lines = drawn(found, 40, monkeypatch)
    assert max(map(cell_len, map(str.rstrip, lines))) <= 40


@pytest.mark.parametrize("width", [40, 60, 160])
def test_bars_of_a_sweep(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = Text("", TEXT.encode() * 9)
    recipes = {name: default_recipe(name) for name in ("bpe", "word")}
    sweep = train_sizes(recipes, [text], [258, 270])
    found = compare([("bpe", sweep["bpe", 270])], [text.source()], sweep=sweep)
    lines = [line.rstrip() for line in drawn(found, width, monkeypatch)]
    first = lines.index("tokens ↓ by vocabulary size") + 2
    rows = lines[first : first + 2]
    assert [row.split()[0] for row in rows] == ["258", "270"]
    tokens = [f"{point.figures['tokens']:,}" for point in found.sweep if point.model == "bpe"]
    assert [row.split()[1] for row in rows] == tokens
    if width == 160:
        # The longest bar is that of the highest figure.
        assert len(max(re.findall(r"█+", rows[0]), key=len)) == 24
        assert len(max(re.findall(r"█+", rows[1]), key=len)) < 24


def plain_latex(text: str) -> str:
    """Without what this writer puts there itself, commands of LaTeX among it."""
    body = text.split("\n", 2)[2]
    body = re.sub(r"\\(begin|end)\{(tabular|itemize)\}(\{[^\n]*\})?", "", body)
    body = re.sub(r"\\(toprule|midrule|bottomrule|item|allowbreak|,)", "", body)
    body = re.sub(r"\\section\*|\\textbf|\\texttt", "", body)
    body = re.sub(r"\\text[a-z]+\{\}|\$(\\[a-z]+|-)\$|\\[{}$&#%_]|\\\\\n", "", body)
    return body.replace(" & ", "")


@settings(max_examples=15)
@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
def test_no_text_commands_latex(text: str) -> None:
    written = latex(comparison_answer(compared(f"{HOSTILE}{text}")))
    rest = plain_latex(written)
    assert not re.search(r"[\\$&#%_~^<>|\"'`]", rest)
    # Braces of the writer's own, which are balanced in every line.
    for line in rest.splitlines():
        assert line.count("{") == line.count("}")


@settings(max_examples=15)
@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=30))
def test_no_text_breaks_markdown_tables(text: str) -> None:
    written = markdown(comparison_answer(compared(f"{HOSTILE}{text}")))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", written)
    widths: list[int] = []
    for line in written.splitlines():
        cells = line.replace("\\|", "").count("|") if line.startswith("|") else 0
        if cells and widths and widths[-1]:
            assert cells == widths[-1]
        widths.append(cells)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", written)
    assert not re.search(r"(?<!\\)<", outside)


def test_spreadsheets_have_every_digit_and_safe_text(hostile: Comparison) -> None:
    text = spreadsheet(comparison_answer(hostile))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    tables = [list(csv.reader(table.splitlines())) for table in text.split("\n\n")]
    (metrics,) = [table for table in tables if table[0] == ["Metrics"]]
    names = [safe(found.name) for found in hostile.models]
    verdicts = [f"{name} verdict" for name in names]
    assert metrics[1] == ["metric", *names, *(name for name in verdicts if name in metrics[1])]
    for metric, row in zip(HEADLINE, metrics[3:], strict=True):
        figures = [found.total.figures[metric.name] for found in hostile.models]
        assert [float(cell) for cell in row[1:4]] == figures
        best = {f"{safe(name)} verdict" for name in hostile.best(metric)}
        assert {name for name, cell in zip(metrics[1], row, strict=True) if cell == "best"} == best
    (differences,) = [table for table in tables if table[0][0].startswith("Against ")]
    assert {cell for row in differences[2:] for cell in row[3:]} <= {"better", "worse", "equal", ""}
    assert differences[1] == ["metric", *names[1:], *verdicts[1:]]
    assert all(len(row) == len(table[1]) for table in tables for row in table[1:])


def test_very_many_bytes_per_token() -> None:
    # One unknown word of a million bytes is one token of WordPiece.
    found = compare([("b", model("bpe")), ("w", model("wordpiece"))], [document("x" * 1_000_000)])
    cell = dict(metric_rows(found))["bytes per token ↑"][1]
    assert isinstance(cell, Figure)
    assert (cell.value, cell.said) == (1_000_000, "1,000,000.000*")
    shown = difference(found, found.models[1], metric_named("bytes_per_token"))
    assert shown.said == "+99,999,900.0% better"
