"""Truncation and padding settings of a `tokenizer.json`: checked, and stored as written."""

from __future__ import annotations

from typing import Any

from tokctl.formats.huggingface.components import Fields, Json

_DIRECTIONS = ("Right", "Left")
_STRATEGIES = ("LongestFirst", "OnlyFirst", "OnlySecond")


def read_lengths(document: Json) -> dict[str, Json]:
    """Return the stored settings of `truncation` and `padding`, by name.

    Raises:
        ValueError: a setting has a wrong value.
    """
    readers = {"truncation": _truncation, "padding": _padding}
    return {
        name: read(Fields(name, document[name]))
        for name, read in readers.items()
        if document.get(name) is not None
    }


def _truncation(fields: Fields) -> Json:
    return {
        "direction": _one_of(fields, "direction", _DIRECTIONS, "Right"),
        "max_length": _count(fields, "max_length"),
        "strategy": _one_of(fields, "strategy", _STRATEGIES),
        "stride": _count(fields, "stride"),
    }


def _padding(fields: Fields) -> Json:
    strategy = fields.data.get("strategy")
    if strategy != "BatchLongest":
        strategy = {"Fixed": _count(Fields("padding's strategy", strategy), "Fixed")}
    multiple = fields.data.get("pad_to_multiple_of")
    return {
        "strategy": strategy,
        "direction": _one_of(fields, "direction", _DIRECTIONS),
        # 0 and null both mean that lengths need not be multiples.
        "pad_to_multiple_of": None if not multiple else _count(fields, "pad_to_multiple_of"),
        "pad_id": _count(fields, "pad_id"),
        "pad_type_id": _count(fields, "pad_type_id"),
        "pad_token": fields.text("pad_token"),
    }


def _one_of(fields: Fields, name: str, known: tuple[str, ...], *default: Any) -> str:
    value = str(fields.text(name, *default))
    if value not in known:
        raise ValueError(f"the {name} of the {fields.family} is {value!r}")
    return value


def _count(fields: Fields, name: str) -> int:
    value = int(fields.number(name))
    if not 0 <= value < 2**32:
        raise ValueError(f"the {name} of the {fields.family} is {value}")
    return value
