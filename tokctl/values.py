"""What plain data that never changes has in common."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Value:
    """Equality, hash and `repr` from the fields, for a dataclass without `eq` and `repr`.

    A dataclass compiles these for each class whenever it is imported: for the four that every
    command imports that would be 3 % of a start.
    """

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        shown = zip(fields(self), self._values(), strict=True)  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{f.name}={value!r}' for f, value in shown)})"


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
