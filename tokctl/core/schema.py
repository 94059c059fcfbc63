"""Schemas for the JSON documents that tokctl reads, as plain data, and a function to check them.

    SHARD = {"file": str, "bytes": COUNT, "index?": {"file": str}}
    check(document, {"shards": [SHARD]}, "manifest.json", "tokctl encode --shard-size writes it")

A schema is one of:

    str, bool, int, float, dict, list    a type; `float` also takes whole numbers
    object                               any value
    None                                 null
    Whole(low, high), OneOf(…)           a whole number in a range, one of several values
    Satisfies(expected, is_valid)        a value that a function accepts
    AnyOf(schema, …)                     a document that fits one of several schemas
    [schema]                             a list whose items all fit
    (schema, …)                          a list of exactly these items
    {"key": schema, "key?": schema}      an object; a key with ? may be missing, others are ignored
    {str: schema}                        an object whose values all fit

Schemas are not recursive, so the depth of the check is the depth of the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tokctl.core.errors import BadInput
from tokctl.core.files import is_plain_name


class Satisfies(NamedTuple):
    """Values that a function accepts.

    Attributes:
        expected: a description of the values, for messages.
        is_valid: returns whether a value is valid; it must accept values of any type.
    """

    expected: str
    is_valid: Callable[[Any], bool]


class Whole(NamedTuple):
    """Whole numbers from `low` to `high`."""

    low: int
    high: int = (1 << 63) - 1


class OneOf:
    """A value from a list of strings or numbers."""

    def __init__(self, *values: str | int) -> None:
        self.values = values


class AnyOf:
    """Documents that fit at least one of several schemas."""

    def __init__(self, *schemas: Any) -> None:
        self.schemas = schemas


#: Counts of bytes, ids and the like.
COUNT = Whole(0)

#: Names of files in the same folder as the document.
PLAIN_NAME = Satisfies("the name of a file in this folder", is_plain_name)

_TYPES: dict[Any, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "an object",
    list: "a list",
    object: "a value",
    None: "null",
}


def check(document: Any, schema: Any, name: str, hint: str) -> Any:
    """Check that a document fits a schema, and return it.

    Args:
        document: the parsed JSON.
        schema: see the module's description.
        name: the file of the document, or the position in a file, for messages.
        hint: the hint of the error.

    Raises:
        TokctlError: the document does not fit; the message names the first wrong value.

    Example:
        check({"file": "a"}, {"file": str, "bytes?": COUNT}, "a.json", "write the file again")
    """
    if (found := mismatch(document, schema)) is not None:
        raise BadInput(f"{name}: {found}", hint, "damaged")
    return document


def fits(document: Any, schema: Any) -> bool:
    """Return whether the document fits the schema."""
    return mismatch(document, schema) is None


def mismatch(value: Any, schema: Any, path: str = "") -> str | None:
    """Return a description of the first value that does not fit the schema; None if all values fit.

    For example: `shards[0].bytes is a string, not a whole number from 0 on`. `path` is the position
    of `value` in the document.
    """
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return _is_not(value, schema, path)
        return next(_wrong_members(value, schema, path), None)
    if isinstance(schema, list) or type(schema) is tuple:
        if not isinstance(value, list) or (type(schema) is tuple and len(value) != len(schema)):
            return _is_not(value, schema, path)
        items = schema * len(value) if isinstance(schema, list) else schema
        pairs = zip(value, items, strict=True)
        found = (mismatch(one, item, f"{path}[{at}]") for at, (one, item) in enumerate(pairs))
        return next((one for one in found if one is not None), None)
    if isinstance(schema, AnyOf):
        return (
            None
            if any(fits(value, one) for one in schema.schemas)
            else _is_not(value, schema, path)
        )
    return None if _is_plain(value, schema) else _is_not(value, schema, path)


def _wrong_members(value: dict[str, Any], schema: dict[Any, Any], path: str) -> Iterator[str]:
    for key, inner in schema.items():
        if key is str:
            names = list(value)
        else:
            name, is_optional = key.removesuffix("?"), key.endswith("?")
            names = [name]
            if name not in value:
                if not is_optional:
                    where = f" in {path}" if path else ""
                    yield f"{name!r} is missing{where}"
                continue
        for name in names:
            found = mismatch(value[name], inner, f"{path}.{name}" if path else name)
            if found is not None:
                yield found


def _is_plain(value: Any, schema: Any) -> bool:
    if isinstance(schema, Satisfies):
        return schema.is_valid(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(schema, Whole):
        return is_number and schema.low <= value <= schema.high
    if isinstance(schema, OneOf):
        return any(type(value) is type(one) and value == one for one in schema.values)
    if schema is None:
        return value is None
    if schema is int:
        return is_number
    if schema is float:
        return is_number or isinstance(value, float)
    return isinstance(value, schema)


def _is_not(value: Any, schema: Any, path: str) -> str:
    return f"{path or 'the document'} is {_found(value)}, not {_expected(schema)}"


def _found(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower() if value is not None else "null"
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 64):
        return str(value)
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return _TYPES.get(type(value), type(value).__name__)


def _expected(schema: Any) -> str:
    if isinstance(schema, Satisfies):
        return schema.expected
    if isinstance(schema, Whole):
        if schema.high == Whole(0).high:
            return f"a whole number from {schema.low} on"
        return f"a whole number from {schema.low} to {schema.high}"
    if isinstance(schema, OneOf):
        return " or ".join(map(str, schema.values))
    if isinstance(schema, AnyOf):
        return " or ".join(map(_expected, schema.schemas))
    if type(schema) is tuple:
        return f"a list of {len(schema)}"
    return _TYPES[type(schema) if isinstance(schema, (dict, list)) else schema]
