"""The cases of the tutorial's exercises, read from `cases.json`.

The file maps the number of each exercise to its cases: the page's example first, then small cases
and random ones. JSON has no tuples and no bytes, so the arguments are Python literals, written as
in a call: `'hugs', [('h', 'u')], 3`. Results are not in the file: tokctl computes them.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["ExerciseCase", "first_case", "read_cases"]


@dataclass(frozen=True)
class ExerciseCase:
    """The arguments of one call of the reader's function.

    Attributes:
        name: what the case tests, in a few words.
        arguments: texts, numbers, bytes, and lists, tuples and mappings of these.
    """

    name: str
    arguments: tuple[Any, ...]


def read_cases(number: str) -> list[ExerciseCase]:
    """Return the cases of the exercise with a number such as `2.1`."""
    return [_decode(written) for written in _written_cases()[number]]


def first_case(number: str) -> ExerciseCase:
    """Return the page's example of the exercise with a number such as `2.1`."""
    return _decode(_written_cases()[number][0])


@cache
def _written_cases() -> dict[str, list[dict[str, str]]]:
    text = (files("tokctl.extras.course") / "cases.json").read_text(encoding="utf-8")
    cases: dict[str, list[dict[str, str]]] = json.loads(text)
    return cases


def _decode(written: dict[str, str]) -> ExerciseCase:
    return ExerciseCase(written["name"], ast.literal_eval(f"({written['arguments']},)"))
