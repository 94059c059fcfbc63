"""JSON without orjson is the same: bytes, values, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from tokctl.core import plain_json

#: Also half surrogate pairs.
ANY_TEXT = st.text(st.characters(exclude_categories=()))
NUMBERS = st.integers(-(1 << 65), 1 << 66) | st.floats()
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | ANY_TEXT,
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=15,
)
OPTIONS = ["OPT_INDENT_2", "OPT_SORT_KEYS", "OPT_APPEND_NEWLINE"]
PIECES = (
    *'{}[],:"\\/-+.eEu019 \n\t',
    *('"a"', '\\"', "\\n", "\\u00e9", "\\ud83d", "\\ude00", "12", "1e400", "-0", "true", "null"),
    *("NaN", "Infinity", "\x00", "\x1f", "\x7f", "\x0b", "\xa0", "\u2028", "\ufeff", "1" * 20),
)


def outcome(work: Callable[[], Any]) -> Any:
    """With its type and its sign: 1 is not 1.0, and 0.0 not -0.0."""
    try:
        return repr(work())
    except (TypeError, ValueError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError


@given(VALUES, st.sets(st.sampled_from(OPTIONS)))
def test_it_writes_the_same_bytes(value: Any, options: set[str]) -> None:
    def written(module: Any) -> Any:
        option = sum(getattr(module, name) for name in options)
        return outcome(lambda: module.dumps(value, option=option))

    assert written(plain_json) == written(orjson)


@given(st.floats())
def test_floats_have_the_same_digits(value: float) -> None:
    assert plain_json.dumps([value, 1e-5, 1e16]) == orjson.dumps([value, 1e-5, 1e16])


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.booleans())
def test_it_reads_and_refuses_the_same(pieces: str, quoted: bool) -> None:
    text = f'["{pieces}"]' if quoted else pieces
    for given_ in (text, text.encode()):
        found = outcome(lambda given_=given_: plain_json.loads(given_))  # type: ignore[misc]
        assert found == outcome(lambda given_=given_: orjson.loads(given_)), text  # type: ignore[misc]


@given(st.from_regex(r"-?[0-9]{1,24}(\.[0-9]{0,24})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_numbers_are_the_same(text: str) -> None:
    assert outcome(lambda: plain_json.loads(text)) == outcome(lambda: orjson.loads(text))


@given(st.binary(max_size=8))
def test_bytes_that_are_no_text(data: bytes) -> None:
    for given_ in (data, b'"' + data + b'"'):
        found = outcome(lambda given_=given_: plain_json.loads(given_))  # type: ignore[misc]
        assert found == outcome(lambda given_=given_: orjson.loads(given_))  # type: ignore[misc]


def test_fragments_stand_as_they_are() -> None:
    for module in (plain_json, orjson):
        value = {"a": [module.Fragment("1.50"), module.Fragment(b"{ }")], "b": ()}  # type: ignore[attr-defined]
        assert module.dumps(value) == b'{"a":[1.50,{ }],"b":[]}'  # type: ignore[attr-defined]


class Side(Enum):
    LEFT = "left"


@dataclass(frozen=True)
class Pair:
    side: Side
    parts: tuple[object, ...]
    _hidden: int = 3


def test_objects_are_their_fields() -> None:
    value = [Pair(Side.LEFT, ("a", Pair(Side.LEFT, ())))]
    assert plain_json.dumps(value) == orjson.dumps(value)


def test_what_is_nested_deeper_than_python_goes_is_an_error() -> None:
    assert outcome(lambda: plain_json.loads("[" * 100_000)) is ValueError
