"""`docs/recommend.md` names every candidate, and the rules as they are."""

from __future__ import annotations

import re
from pathlib import Path

from tokctl.extras import recommend

PAGE = (Path(__file__).parents[2] / "docs" / "recommend.md").read_text(encoding="utf-8")


def rows(head: str) -> str:
    """The table under this head."""
    return PAGE.partition(f"| {head} |")[2].partition("\n\n")[0]


def test_every_candidate_is_listed() -> None:
    listed = re.findall(r"`(\w+/\w+)`", rows("candidate | what it is | numbers"))
    assert sorted(listed) == sorted(recommend.CANDIDATES)


def test_the_rules_have_their_numbers() -> None:
    text = " ".join(PAGE.split())
    assert f"save less than {recommend.LEAST_GAIN:.0%} of the tokens" in text
    assert f"saved {recommend.FLAT:.0%} or more" in text
    assert f"from {recommend.SIZES[0]:,} to {recommend.SIZES[-1]:,} ids" in text
    assert f"{recommend.ASPECT} · layers" in text
    assert f"{recommend.TAO_VOCABULARY:,} · (N / {recommend.TAO_OTHERS:,})" in text
    assert f"^{recommend.TAO_EXPONENT}" in text
    assert recommend.SAMPLE_SIZE == 20 << 20 and "20 MB (`--sample-size`)" in text
    assert all(share in text for share in recommend.COVERAGES)
