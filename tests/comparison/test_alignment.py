"""Columns of segmentations: against a slow twin, and by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.models import RECIPES, model
from tokctl.analysis.comparison import ModelSegmentation, samples
from tokctl.analysis.comparison.samples import align

ALPHABET = "lowernstid (\u2019é\u3000\n\ufb01\u00bd\u0301א▁"


def cut(*spans: tuple[int, int]) -> ModelSegmentation:
    names = tuple(map(str, range(len(spans))))
    return ModelSegmentation("", names, names, tuple(range(len(spans))), spans)


def test_a_column_ends_where_all_are_cut() -> None:
    words = cut((0, 3), (4, 7))
    letters = cut((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 7))
    # At 3 a letter begins, the space, which the words leave out; at 1, 2 and 5 a word goes on.
    assert align([words, letters]) == [
        [(0, 1), (1, 1), (1, 2)],
        [(0, 3), (3, 4), (4, 6)],
    ]


def test_a_token_over_all_is_one_column() -> None:
    assert align([cut((0, 9)), cut((0, 4), (4, 9))]) == [[(0, 1)], [(0, 2)]]


def test_tokens_without_text_stand_where_they_are() -> None:
    assert align([cut((0, 0), (0, 2), (2, 2), (2, 4)), cut((0, 2), (2, 4))]) == [
        [(0, 2), (2, 4)],
        [(0, 1), (1, 2)],
    ]


def test_nothing_has_no_columns() -> None:
    assert align([cut(), cut()]) == [[], []]


@given(text=st.text(alphabet=ALPHABET, max_size=40))
def test_any_models_of_any_text(text: str) -> None:
    models = {
        name: model(name)
        for name in ("bpe", "wordpiece", "unigram", "notebook-bpe", "t5")
        if name in RECIPES
    }
    cuts = samples.sample(models, text).segmentations
    columns = align(cuts)
    assert len({len(ranges) for ranges in columns}) == 1
    borders = slow_borders(cuts)
    for found, ranges in zip(cuts, columns, strict=True):
        # The ranges follow one another, and are all tokens.
        assert [0, *(last for _, last in ranges)] == [
            *(first for first, _ in ranges),
            len(found.tokens),
        ]
        for place, (first, last) in enumerate(ranges):
            for start, end in found.spans[first:last]:
                assert borders[place] <= start
                if place + 1 < len(borders):
                    assert end <= borders[place + 1]


def slow_borders(cuts: tuple[ModelSegmentation, ...]) -> list[int]:
    starts = {start for found in cuts for start, _ in found.spans}
    return sorted(
        place
        for place in starts
        if not any(start < place < end for found in cuts for start, end in found.spans)
    )
