"""The grader of the tutorial's exercises: it runs the reader's file and judges its results.

The file runs in a separate Python process, with a limit on time and, if the system has one, on
memory. The process calls the function with each case of an exercise. The results are compared with
those of tokctl's own trainers, encoders and decoders for the same arguments.
"""

from __future__ import annotations

import ast
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tokctl.core import systems
from tokctl.core.errors import BadInput
from tokctl.core.schema import AnyOf, fits
from tokctl.extras.course.cases import ExerciseCase
from tokctl.extras.course.exercises import Exercise, written_call

__all__ = ["CaseResult", "ExerciseVerdict", "Trouble", "difference", "judge"]

#: Default time limit in seconds for all cases of an exercise together.
SECONDS = 10.0
#: Highest time limit: systems count milliseconds in 31 bits.
MOST_SECONDS = 1_000_000.0
#: Memory limit in bytes of the process that runs the reader's code.
MEMORY = 1 << 30


@dataclass(frozen=True)
class Trouble:
    """Why the reader's code gave no result.

    Attributes:
        what: the exception with its message, or a description of the failure.
        places: the reader's own lines that led to it, as line number, function and text.
    """

    what: str
    places: tuple[tuple[int, str, str], ...] = ()


@dataclass(frozen=True)
class CaseResult:
    """The result of one case.

    Attributes:
        case: the case.
        expected: tokctl's result.
        got: result of the reader's function; meaningless if there was trouble.
        difference: first difference between the two, in words; None if they are equal.
        trouble: why the function gave no result; None if it gave one.
        printed: first characters that the function printed, which are not judged.
        ran: False if an earlier case ended the run.
    """

    case: ExerciseCase
    expected: Any = None
    got: Any = None
    difference: str | None = None
    trouble: Trouble | None = None
    printed: str = ""
    ran: bool = True

    @property
    def passed(self) -> bool:
        """Whether the case ran and gave the expected result."""
        return self.ran and self.trouble is None and self.difference is None


@dataclass(frozen=True)
class ExerciseVerdict:
    """The results of all cases of an exercise.

    Attributes:
        exercise: the exercise.
        results: result of each case, in order.
    """

    exercise: Exercise
    results: tuple[CaseResult, ...]

    @property
    def passed(self) -> bool:
        """Whether all cases passed."""
        return all(result.passed for result in self.results)

    @property
    def first_failed(self) -> CaseResult | None:
        """First case that did not pass; None if all passed."""
        return next((result for result in self.results if not result.passed), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON data, with arguments and values as Python literals."""
        return {
            "exercise": self.exercise.number,
            "function": self.exercise.signature,
            "passed": self.passed,
            "cases": [
                {
                    "name": result.case.name,
                    "passed": result.passed,
                    "ran": result.ran,
                    "call": written_call(self.exercise, result.case),
                    "expected": repr(result.expected) if result.ran else None,
                    "got": repr(result.got) if result.ran and not result.trouble else None,
                    "difference": result.difference,
                    "trouble": asdict(result.trouble) if result.trouble else None,
                    "printed": result.printed,
                }
                for result in self.results
            ],
        }


# -- Running the reader's code -------------------------------------------------------------------

#: Program of the other process: it loads the file, calls the function with each case, and writes a
#: line of JSON for each result. The reader's output is redirected, so that it can't mix with these.
_RUNNER = r"""
import ast, contextlib, importlib.util, io, json, math, os, sys, traceback

asked = json.load(sys.stdin)
path = asked["path"]
results = os.fdopen(os.dup(1), "w", encoding="utf-8")
nowhere = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2):
    os.dup2(nowhere, stream)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (asked["memory"], asked["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass  # no such limits here


def report(**facts):
    results.write(json.dumps(facts) + "\n")
    results.flush()


class Printed(io.StringIO):
    def write(self, text):
        if self.tell() < 2000:
            super().write(text[:2000])
        return len(text)


def trouble(error):
    what = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1]
    if isinstance(error, SystemExit):
        what = "SystemExit: the code asked Python to end (sys.exit)"
    places = [
        [frame.lineno, frame.name, frame.line or ""]
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == path
    ]
    if isinstance(error, SyntaxError) and error.filename == path:
        places.append([error.lineno or 0, "", (error.text or "").strip()])
    return {"what": what[:500], "places": places[-3:]}


def plain(value):
    if value is None or type(value) in (bool, int, str, bytes):
        return value
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            raise TypeError(repr(float(value)))
        return float(value)
    for kind in (bool, int, str, bytes):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    for kind in (list, tuple, set, frozenset):
        if isinstance(value, kind):
            return (set if kind is frozenset else kind)(plain(one) for one in value)
    raise TypeError("an object of the type " + type(value).__name__)


def attempt(call):
    printed = Printed()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            return call(), None, printed.getvalue()
        except BaseException as error:
            return None, trouble(error), printed.getvalue()


def load():
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise ImportError("the name of the file has to end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


sys.path[0] = os.path.dirname(path)
module, error, printed = attempt(load)
if error:
    report(unloaded=error)
    os._exit(0)
function = getattr(module, asked["function"], None)
if not callable(function):
    report(missing=True)
    os._exit(0)
report(ready=True)
for number, written in enumerate(asked["cases"]):
    arguments = ast.literal_eval(written)
    value, error, printed = attempt(lambda: function(*arguments))
    if error is None:
        try:
            written = repr(plain(value))
            if len(written) > 5_000_000:
                raise TypeError("a value of over 5,000,000 characters")
            ast.literal_eval(written)
        except TypeError as odd:
            error = {"what": "the function returned " + str(odd), "places": []}
        except (RecursionError, MemoryError, SyntaxError, ValueError):
            error = {"what": "the function returned a value that is too large", "places": []}
    report(case=number, value=None if error else written, trouble=error, printed=printed)
os._exit(0)
"""


#: Message if the reader's code wrote among the reports.
_WRITTEN_TO = "it has written to files that it did not open"

#: Schemas of a report line.
_TROUBLE = {"what": str, "places": [(AnyOf(int, None), str, str)]}
_REPORT = AnyOf(
    {"unloaded": _TROUBLE},
    {"missing": bool},
    {"ready": bool},
    {"case": int, "value": str, "trouble": None, "printed": str},
    {"case": int, "value": None, "trouble": _TROUBLE, "printed": str},
)


def judge(exercise: Exercise, path: str | Path, seconds: float = SECONDS) -> ExerciseVerdict:
    """Run the reader's file in another process and compare its results with tokctl's.

    Args:
        exercise: exercise to judge.
        path: path of a Python file. Its code runs with all permissions of the current user.
        seconds: time for all cases together, at most `MOST_SECONDS`.

    Raises:
        BadInput: the file can't be read or run, or lacks the function.

    Example:
        >>> verdict = judge(exercise("2.1"), "answers.py")
        >>> verdict.passed
        True
    """
    file = Path(path).absolute()
    hint = f"write the function {exercise.signature}: {exercise.task}"
    if not file.is_file():
        problem = "it is a folder" if file.is_dir() else "there is no such file"
        raise BadInput(f"{path}: {problem}", hint, "unreadable")
    cases = exercise.all_cases()
    lines, ending = _run(exercise, file, cases, seconds)
    first_line = lines[0] if lines else {}
    if "unloaded" in first_line:
        failure = _trouble(first_line["unloaded"])
        location = f", line {failure.places[-1][0]}" if failure.places else ""
        raise BadInput(f"{path}{location}: the file can't be run: {failure.what}", hint)
    if "missing" in first_line:
        raise BadInput(f"{path}: there is no function {exercise.name} in it", hint)
    if "ready" not in first_line:
        raise BadInput(f"{path}: the file can't be run: {ending}", hint)
    reports = {line["case"]: line for line in lines[1:] if "case" in line}
    results = []
    for number, case in enumerate(cases):
        if number in reports:
            results.append(_result(exercise, case, reports[number]))
        elif number == len(reports):
            expected = exercise.expected(*case.arguments)
            results.append(CaseResult(case, expected, trouble=Trouble(ending)))
        else:
            results.append(CaseResult(case, ran=False))
    return ExerciseVerdict(exercise, tuple(results))


def _run(
    exercise: Exercise, file: Path, cases: Sequence[ExerciseCase], seconds: float
) -> tuple[list[dict[str, Any]], str]:
    """Return the reports that the other process wrote, and how the process ended."""
    request = {
        "path": str(file),
        "function": exercise.name,
        "memory": MEMORY,
        "cases": [repr(case.arguments) for case in cases],
    }
    process = subprocess.Popen(
        # -B writes no bytecode beside the reader's file; a fixed hash seed repeats the verdict.
        [sys.executable, "-B", "-c", _RUNNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONSAFEPATH": ""},
        start_new_session=True,
    )
    try:
        written, _ = process.communicate(json.dumps(request).encode(), timeout=seconds)
        ending = f"the process ended by itself, with exit code {process.returncode}"
    except subprocess.TimeoutExpired:
        systems.end_group(process)
        try:
            written, _ = process.communicate(timeout=1)
        except subprocess.TimeoutExpired as held:  # a child in another session holds the pipe
            written = held.output or b""
            assert process.stdout is not None
            process.stdout.close()
        ending = f"there was no result after {seconds:g} seconds"
    finally:
        systems.end_group(process)
    lines = []
    for line in written.splitlines():
        try:
            lines.append(json.loads(line))
        except (ValueError, RecursionError):  # a line cut off by the time limit
            break
    # The reader's code may have written to the same file descriptor.
    if not all(fits(line, _REPORT) for line in lines):
        return [], _WRITTEN_TO
    return lines, ending


def _trouble(record: dict[str, Any]) -> Trouble:
    return Trouble(
        record["what"], tuple((line, name, text) for line, name, text in record["places"])
    )


def _result(exercise: Exercise, case: ExerciseCase, record: dict[str, Any]) -> CaseResult:
    expected = exercise.expected(*case.arguments)
    if record["trouble"]:
        return CaseResult(
            case, expected, trouble=_trouble(record["trouble"]), printed=record["printed"]
        )
    try:
        value = ast.literal_eval(record["value"])
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return CaseResult(case, expected, trouble=Trouble(_WRITTEN_TO))
    return CaseResult(case, expected, value, difference(expected, value), printed=record["printed"])


# -- Comparing the results ------------------------------------------------------------------------


def difference(expected: Any, got: Any, path: str = "") -> str | None:
    """Return the first difference between two values, in words; None if they are equal.

    Lists and tuples with equal items are equal, and so are numbers that differ only by rounding.

    Args:
        expected: tokctl's value.
        got: value of the reader's function.
        path: path to the values inside the results, such as `[2]['low']`; empty for the results.
    """
    location = f"at {path}: " if path else ""
    if isinstance(expected, float):
        is_number = isinstance(got, (int, float)) and abs(got) <= sys.float_info.max
        if is_number and math.isclose(expected, got, rel_tol=1e-6, abs_tol=1e-9):
            return None
    elif isinstance(expected, (list, tuple)):
        if isinstance(got, (list, tuple)):
            for number, (expected_item, item) in enumerate(zip(expected, got, strict=False)):
                if nested := difference(expected_item, item, f"{path}[{number}]"):
                    return nested
            if len(expected) == len(got):
                return None
            return f"{location}{len(expected)} items are expected, and there are {len(got)}"
    elif isinstance(expected, dict):
        if isinstance(got, dict):
            for key in [*expected, *got]:
                if key not in got or key not in expected:
                    missing = "is missing" if key in expected else "should not be there"
                    return f"{location}the key {key!r} {missing}"
                if nested := difference(expected[key], got[key], f"{path}[{key!r}]"):
                    return nested
            return None
    elif type(expected) is type(got) and expected == got:
        return None
    return f"{location}{expected!r} is expected, and it is {got!r}" if path else "not the same"
