"""Some seeds of every day; `python -m tests.tools.random_pipelines` runs more."""

from __future__ import annotations

import pytest

from tests.tools.random_pipelines.compare import compared


@pytest.mark.few(2)
@pytest.mark.parametrize("first", range(0, 120, 10))
def test_ids_places_and_text_are_those_of_hugging_face(first: int) -> None:
    for seed in range(first, first + 10):
        assert compared(seed, 12).differences == []
