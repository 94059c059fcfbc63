"""Answers of `tokctl check-exercise`: the verdict on one exercise, and the list of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from tokctl.core.humanize import plural
from tokctl.extras.course.exercises import Exercise, written_call
from tokctl.extras.course.grader import CaseResult, ExerciseVerdict
from tokctl.report.document import (
    Block,
    Column,
    Content,
    Gap,
    Heading,
    Paragraph,
    Report,
    Span,
    Table,
    facts,
)
from tokctl.report.visible import safe

#: Longest value shown, in characters; JSON has the whole value.
_MOST = 3000


def verdict_answer(verdict: ExerciseVerdict) -> Report:
    """Return the document of a verdict: all cases in short, the first failed one in full."""
    return Report(
        "check-exercise",
        f"Exercise {verdict.exercise.number}",
        lambda: _verdict_blocks(verdict),
        data=verdict.to_dict,
    )


def exercises_answer(exercises: Iterable[Exercise]) -> Report:
    """Return the document that lists all exercises, grouped by page."""
    found = list(exercises)
    return Report(
        "check-exercise",
        "Exercises",
        lambda: _list_blocks(found),
        data=lambda: [
            {
                "number": one.number,
                "function": one.signature,
                "page": one.page,
                "returns": one.task,
                "example": written_call(one, one.example),
            }
            for one in found
        ],
    )


def _list_blocks(found: Iterable[Exercise]) -> Iterator[Block]:
    for page, exercises in groupby(found, key=lambda one: one.page):
        yield Heading(page)
        rows: list[list[Content]] = [
            [one.number, [Span(one.signature, "bold"), f": {one.task}"]] for one in exercises
        ]
        yield Table((Column(), Column(fold=True)), rows)


def _verdict_blocks(verdict: ExerciseVerdict) -> Iterator[Block]:
    asked = verdict.exercise
    yield Paragraph([Span(f"{asked.number} {asked.signature}", "bold"), f": {asked.task}"])
    rows: list[list[Content]] = [[_mark(one), one.case.name] for one in verdict.results]
    yield Table((Column(), Column(fold=True)), rows)
    if failed := verdict.first_failed:
        yield Heading(f"The first that failed: {failed.case.name}")
        yield facts(_failure(asked, failed))
    passed = sum(one.passed for one in verdict.results)
    yield Gap()
    if verdict.passed:
        yield Paragraph(f"{asked.number}: all {plural(passed, 'case')} passed", "bold green")
    else:
        total = plural(len(verdict.results), "case")
        yield Paragraph(f"{asked.number}: {passed} of {total} passed", "bold red")


def _mark(result: CaseResult) -> Span:
    if result.passed:
        return Span("passed", "green")
    return Span("FAILED", "bold red") if result.ran else Span("not run", "dim")


def _failure(asked: Exercise, result: CaseResult) -> Iterator[tuple[str, str]]:
    yield "called", _shown(written_call(asked, result.case))
    yield "expected", _shown(repr(result.expected))
    if result.trouble is None:
        yield "got", _shown(repr(result.got))
        if result.difference and result.difference.startswith("at "):
            yield "differs", _shown(result.difference)
        if result.got is None and result.expected is not None:
            yield "hint", "the function returned None: is there a return at its end?"
    else:
        yield "stopped", _shown(result.trouble.what)
        for line, name, text in result.trouble.places:
            yield "", safe(f"line {line}{f', in {name}' if name else ''}: {text}")
    if result.printed:
        yield "printed", _shown(result.printed.rstrip())


def _shown(text: str) -> str:
    more = len(text) - _MOST
    return safe(text[:_MOST]) + (f" … {more:,} more characters; --json has all" if more > 0 else "")
