"""The checker of schemas itself."""

from __future__ import annotations

from typing import Any

import pytest

from tokctl import TokctlError
from tokctl.core.schema import COUNT, AnyOf, OneOf, Satisfies, Whole, check, fits, mismatch


@pytest.mark.parametrize(
    ("value", "schema", "problem"),
    [
        ("x", str, None),
        (1, str, "the document is 1, not a string"),
        (True, int, "the document is true, not a whole number"),
        (1, float, None),
        (False, float, "the document is false, not a number"),
        (1, bool, "the document is 1, not true or false"),
        (None, None, None),
        ([], object, None),
        (-1, COUNT, "the document is -1, not a whole number from 0 on"),
        (1 << 64, COUNT, "the document is a whole number, not a whole number from 0 on"),
        (9, Whole(1, 8), "the document is 9, not a whole number from 1 to 8"),
        (1.0, Whole(1, 8), "the document is 1.0, not a whole number from 1 to 8"),
        (True, OneOf(1), "the document is true, not 1"),
        ("c", OneOf("a", "b"), "the document is a string, not a or b"),
        ([1, "x"], [int], "[1] is a string, not a whole number"),
        ({}, [int], "the document is an object, not a list"),
        ([1, 2], (int, int), None),
        ([1], (int, int), "the document is a list of 1, not a list of 2"),
        ([1, None], (int, int), "[1] is null, not a whole number"),
        ({"a": 1, "z": 0}, {"a": int}, None),
        ({}, {"a": int}, "'a' is missing"),
        ({}, {"a?": int}, None),
        ({"a": "x"}, {"a?": int}, "a is a string, not a whole number"),
        ({"a": {"b": [{}]}}, {"a": {"b": [{"c": int}]}}, "'c' is missing in a.b[0]"),
        ({"x": 1, "y": None}, {str: int}, "y is null, not a whole number"),
        ([], {"a": int}, "the document is a list of 0, not an object"),
        (None, AnyOf(str, None), None),
        (1, AnyOf(str, None), "the document is 1, not a string or null"),
        (1, Satisfies("odd", lambda _: False), "the document is 1, not odd"),
    ],
)
def test_what_is_wrong(value: Any, schema: Any, problem: str | None) -> None:
    assert mismatch(value, schema) == problem
    assert fits(value, schema) == (problem is None)


def test_the_error() -> None:
    document = {"a": [1]}
    assert check(document, {"a": [int]}, "x.json", "repair it") is document
    with pytest.raises(TokctlError) as caught:
        check(document, {"a": [str]}, "x.json", "repair it")
    assert (caught.value.message, caught.value.hint) == (
        "x.json: a[0] is 1, not a string",
        "repair it",
    )
