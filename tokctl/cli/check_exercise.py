"""`tokctl check-exercise`: solutions of the tutorial's exercises."""

import typer

from tokctl.cli import paging
from tokctl.cli.command import add_command
from tokctl.cli.options.others import (
    ExerciseFile,
    ExerciseJson,
    ExerciseNumber,
    ExerciseTimeout,
    ListExercises,
)
from tokctl.cli.world import Console
from tokctl.core.errors import BadOption, ExitCode

EXAMPLES = """Examples:

  tokctl check-exercise --list
  tokctl check-exercise 2.1 mytok.py
  tokctl check-exercise 2.1 mytok.py --json

The tutorial's pages ask for functions. This calls the one
in FILE with the page's example, with the documents' words,
and with small random texts, and compares what it returns
with what tokctl's own trainers and encoders give.

It RUNS THE CODE in FILE, in another Python process, with
a limit of time and, where the system has one, of memory.
That is no sandbox: check only files that you trust.

Exit codes: 0 all cases pass, 1 one does not, 2 there is
no such exercise, no such file or no such function."""

SHORT = "Check your solution of an exercise of the tutorial."


def register(app: typer.Typer) -> None:
    """Add `tokctl check-exercise` to `app`."""
    add_command(app, check_exercise, epilog=EXAMPLES, short_help=SHORT)


def check_exercise(
    context: typer.Context,
    number: ExerciseNumber = None,
    file: ExerciseFile = None,
    list_: ListExercises = False,
    timeout: ExerciseTimeout = None,
    json: ExerciseJson = False,
) -> int:
    """Check your solution of an exercise of the tutorial: run the code of a Python file, and
    compare what its function returns with what tokctl itself gives.
    """  # noqa: D205 (one paragraph of the help)
    world: Console = context.obj
    from tokctl.extras.course import exercises, grader
    from tokctl.extras.course.report import exercises_answer, verdict_answer

    form = "json" if json else "text"
    if list_:
        paging.write(world, exercises_answer(exercises.EXERCISES.values()), form, pages=False)
        return ExitCode.DONE
    if number is None:
        raise BadOption(
            "no exercise is named",
            "tokctl check-exercise 1.1 mytok.py; --list shows all",
            "missing-option",
        )
    asked = exercises.exercise(number)
    if file is None:
        raise BadOption(
            "no file is named",
            f"tokctl check-exercise {number} FILE checks the function {asked.signature} in it: "
            f"{asked.task}",
            "missing-option",
        )
    if timeout is not None and not 0 < timeout <= grader.MOST_SECONDS:
        raise BadOption(f"invalid value {timeout:g} for --timeout", "give seconds: 10", "bad-value")
    verdict = grader.judge(asked, file, timeout or grader.SECONDS)
    paging.write(world, verdict_answer(verdict), form, pages=False)
    return ExitCode.DONE if verdict.passed else ExitCode.CONDITION_FAILED
