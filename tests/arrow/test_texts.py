"""Columns of Arrow tables as texts to train on."""

from __future__ import annotations

from typing import Any

import pytest

from tokctl import Texts, Tokenizer
from tokctl.tokenizer.iterables import AHEAD

pa = pytest.importorskip("pyarrow")

TEXTS = [f"low lower {number} newest" for number in range(2 * AHEAD + 1)]


class Watched:
    """A column that notes the length of each list that is made of a part."""

    def __init__(self, column: Any, lengths: list[int]) -> None:
        self.column, self.lengths = column, lengths

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self) -> Any:
        return iter(self.column)

    def slice(self, start: int, length: int) -> Watched:
        return Watched(self.column.slice(start, length), self.lengths)

    def to_pylist(self) -> list[str]:
        self.lengths.append(len(self))
        return list(self.column.to_pylist())


def test_a_column_is_read_in_batches() -> None:
    lengths: list[int] = []
    column = Watched(pa.chunked_array([TEXTS[:5], [], TEXTS[5:]]), lengths)
    trained = Tokenizer.train(Texts(column), vocab_size=300)
    assert lengths == [AHEAD, AHEAD, 1]
    assert trained.model == Tokenizer.train(Texts(TEXTS), vocab_size=300).model


@pytest.mark.parametrize("make", [pa.array, lambda rows: pa.chunked_array([rows, rows[:0]])])
@pytest.mark.parametrize("texts", [["low"], [["low", "lower"], ["newest"], []]])
def test_a_column_is_its_list(make: Any, texts: list[Any]) -> None:
    column = make(pa.array(texts, pa.list_(pa.string()) if len(texts) > 1 else pa.string()))
    trained = Tokenizer.train(Texts(column), vocab_size=257, min_count=1)
    assert trained.model == Tokenizer.train(Texts(texts), vocab_size=257, min_count=1).model
