"""`docs/recommend.md` names every candidate, and the rules as they are."""

from __future__ import annotations

import re
from pathlib import Path

from tokctl.extras.recommend import candidates, corpus, curves, shape

PAGE = (Path(__file__).parents[2] / "docs" / "recommend.md").read_text(encoding="utf-8")


def rows(head: str) -> str:
    """The table under this head."""
    return PAGE.partition(f"| {head} |")[2].partition("\n\n")[0]


def test_every_candidate_is_listed() -> None:
    listed = re.findall(r"`(\w+/\w+)`", rows("candidate | what it is | numbers"))
    assert sorted(listed) == sorted(candidates.CANDIDATES)


def test_the_rules_have_their_numbers() -> None:
    text = " ".join(PAGE.split())
    assert f"save less than {curves.LEAST_GAIN:.0%} of the tokens" in text
    assert f"saved {curves.FLAT:.0%} or more" in text
    assert f"from {candidates.SIZES[0]:,} to {candidates.SIZES[-1]:,} ids" in text
    assert f"{shape.ASPECT} · layers" in text
    assert f"{shape.TAO_VOCABULARY:,} · (N / {shape.TAO_OTHERS:,})" in text
    assert f"^{shape.TAO_EXPONENT}" in text
    assert corpus.SAMPLE_SIZE == 20 << 20 and "20 MB (`--sample-size`)" in text
    assert all(share in text for share in candidates.COVERAGES)
