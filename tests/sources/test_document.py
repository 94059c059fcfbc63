"""What text comes from never changes."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from tokctl.sources import AUTO, Archive, Batch, Document, Reading, Records

MADE = [
    Document("a", 3, lambda: iter(())),
    Batch([b"x"]),
    Records("b", None, lambda: iter(()), lambda: 0),
    Archive("c", 1, lambda: iter(()), lambda: 0),
    Reading("jsonl", "body"),
]


@pytest.mark.parametrize("made", MADE, ids=lambda made: type(made).__name__)
def test_nothing_of_it_is_set_or_deleted(
    made: Document | Batch | Records | Archive | Reading,
) -> None:
    for field in fields(made):
        before = getattr(made, field.name)
        with pytest.raises(FrozenInstanceError):
            setattr(made, field.name, 1)
        with pytest.raises(FrozenInstanceError):
            delattr(made, field.name)
        copy = replace(made, **{field.name: "other"})  # type: ignore[arg-type]
        assert getattr(copy, field.name) == "other" and getattr(made, field.name) is before
        left = [each.name for each in fields(made) if each is not field]
        assert [getattr(copy, name) for name in left] == [getattr(made, name) for name in left]


def test_readings_are_equal_where_their_fields_are() -> None:
    assert Reading() == AUTO and hash(Reading()) == hash(AUTO)
    assert Reading("jsonl") != AUTO != Reading(include=("*.md",))
