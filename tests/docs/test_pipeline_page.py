"""docs/pipeline.md tells of every kind and every preset, as they are."""

from __future__ import annotations

from tests.tools.docs.pipeline_page import PAGE, page


def test_the_page_is_not_stale() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run python -m tests.tools.docs.pipeline_page"
    )
