"""The suite in its forms: terminals of any width, Markdown, LaTeX, lines, with any names."""

from __future__ import annotations

import csv
import io
import json

import pytest
from rich.cells import cell_len

from tests.metrics.models import TEXT, document, model
from tests.render.test_compare_forms import HOSTILE
from tokctl.analysis.comparison import compare
from tokctl.analysis.suite_metrics import DEFINITIONS
from tokctl.extras.suite import run_suite
from tokctl.extras.suite.morphology import GoldWord
from tokctl.extras.suite.report import sections, suite_answer
from tokctl.report.document import Report
from tokctl.report.latex import latex
from tokctl.report.markdown import markdown
from tokctl.report.spreadsheet import spreadsheet
from tokctl.report.terminal import console, show


@pytest.fixture(scope="module")
def answer() -> Report:
    models = [(f"{name}_{HOSTILE}", model(name)) for name in ("bpe", "end", "char")]
    texts = [document(b"", "empty"), document(TEXT, HOSTILE), document(b"a\n", "one")]
    gold = {HOSTILE: [GoldWord("lowest", ("low", "est"))]}
    return suite_answer(run_suite(models, texts, gold=gold), compare(models, texts))


@pytest.mark.parametrize("width", [40, 100, 160])
def test_terminals_of_any_width(
    answer: Report, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    stream = io.StringIO()
    show(answer, console(stream, color=False, is_terminal=False))
    text = stream.getvalue()
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
    assert "\x1b" not in text and "\u202e" not in text


def test_paper(answer: Report) -> None:
    for text in (markdown(answer), latex(answer)):
        assert "\x1b" not in text and "\u202e" not in text and "<script>" not in text
    assert "\\input" not in latex(answer)


def test_lines_and_json(answer: Report) -> None:
    tables = [list(csv.reader(part.splitlines())) for part in spreadsheet(answer).split("\n\n")]
    (sizes,) = [table for table in tables if table[0] == ["Bytes per token ↑, by domain"]]
    assert sizes[1][0] == "domain" and sizes[1][4].endswith(" verdict")
    assert {cell for row in sizes[2:] for cell in row[4:]} >= {"best", ""}
    figures = [cell for row in sizes[2:] for cell in row[1:4] if cell]
    assert figures and all(float(cell) > 0 for cell in figures)  # without the marks of verdicts
    assert len(max(figures, key=len)) > 10  # every digit
    suite = json.loads(answer.json())["suite"]
    assert suite["domains"][0]["models"][0]["metrics"]["bytes_per_token"] is None


@pytest.mark.parametrize("name", ["albert", "notebook-bpe", "word"])
def test_models_of_every_kind(name: str) -> None:
    suite = run_suite([(name, model(name)), ("bpe", model("bpe"))])
    shown = list(sections(suite))
    assert all(len(cells) == 2 for section in shown for _, cells in section.rows)
    assert {section.metric for section in shown} - set(DEFINITIONS) <= {
        *("bytes_per_token", "intervals", "unk_rate", "strr", "round_trip", "parity")
    }
    assert suite.findings and all(domain.fewest for domain in suite.domains)
