"""Watching a Unigram training: its rounds as its file keeps them."""

from __future__ import annotations

import pytest

from tests.errors import raises_code
from tests.metrics.models import document
from tests.watch.screens import app_of, seen
from tokctl import Tokenizer
from tokctl.analysis.explain import count_pre_tokens
from tokctl.analysis.replay import RoundReplay
from tokctl.model.presets import UNIGRAM


@pytest.fixture(scope="module")
def unigram(request: pytest.FixtureRequest) -> Tokenizer:
    sample = request.getfixturevalue("sample")
    return Tokenizer.train([document(sample)], vocab_size=150, recipe=UNIGRAM)


def test_rounds_are_what_the_model_keeps(unigram: Tokenizer, sample: str) -> None:
    counts = count_pre_tokens(unigram, [document(sample)])
    replay = RoundReplay(unigram, counts)
    rounds = unigram.model.rounds
    assert replay.total == len(rounds) > 2
    for number, found in enumerate(rounds, 1):
        frame = replay.goto(number, limit=5, arrange="count")
        assert (frame.step, frame.round, frame.total) == (number, found, len(rounds))
        assert frame.left == found.pieces - found.dropped
        assert frame.objectives == tuple(each.objective for each in rounds)
        highest = sorted((count for _, count in counts), reverse=True)[:5]
        assert [word.count for word in frame.words] == highest
        assert not any(word.changed for word in frame.words)
    lengths = [len(unigram.encoder.nbest(data, 1)[0][0]) * count for data, count in counts]
    assert replay.goto(1).tokens == sum(lengths)
    for bad in (0, len(rounds) + 1):
        with raises_code("bad-value"):
            replay.goto(bad)


def test_rounds_on_the_screen(unigram: Tokenizer, sample: str) -> None:
    rounds = unigram.model.rounds
    first, second, last, far = seen(
        app_of(unigram, sample), "right", "end", f"g {len(rounds) + 1} enter", size=(100, 30)
    )
    for number, shown in ((1, first), (2, second), (len(rounds), last)):
        found = rounds[number - 1]
        assert f" round {number} of {len(rounds)} " in shown
        assert f"{found.pieces:,} pieces: loss {found.objective:.4f}, {found.tokens:,} tok" in shown
        assert f"{found.dropped:,} dropped" in shown
        assert "Words by the final model" in shown  # nothing older is known
        assert "Loss of all rounds" in shown
        pointer = next(line for line in shown.splitlines() if "▲" in line)
        assert pointer.index("▲") > 40
    piece, loss = rounds[0].examples[0]
    assert f"{piece}  loss {loss:.4g}\n" in first
    assert "dropped by loss" in first and "dropped by score" in last
    assert f"there is no round {len(rounds) + 1}" in far


def test_a_piece_is_found_where_it_was_dropped(unigram: Tokenizer, sample: str) -> None:
    dropped = unigram.model.rounds[1].examples[0][0]
    replay = RoundReplay(unigram, count_pre_tokens(unigram, [document(sample)]))
    step = replay.find_token(dropped, 0)
    assert dropped in [piece for piece, _ in unigram.model.rounds[step - 1].examples]
    assert replay.find_token(unigram.tokens[-1], 0) in (step, replay.total)
    with raises_code("unknown-name"):
        replay.find_token("nothing like it", 0)
    word = replay.find_word("the")
    assert [stage.tokens for stage in replay.stages(word)] == [replay.word(word, 1).tokens]
    app = app_of(unigram, sample)
    _, followed = seen(app, "f the enter")
    assert "by the final model" in followed
