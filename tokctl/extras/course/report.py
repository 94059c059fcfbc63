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
    listed = list(exercises)
    return Report(
        "check-exercise",
        "Exercises",
        lambda: _list_blocks(listed),
        data=lambda: [
            {
                "number": exercise.number,
                "function": exercise.signature,
                "page": exercise.page,
                "returns": exercise.task,
                "example": written_call(exercise, exercise.example),
            }
            for exercise in listed
        ],
    )


def _list_blocks(page_exercises: Iterable[Exercise]) -> Iterator[Block]:
    for page, exercises in groupby(page_exercises, key=lambda exercise: exercise.page):
        yield Heading(page)
        rows: list[list[Content]] = [
            [exercise.number, [Span(exercise.signature, "bold"), f": {exercise.task}"]]
            for exercise in exercises
        ]
        yield Table((Column(), Column(fold=True)), rows)


def _verdict_blocks(verdict: ExerciseVerdict) -> Iterator[Block]:
    exercise = verdict.exercise
    yield Paragraph([Span(f"{exercise.number} {exercise.signature}", "bold"), f": {exercise.task}"])
    rows: list[list[Content]] = [[_mark(result), result.case.name] for result in verdict.results]
    yield Table((Column(), Column(fold=True)), rows)
    if failed := verdict.first_failed:
        yield Heading(f"The first that failed: {failed.case.name}")
        yield facts(_failure(exercise, failed))
    passed = sum(result.passed for result in verdict.results)
    yield Gap()
    if verdict.passed:
        yield Paragraph(f"{exercise.number}: all {plural(passed, 'case')} passed", "bold green")
    else:
        total = plural(len(verdict.results), "case")
        yield Paragraph(f"{exercise.number}: {passed} of {total} passed", "bold red")


def _mark(result: CaseResult) -> Span:
    if result.passed:
        return Span("passed", "green")
    return Span("FAILED", "bold red") if result.ran else Span("not run", "dim")


def _failure(exercise: Exercise, result: CaseResult) -> Iterator[tuple[str, str]]:
    yield "called", _shown(written_call(exercise, result.case))
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
    omitted = len(text) - _MOST
    return safe(text[:_MOST]) + (
        f" … {omitted:,} more characters; --json has all" if omitted > 0 else ""
    )
