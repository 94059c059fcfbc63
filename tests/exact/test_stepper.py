"""The native stepper against the slow twin of the trainer: every figure, at any step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import part_of_examples
from tests.errors import raises_code
from tests.exact.test_training import odd_words, recipe, tied_words
from tests.exact.training_options import MARKERS, SCORED
from tests.twins import train as twin
from tokctl import Tokenizer
from tokctl._native import Stepper
from tokctl.analysis.explain.states import Criterion

#: Large counts that floating point can't tell apart.
LARGE = st.dictionaries(
    st.text(alphabet="abc", min_size=1, max_size=5),
    st.integers(2**55, 2**55 + 2),
    min_size=1,
    max_size=8,
)


PLAIN = recipe("none", "count", "first-seen")


@dataclass(frozen=True)
class Row:
    """A pair as the twin counts it."""

    pair: twin.Pair
    figures: tuple[int, int, int]
    score: object
    refused: str | None


class Twin:
    """The twin's training, with the options that decide between pairs."""

    def __init__(
        self, words: dict[str, int], marker: str, score: str, ties: str, least: int, longest: int
    ) -> None:
        self.kind, self.marker = MARKERS[marker].kind, MARKERS[marker].text
        self.score, self.ties, self.least, self.longest = score, ties, least, longest
        self.special = ["[UNK]", "aba"]
        self.training = twin.train(
            words,
            vocab_size=50,
            marker_kind=self.kind,
            marker=self.marker,
            criterion=score,  # type: ignore[arg-type]
            ties=ties,  # type: ignore[arg-type]
            special_tokens=self.special,
            min_frequency=least,
            max_token_length=longest,
        )
        self.states = list(self.training.states())
        self.forms = [{tuple(twin.initial_symbols(w, self.kind, self.marker)): w for w in words}]
        for left, right, token, *_ in self.training.merges:
            last = self.forms[-1].items()
            self.forms.append({twin.merge_word(f, left, right, token): w for f, w in last})

    def rows(self, step: int) -> list[Row]:
        """All pairs in the order that `choose` takes them."""
        state = self.states[step]
        pairs, symbols = twin.count_pairs(state), twin.count_symbols(state)
        scores = twin.pair_scores(pairs, symbols, self.score)  # type: ignore[arg-type]
        rows = []
        while scores:
            pair = twin.choose(scores, self.ties, self.training.vocabulary)  # type: ignore[arg-type]
            figures = pairs[pair], symbols[pair[0]], symbols[pair[1]]
            rows.append(Row(pair, figures, scores.pop(pair), self._refused(pair)))
        return rows

    def _refused(self, pair: twin.Pair) -> str | None:
        token = twin.merged_token(*pair, self.kind, self.marker)
        if len(twin.strip_marker(token, self.kind, self.marker)) > self.longest:
            return "long"
        return "special" if token in self.special else None

    def scanned(self, step: int) -> list[str]:
        """The words in the order in which they are scanned."""
        return [self.forms[step][form] for form in self.states[step]]


def check(
    stepper: Stepper, tokens: list[str], expected: Twin, words: list[str], limit: int
) -> None:
    step = stepper.step
    rows = expected.rows(step)

    def read(found: tuple[int, int, int, int, int, str | None]) -> tuple[object, ...]:
        left, right, *figures, refused = found
        return (tokens[left], tokens[right]), tuple(figures), refused

    wanted = [(row.pair, row.figures, row.refused) for row in rows]
    assert [read(row) for row in stepper.all_pairs()] == wanted
    frequent = [row for row in rows if row.figures[0] >= expected.least]
    allowed = [row for row in frequent if row.refused is None]
    leading, best, tied = stepper.leading(limit)
    assert [read(row) for row in leading] == [
        (row.pair, row.figures, row.refused) for row in frequent[:limit]
    ]
    assert (best and read(best)[0]) == (allowed[0].pair if allowed else None)
    assert tied == sum(row.score == allowed[0].score for row in allowed)
    merges = expected.training.merges
    if step < len(merges):
        assert allowed[0].pair == merges[step][:2]
    for row in rows[:3] + rows[-1:]:
        left, right = map(tokens.index, row.pair)
        found = stepper.pair(left, right)
        above = sum(other.score > row.score for other in rows)  # type: ignore[operator]
        assert found is not None and (read(found[0])[0], found[1]) == (row.pair, above)
    assert stepper.pair(len(tokens) - 1, len(tokens)) is None
    state = expected.states[step]
    assert stepper.symbols == sum(len(word) * count for word, count in state.items())
    assert (stepper.distinct_pairs, stepper.unknown_pairs) == (len(rows), 0)
    assert [words[number] for number in stepper.scan_order()] == expected.scanned(step)
    before = {word: form for form, word in expected.forms[max(step - 1, 0)].items()}
    after = {word: form for form, word in expected.forms[step].items()}
    rewritten = [number for number, word in enumerate(words) if before[word] != after[word]]
    assert stepper.rewritten() == rewritten


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("marker", "score", "ties"),
    [(marker, *both) for marker, both in product(MARKERS, SCORED)],
)
@given(
    words=st.one_of(tied_words, odd_words, LARGE),
    least=st.integers(1, 3),
    longest=st.integers(2, 9),
    moves=st.lists(st.integers(0, 50) | st.sampled_from([-1, -2]), max_size=8),
    limit=st.integers(0, 9),
)
@part_of_examples(3)
def test_the_stepper_equals_the_twin_wherever_it_goes(
    marker: str,
    score: str,
    ties: str,
    words: dict[str, int],
    least: int,
    longest: int,
    moves: list[int],
    limit: int,
) -> None:
    expected = Twin(words, marker, score, ties, least, longest)
    tokenizer = Tokenizer.train(
        words,
        recipe=recipe(marker, score, ties, special_tokens=tuple(expected.special)),
        vocab_size=50,
        min_frequency=least,
        max_token_length=longest,
    )
    assert tokenizer.tokens == expected.training.vocabulary
    total = len(tokenizer.merges)
    stepper = Criterion(tokenizer).stepper([(w.encode(), n) for w, n in words.items()])
    check(stepper, tokenizer.tokens, expected, list(words), limit)
    for move in moves:
        # A negative number is a step back, else the step to go to.
        stepper.goto(max(stepper.step + move, 0) if move < 0 else min(move, total))
        check(stepper, tokenizer.tokens, expected, list(words), limit)


def test_a_step_beyond_the_last_is_an_error() -> None:
    tokenizer = Tokenizer.train({"abab": 2}, recipe=PLAIN, vocab_size=3)
    stepper = Criterion(tokenizer).stepper([(b"abab", 2)])
    with raises_code("bad-input", "the model has no step 99"):
        stepper.goto(99)
    assert stepper.step == 0


def test_counts_that_64_bits_can_not_hold_are_refused() -> None:
    tokenizer = Tokenizer.train({"abab": 2}, recipe=PLAIN, vocab_size=3)
    with raises_code("too-large", "counts have 64 bits"):
        Criterion(tokenizer).stepper([(b"abab", 2**63)])


def test_no_pair_crosses_a_character_without_an_id() -> None:
    tokenizer = Tokenizer.train({"abab": 2}, recipe=PLAIN, vocab_size=3)
    stepper = Criterion(tokenizer).stepper([(b"abxab", 3), (b"xx", 1), (b"", 5)])
    assert (stepper.symbols, stepper.unknown_pairs) == (17, 7)
    assert [row[2:5] for row in stepper.all_pairs()] == [(6, 6, 6)]
    stepper.goto(1)
    assert (stepper.symbols, stepper.unknown_pairs) == (11, 7)
    assert stepper.rewritten() == [0] and stepper.all_pairs() == []
    stepper.goto(0)
    assert [row[2:5] for row in stepper.all_pairs()] == [(6, 6, 6)]
