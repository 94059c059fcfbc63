"""Small helpers: cached properties, short representations, suggestions for misspelt names.

Also the pause of the garbage collector, the size of the screen, and the number of processors.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar, overload

T = TypeVar("T")
P = ParamSpec("P")


def brief(value: object) -> str:
    """Return Python's representation of a value, shortened to a line or two with an ellipsis."""
    from reprlib import Repr

    short = Repr()
    short.maxlist = short.maxtuple = short.maxdict = 8
    short.maxstring = short.maxother = 80
    return short.repr(value)


class ShortRepr:
    """A base class for dataclasses (with `repr=False`) whose representation fits on a screen."""

    def __repr__(self) -> str:
        from dataclasses import fields

        shown = [f"{one.name}={brief(getattr(self, one.name))}" for one in fields(self) if one.repr]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


class ProgressCount(int):
    """The progress of a task in its unit, such as bytes, with further counts if known.

    Attributes:
        documents: the number of documents done; None: not known.
        ids: the number of ids done; None: not known.
    """

    documents: int | None
    ids: int | None

    def __new__(
        cls, done: int, documents: int | None = None, ids: int | None = None
    ) -> ProgressCount:
        """Create the number `done`."""
        self = super().__new__(cls, done)
        self.documents, self.ids = documents, ids
        return self


def suggesting(function: Callable[P, T]) -> Callable[P, T]:
    """Return a wrapper whose errors for unknown options suggest the right one.

    The suggestion is a similar name, or tokctl's name for an option of another library. The wrapper
    takes a tenth of a microsecond per call. Functions that can be called millions of times do
    without it; for them, Python's own error only names the option.
    """
    code = function.__code__
    most = code.co_argcount
    known = frozenset(code.co_varnames[: most + code.co_kwonlyargcount])

    @wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> T:
        if options and not known.issuperset(options):
            from tokctl.core.foreign_names import names_of, no_option, spoken

            raise no_option(spoken(function), names_of(function), options)
        if len(args) > most:
            from tokctl.core.foreign_names import needs_names

            raise needs_names(function, len(args))
        return function(*args, **options)

    return called


def suggesting_class(made: type[T]) -> type[T]:
    """Return the dataclass `made`, whose errors for unknown fields suggest the right one."""
    made.__init__ = suggesting(made.__init__)  # type: ignore[method-assign]
    return made


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a suggestion for a hint, with the name in `known` that is nearest to `word`.

    The text is `did you mean NAME? `, or empty if no name is similar. Call this for errors only, as
    it imports difflib.
    """
    from difflib import get_close_matches

    names = {name.casefold(): name for name in known}
    near = get_close_matches(str(word)[:100].casefold(), names, 1, 0.7)
    return f"did you mean {names[near[0]]}? " if near else ""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause Python's garbage collector.

    Loading a model makes hundreds of thousands of objects that stay. The collector would walk them
    again and again without finding a cycle, which takes up to half of the loading time.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class cached_property(Generic[T]):  # noqa: N801 - it stands for the one of `functools`
    """A property that is computed when it is first read.

    In Python 3.11, `functools.cached_property` holds a lock while it computes, shared by all
    objects of the class. If the process forks at that moment, its child waits for the lock forever.
    This class has no lock: two threads can compute the value at the same time, and the first value
    stays.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.name: str = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object, owner: type | None = None) -> cached_property[T] | T:
        if instance is None:
            return self
        # As the descriptor has no `__set__`, the next access finds the value in the dictionary.
        value: T = instance.__dict__.setdefault(self.name, self.compute(instance))
        return value


#: The most columns and lines that output is formatted for. The limit is needed because tables pad
#: their last column to the width of the screen.
_LARGEST_SCREEN = 4096


def screen_size(text: str) -> int | None:
    """Return the value of `$COLUMNS` or `$LINES`, at most 4,096; None if not a number from 1 on."""
    digits = text.strip().lstrip("0")
    if not (digits.isascii() and digits.isdigit()):
        return None
    return min(int(digits[:9]), _LARGEST_SCREEN)


def limit_screen(variables: MutableMapping[str, str]) -> None:
    """Correct `$COLUMNS` and `$LINES` in `variables`, in place, for libraries that read them.

    Rich uses any number, even 0, which some terminals set.
    """
    for name in ("COLUMNS", "LINES"):
        if name in variables:
            size = screen_size(variables.pop(name))
            if size is not None:
                variables[name] = str(size)


def available_threads() -> int:
    """Return the number of processors that this process may use."""
    if sys.platform == "linux":
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)
