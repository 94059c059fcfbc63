"""Every wrong type at every position of a JSON document."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

#: What takes the place of a value: each type of JSON, and numbers that no index or count can be.
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 7, 1 << 62, (1 << 64) - 1, 0.5, -1e300, "", "x", "\x00\u2028",
    [], [None], [[0, "x"]], {}, {"x": None}, {"type": "x"},
)  # fmt: skip

#: Members of an object, and items of a list, that are looked into: the first ones, and the last.
_MOST = 3


def positions(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of the values of a document, of the document itself first. Of many similar items,
    some."""
    yield path
    if isinstance(document, dict):
        keys = list(document)
        if len(keys) > 40:  # a vocabulary, not a record
            keys = [*keys[:_MOST], *keys[-1:]]
    elif isinstance(document, list):
        keys = list(range(len(document)))
        if len(keys) > _MOST:
            keys = [*keys[:_MOST], len(document) - 1]
    else:
        return
    for key in keys:
        yield from positions(document[key], (*path, key))


def mutations(document: Any) -> Iterator[tuple[str, Any]]:
    """Documents in each of which one value is another, or missing; each with what was done."""
    for path in positions(document):
        for value in VALUES:
            yield f"{path} is {value!r}", _with(document, path, value)
        if path:
            yield f"{path} is missing", _without(document, path)


def _with(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    made = copy.copy(document)
    made[path[0]] = _with(document[path[0]], path[1:], value)
    return made


def _without(document: Any, path: tuple[Any, ...]) -> Any:
    made = copy.copy(document)
    if len(path) > 1:
        made[path[0]] = _without(document[path[0]], path[1:])
    else:
        del made[path[0]]
    return made
