"""What a training compares: the list of pairs and the replay say the same of every state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.explain import models
from tokctl import Tokenizer
from tokctl.analysis.explain import StatePairs, count_pre_tokens, pair_counts
from tokctl.analysis.replay import MergeReplay, Step
from tokctl.sources import Document

TEXT = Document("a", None, lambda: iter([models.TEXT.encode()]))


def both(tokenizer: Tokenizer, step: int) -> tuple[StatePairs, Step]:
    counts = count_pre_tokens(tokenizer, [TEXT])
    frame = MergeReplay(tokenizer, counts).goto(step + 1, leading=10_000)
    return pair_counts(tokenizer, step, counts), frame


@pytest.mark.parametrize("name", sorted(models.RECIPES))
@pytest.mark.parametrize("step", [0, 1, 7, 19])
def test_both_rank_the_same(name: str, step: int) -> None:
    listed, frame = both(models.model(name), step)
    ranked = [(pair.left, pair.right, pair.refused, pair.score) for pair in frame.pairs]
    allowed = [entry for entry in ranked if entry[2] is None]
    found = [(p.left, p.right, p.refused, p.score) for p in listed.pairs if p.refused is None]
    # The leading ones: the replay knows no pairs that are too rare.
    assert found == allowed[: len(found)]
    assert listed.pairs[0].wins and listed.known


def test_a_file_that_does_not_say_by_what_it_chose() -> None:
    tokenizer = models.model("plain")
    foreign = Tokenizer(replace(tokenizer.model, training=None))
    listed, frame = both(foreign, 3)
    assert not listed.known and not any(pair.wins for pair in listed.pairs)
    assert frame.choice is not None and frame.choice.kind == "unknown"
    assert [p.count for p in listed.pairs] == [p.count for p in frame.pairs]
    assert [(p.left, p.right) for p in listed.pairs] == [(p.left, p.right) for p in frame.pairs]
