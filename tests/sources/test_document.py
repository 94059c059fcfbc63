"""What text comes from never changes."""

from __future__ import annotations

import pytest

from tokctl.sources import AUTO, Archive, Batch, Document, ReadOptions, Records

MADE = [
    Document("a", 3, lambda: iter(())),
    Batch([b"x"]),
    Records("b", None, lambda: iter(()), lambda: 0),
    Archive("c", 1, lambda: iter(()), lambda: 0),
    ReadOptions("jsonl", "body"),
]


@pytest.mark.parametrize("made", MADE, ids=lambda made: type(made).__name__)
def test_nothing_of_it_is_set_or_deleted(
    made: Document | Batch | Records | Archive | ReadOptions,
) -> None:
    for name in made._fields:
        before = getattr(made, name)
        with pytest.raises(AttributeError):
            setattr(made, name, 1)
        with pytest.raises(AttributeError):
            delattr(made, name)
        copy = made._replace(**{name: "other"})  # type: ignore[arg-type]
        assert getattr(copy, name) == "other" and getattr(made, name) is before
        left = [each for each in made._fields if each != name]
        assert [getattr(copy, each) for each in left] == [getattr(made, each) for each in left]


def test_readings_are_equal_where_their_fields_are() -> None:
    assert ReadOptions() == AUTO and hash(ReadOptions()) == hash(AUTO)
    assert ReadOptions("jsonl") != AUTO != ReadOptions(include=("*.md",))
