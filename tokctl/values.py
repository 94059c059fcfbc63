"""Properties that are computed once, values in few words, errors for names that are not there,
loading without garbage collection, and what the system says of its screen and processors."""

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
    """Python's representation of a value, with an ellipsis in place of what is too much for a
    line or two."""
    from reprlib import Repr

    short = Repr()
    short.maxlist = short.maxtuple = short.maxdict = 8
    short.maxstring = short.maxother = 80
    return short.repr(value)


class Brief:
    """A dataclass (with `repr=False`) that shows itself within a screen."""

    def __repr__(self) -> str:
        from dataclasses import fields

        shown = [f"{one.name}={brief(getattr(self, one.name))}" for one in fields(self) if one.repr]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"


class Done(int):
    """How much is done, as a number; and what was in it, where that is known.

    Attributes:
        documents, ids: so many; None: not known.
    """

    documents: int | None
    ids: int | None

    def __new__(cls, done: int, documents: int | None = None, ids: int | None = None) -> Done:
        self = super().__new__(cls, done)
        self.documents, self.ids = documents, ids
        return self


def suggesting(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose errors say which option a misspelt one may have been, or what one of
    another library is called here. It takes a tenth of a microsecond: what may be called millions
    of times does without, and Python's own error names the option alone."""
    code = function.__code__
    most = code.co_argcount
    known = frozenset(code.co_varnames[: most + code.co_kwonlyargcount])

    @wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> T:
        if not known.issuperset(options):
            from tokctl.habits import no_option

            raise no_option(function, options)
        if len(args) > most:
            from tokctl.habits import needs_names

            raise needs_names(function, len(args))
        return function(*args, **options)

    return called


def suggesting_class(made: type[T]) -> type[T]:
    """The same of a dataclass, whose options are its fields."""
    made.__init__ = suggesting(made.__init__)  # type: ignore[method-assign]
    return made


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean NAME? ` for the name of `known` that is nearest to `word`, or an empty
    text if none is near. It is for errors alone: it imports a module."""
    from difflib import get_close_matches

    names = {name.casefold(): name for name in known}
    near = get_close_matches(str(word)[:100].casefold(), names, 1, 0.7)
    return f"did you mean {names[near[0]]}? " if near else ""


@contextmanager
def no_garbage() -> Iterator[None]:
    """Reading makes hundreds of thousands of objects that stay. Python's collector would walk
    them again and again for cycles that are not there: up to half of the time of loading."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class cached_property(Generic[T]):  # noqa: N801 - it stands for the one of `functools`
    """A property that is computed when it is first asked for.

    The one of `functools` holds a lock meanwhile in Python 3.11, the same for all objects of the
    class: a process that forks at that moment has a child that waits for it forever. Here two
    threads may compute it at the same time; the first one's value stays.
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
        # Without `__set__`, the instance's own dictionary is looked into first the next time.
        value: T = instance.__dict__.setdefault(self.name, self.compute(instance))
        return value


#: Columns and lines of the largest screen that output is made for. Tables fill their last column
#: up to the screen's width.
_LARGEST_SCREEN = 4096


def screen_size(text: str) -> int | None:
    """Return what `$COLUMNS` or `$LINES` says, at most the largest screen; None if it says no
    number from 1 up."""
    digits = text.strip().lstrip("0")
    if not (digits.isascii() and digits.isdigit()):
        return None
    return min(int(digits[:9]), _LARGEST_SCREEN)


def limit_screen(variables: MutableMapping[str, str]) -> None:
    """Correct `$COLUMNS` and `$LINES` in place for all libraries that read them: Rich takes any
    number at its word, and 0 as well, which some terminals say."""
    for name in ("COLUMNS", "LINES"):
        if name in variables:
            size = screen_size(variables.pop(name))
            if size is not None:
                variables[name] = str(size)


def available_threads() -> int:
    """Processors that this process may use."""
    if sys.platform == "linux":
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)
