"""Tokens across scripts, and across digits and letters.

A character's script is Unicode's property Script (UAX #24). Common (digits, punctuation, most
signs) and Inherited (combining marks) fit with every script. Scripts that are written together
are one, as in UTS #39: Han, Hiragana and Katakana (Japanese), Han and Bopomofo, Han and Hangul
(Korean).

A token has **lookalikes** if Latin, Greek and Cyrillic letters, of two of these at least, stand
in it with nothing but letters and marks between them; any other mix of scripts is **mixed**.
Digits are decimal digits of any script (Nd).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tokctl import _native
from tokctl.analysis.health.subject import Answer, Subject

#: Digits in a row that are not yet a long number.
SHORT = 3

#: Scripts that are written together.
_TOGETHER = (
    frozenset(("Han", "Hiragana", "Katakana")),
    frozenset(("Han", "Bopomofo")),
    frozenset(("Han", "Hangul")),
)
_ALIKE = frozenset(("Latin", "Greek", "Cyrillic"))

_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_LONG_NUMBER = re.compile(rf"\d{{{SHORT + 1},}}")
_LETTERS = re.compile(r"[^\W\d_]+")


def check(subject: Subject) -> Iterator[Answer]:
    texts = subject.texts_of
    alike: list[int] = []
    mixed: list[int] = []
    notes: dict[int, str] = {}
    for id_, text in texts.items():
        if text.isascii() or fits(scripts := scripts_of(text)):
            continue
        notes[id_] = " + ".join(scripts)
        (alike if has_lookalikes(text) else mixed).append(id_)
    yield subject.found("lookalike-scripts", alike, len(texts), notes=notes.__getitem__)
    yield subject.found("mixed-scripts", mixed, len(texts), notes=notes.__getitem__)
    yield from _digits(subject)


def _digits(subject: Subject) -> Iterator[Answer]:
    texts = subject.texts_of
    numbers = {id_: text for id_, text in texts.items() if _DIGIT.search(text)}
    both = [id_ for id_, text in numbers.items() if _LETTER.search(text)]
    yield subject.found("digits-with-letters", both, len(texts))
    runs = {
        id_: max(map(len, _LONG_NUMBER.findall(text)), default=0) for id_, text in numbers.items()
    }
    long = [id_ for id_, run in runs.items() if run]
    by_length = sorted(Counter(run for run in runs.values() if run).items())
    detail = ", ".join(f"{count:,} of {run:,} digits" for run, count in by_length) + "."
    yield subject.found("long-numbers", long, len(texts), detail=detail)


def scripts_of(text: str) -> tuple[str, ...]:
    """The scripts of a text by name, sorted, without what fits with every script."""
    return tuple(sorted(_native.scripts_of(text)))


def fits(scripts: tuple[str, ...]) -> bool:
    """Are these scripts written together?"""
    return len(scripts) < 2 or any(together.issuperset(scripts) for together in _TOGETHER)


def has_lookalikes(text: str) -> bool:
    """Do Latin, Greek and Cyrillic letters stand side by side?"""
    return any(len(_ALIKE.intersection(scripts_of(run))) > 1 for run in _LETTERS.findall(text))
