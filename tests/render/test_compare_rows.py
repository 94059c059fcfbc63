"""What the rows of a comparison say in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.metrics.models import TEXT, document, model
from tokctl.analysis.comparison import Comparison, compare
from tokctl.report import compare as rows


def held_against(own: float, reference: float, metric: str = "tokens") -> str:
    """The words for one figure against the baseline's."""
    found = compare([("b", model("bpe")), ("w", model("wordpiece"))], [document(TEXT)])
    reports = [
        replace(
            report, total=replace(report.total, figures={**report.total.figures, metric: figure})
        )
        for report, figure in zip(found.models, (reference, own), strict=True)
    ]
    made = replace(found, models=tuple(reports))
    return rows.difference(made, reports[1], rows.metric_named(metric)).said


@pytest.mark.parametrize(
    ("own", "reference", "words"),
    [
        (90, 100, "−10.0% better"),  # noqa: RUF001
        (150_000, 100, "+149,900.0% worse"),
        (100, 100, "equal"),
        # Something is left, so that it is not all.
        (1, 10_000_000, "−99.9% better"),  # noqa: RUF001
        (0, 100, "−100.0% better"),  # noqa: RUF001
        (5, 0, "n/a"),
    ],
)
def test_differences(own: float, reference: float, words: str) -> None:
    assert held_against(own, reference) == words


def test_shares_differ_in_points() -> None:
    assert held_against(0.25, 0.5, "strr") == "−25.0 pp worse"  # noqa: RUF001


def of_texts(*texts: str) -> Comparison:
    return compare([model("bpe")], [document(text) for text in texts])


def test_texts_that_have_a_figure_only_together_with_others() -> None:
    found = of_texts(TEXT * 9, "low" * 100)
    name = found.texts[1].name
    assert rows.notes(found)[-1] == (
        f"fertility, continued words, STRR over all texts hold {name}, which by themselves have "
        "none"
    )
    assert rows.notes(of_texts(TEXT, TEXT))[-1].startswith("n/a: UNK rate")
