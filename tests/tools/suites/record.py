"""What became of each call of a suite's tests."""

from __future__ import annotations

import functools
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tokctl.core.errors import TokctlError

SAME, DIFFERS, UNTRANSLATABLE = "same", "differs", "not translatable"

#: What of a message is no reason of its own: names, numbers, texts.
_OWN = re.compile(r"'[^']*'|\"[^\"]*\"|\b\d[\d,.]*\b")


class Untranslatable(Exception):  # it is no error
    """tokctl has no such call, or can't have the same model; why."""


class Different(NamedTuple):
    """One thing of a result that differs."""

    kind: str
    ours: object
    theirs: object


class Raised(NamedTuple):
    """A call that the library did not answer."""

    error: BaseException

    @property
    def panics(self) -> bool:
        return not isinstance(self.error, Exception)


class Entry(NamedTuple):
    test: str
    call: str
    verdict: str
    reason: str


class Recorder:
    """Counts what became of the calls of each test, with a few examples of what differs."""

    def __init__(self) -> None:
        self.test = ""
        self.outcomes: dict[str, str] = {}
        self.counts: Counter[Entry] = Counter()
        self.examples: dict[str, list[str]] = {}
        self._inside = threading.local()
        self._lock = threading.Lock()

    @contextmanager
    def inside(self) -> Iterator[bool]:
        """Calls that a call makes itself are part of it: true for the outermost one."""
        depth = getattr(self._inside, "depth", 0)
        self._inside.depth = depth + 1
        try:
            yield not depth
        finally:
            self._inside.depth = depth

    def note(self, call: str, verdict: str, reason: str = "", example: str = "") -> None:
        with self._lock:
            self.counts[Entry(self.test, call, verdict, reason)] += 1
            if example:
                some = self.examples.setdefault(f"{call}: {reason}", [])
                if len(some) < 5 and self.test not in "".join(some):
                    some.append(f"{self.test}: {example}")

    def write(self, path: Path) -> None:
        """As JSON lines, which `table.py` reads."""
        with path.open("w", encoding="utf-8") as file:
            for test, outcome in self.outcomes.items():
                file.write(json.dumps({"test": test, "outcome": outcome}) + "\n")
            for entry, number in self.counts.items():
                file.write(json.dumps({**entry._asdict(), "calls": number}) + "\n")
            for reason, some in self.examples.items():
                file.write(json.dumps({"example": reason, "seen": some}) + "\n")


#: What `ours` of a call gives: the result, or Different ones beside what is there.
Ours = Callable[..., Any]
Compare = Callable[[Any, Any], list[Different]]


def reason_of(error: BaseException) -> str:
    """A message without what differs from model to model."""
    said = error.message if isinstance(error, TokctlError) else str(error)
    return _OWN.sub("…", " ".join(said.split()))[:160]


def alike(ours: Any, theirs: Any) -> list[Different]:
    return [] if ours == theirs else [Different("result", ours, theirs)]


def mirror(
    recorder: Recorder,
    owner: type,
    name: str,
    ours: Ours,
    compare: Compare = alike,
    *,
    call: str = "",
    arguments: Callable[[BaseException], bool] = lambda error: isinstance(error, TypeError),
) -> None:
    """Puts tokctl beside a method: `ours` gets what the method gets.

    Args:
        compare: what differs between both results.
        arguments: is it for the form of a call that the library refuses it?
    """
    original = getattr(owner, name)
    title = call or name

    def judged(theirs: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        if isinstance(theirs, Raised) and theirs.panics:
            recorder.note(title, UNTRANSLATABLE, "the library panics")
            return
        said = f"{given[1:]!r} {named!r}"[:300]
        try:
            found = ours(*given, **named)
        except Untranslatable as error:
            recorder.note(title, UNTRANSLATABLE, str(error))
        except Exception as error:  # the suite goes on: what is wrong here is counted
            refused = isinstance(error, (TokctlError, TypeError, ValueError, LookupError))
            if isinstance(theirs, Raised) and refused:
                recorder.note(title, SAME)
            else:
                reason = f"{type(error).__name__}: {reason_of(error)}"
                recorder.note(title, DIFFERS, reason, f"{said} -> {error!r}, there {theirs!r}")
        else:
            if isinstance(theirs, Raised):
                if arguments(theirs.error):
                    recorder.note(title, UNTRANSLATABLE, "refused there for the call's form")
                    return
                reason = f"refused there: {type(theirs.error).__name__}: {reason_of(theirs.error)}"
                recorder.note(title, DIFFERS, reason, f"{said} -> {found!r}"[:600])
                return
            try:
                differences = compare(found, theirs)
            except Untranslatable as error:
                recorder.note(title, UNTRANSLATABLE, str(error))
                return
            if not differences:
                recorder.note(title, SAME)
            for one in differences[:1]:
                example = f"{said} -> {one.ours!r}, there {one.theirs!r}"[:1500]
                recorder.note(title, DIFFERS, one.kind, example)

    @functools.wraps(original)
    def mirrored(*given: Any, **named: Any) -> Any:
        with recorder.inside() as outermost:
            theirs: Any
            try:
                theirs = original(*given, **named)
            except BaseException as error:
                if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
                    raise
                theirs = Raised(error)
            if outermost:
                judged(theirs, given, named)
        if isinstance(theirs, Raised):
            raise theirs.error
        return theirs

    for attribute, value in list(vars(owner).items()):
        # Other names of the same method, too.
        if value is original:
            setattr(owner, attribute, mirrored)
    setattr(owner, name, mirrored)
