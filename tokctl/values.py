"""What plain data that never changes has in common."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields


class Value:
    """Equality, hash and `repr` from the fields, for a dataclass without `eq` and `repr`.

    A dataclass compiles these for each class whenever it is imported, half a millisecond that
    every command would wait for.
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
