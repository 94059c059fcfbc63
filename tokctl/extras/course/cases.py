"""The cases of the tutorial's exercises, read from `cases.json`.

The file maps the number of each exercise to its cases: the page's example first, then small cases
and random ones. JSON has no tuples and no bytes, so the arguments are Python literals, written as
in a call: `'hugs', [('h', 'u')], 3`. Results are not in the file: tokctl computes them. The two
cases that test speed are too large to list, and drawn with a seed.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from tokctl.sources.corpora import corpus_path

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
    cases = [_decode(written) for written in _written_cases()[number]]
    draw = _LARGE.get(number)
    return cases if draw is None else [*cases, draw(cases)]


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


def _many_words(_: Sequence[ExerciseCase]) -> ExerciseCase:
    random = Random("5.3")
    random.getrandbits(32 * 251)  # the draws of the listed cases
    story = list(dict.fromkeys(corpus_path("sample").read_text(encoding="utf-8").split()))
    counts = {"".join(random.choices(story, k=2)): random.randint(1, 9) for _ in range(20_000)}
    return ExerciseCase("20,000 words, made of two words of the story", (counts, 600))


def _long_word(cases: Sequence[ExerciseCase]) -> ExerciseCase:
    random = Random("9.3")
    random.getrandbits(32 * 319)  # the draws of the listed cases
    word = bytes(random.choices(b"abcd", k=60_000))
    return ExerciseCase("a word of 60,000 letters", (word, cases[-1].arguments[1]))


#: By exercise, the case that follows the listed ones.
_LARGE: dict[str, Callable[[Sequence[ExerciseCase]], ExerciseCase]] = {
    "5.3": _many_words,
    "9.3": _long_word,
}
