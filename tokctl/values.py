"""Properties that are computed once, and loading without garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


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
