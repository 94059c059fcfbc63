"""Replays, held against corpus states and counts from scratch, wherever they go."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import shared_file
from tests.errors import raises_code
from tests.explain import every, models
from tests.metrics.models import document
from tokctl import TokctlError, Tokenizer, preset
from tokctl.analysis.explain import count_pre_tokens, state_words
from tokctl.analysis.replay import LeadingPair, MergeReplay, Step
from tokctl.model import Recipe
from tokctl.model.presets import DEFAULTS

RECIPES: dict[str, Recipe] = {
    "bpe": DEFAULTS["bpe"],
    "wordpiece": DEFAULTS["wordpiece"],
    "characters": models.CHARACTERS,
    "fused": models.FUSED,
    "by-text": models.BY_TEXT,
    "bytes-by-text": models.BYTES_BY_TEXT,
    "by-count": models.WORDPIECE_BY_COUNT,
    "notebook-bpe": preset("notebook-bpe"),
    "notebook-wordpiece": preset("notebook-wordpiece"),
    "notebook-bpe-end": models.NOTEBOOK_BPE,
    "llama2": preset("llama2"),
}
TEXTS = st.lists(
    st.text(alphabet="abcé l", min_size=1, max_size=9) | st.sampled_from(models.TEXT.split()),
    min_size=1,
    max_size=25,
).map(" ".join)


def trained(recipe: Recipe, text: str, merges: int = 40, **options: object) -> Tokenizer:
    size = len(set(text.encode())) * 2 + len(recipe.special_tokens) + merges
    size += 256 if recipe.units == "bytes" or recipe.byte_fallback else 0
    return Tokenizer.train([document(text)], vocab_size=size, recipe=recipe, **options)  # type: ignore[arg-type]


def counted(tokenizer: Tokenizer, text: str) -> list[tuple[bytes, int]]:
    return count_pre_tokens(tokenizer, [document(text)])


class Slow:
    """A step from scratch: the state before it, and every pair in the order of the recipe."""

    def __init__(self, tokenizer: Tokenizer, step: int, counts: list[tuple[bytes, int]]) -> None:
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.symbols: Counter[str] = Counter()
        first: dict[tuple[str, str], int] = {}
        words = state_words(tokenizer, max(step - 1, 0), counts)
        self.tokens = sum(len(w.tokens) * w.count for w in state_words(tokenizer, step, counts))
        for word in words:
            for pair in pairwise(word.tokens):
                self.pairs[pair] += word.count
                first.setdefault(pair, len(first))
            for symbol in word.tokens:
                self.symbols[symbol] += word.count
        recipe, ids = tokenizer.recipe, tokenizer.vocabulary

        texts = {pair: place for place, pair in enumerate(sorted(self.pairs, reverse=True))}

        def rank(pair: tuple[str, str]) -> tuple[Fraction, tuple[int, ...]]:
            by_id = recipe.tie_break == "lowest-id"
            score = Fraction(self.pairs[pair])
            if recipe.score == "likelihood":
                score /= self.symbols[pair[0]] * self.symbols[pair[1]]
            if recipe.tie_break == "highest-text":
                return -score, (texts[pair],)
            return -score, (ids[pair[0]], ids[pair[1]]) if by_id else (first[pair],)

        self.ranking = sorted(self.pairs, key=rank)


def seen(pair: LeadingPair) -> tuple[tuple[str, str], int, int, int]:
    return (pair.left, pair.right), pair.count, pair.left_count, pair.right_count


def check(tokenizer: Tokenizer, frame: Step, counts: list[tuple[bytes, int]]) -> None:
    """A frame with all words in scan order is what counting from scratch gives."""
    step = frame.step
    slow = Slow(tokenizer, step, counts)
    assert [(w.tokens, w.count, w.changed) for w in frame.words] == [
        (w.tokens, w.count, w.changed) for w in state_words(tokenizer, step, counts)
    ]
    for word in frame.words:
        assert word.changed == bool(word.made)
        assert frame.merge or not word.made
        assert {word.tokens[at] for at in word.made} <= {frame.merge and frame.merge.token}
    assert frame.changed == sum(word.changed for word in frame.words)
    assert frame.changed_occurrences == sum(w.count for w in frame.words if w.changed)
    assert frame.tokens == slow.tokens
    assert (frame.distinct, frame.distinct_pairs) == (len(counts), len(slow.pairs))
    symbols = slow.symbols
    expected = [
        (pair, slow.pairs[pair], symbols[pair[0]], symbols[pair[1]])
        for pair in slow.ranking[: len(frame.pairs)]
    ]
    assert [seen(pair) for pair in frame.pairs] == expected
    assert [pair.place for pair in frame.pairs] == list(range(1, len(frame.pairs) + 1))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", RECIPES)
@given(data=st.data())
def test_wherever_it_goes_a_frame_is_the_one_from_scratch(name: str, data: st.DataObject) -> None:
    text = data.draw(TEXTS)
    tokenizer = trained(RECIPES[name], text)
    counts = counted(tokenizer, text)
    replay = MergeReplay(tokenizer, counts)
    moves = st.lists(st.sampled_from([1, 1, 1, -1, -1, 5, -7, 1000, -1000, 13]), max_size=12)
    step = data.draw(st.integers(0, replay.total))
    for move in [0, *data.draw(moves)]:
        step = min(max(step + move, 0), replay.total)
        frame = replay.goto(step, limit=1000)
        check(tokenizer, frame, counts)
        if frame.choice is None:
            assert replay.total == 0
            continue
        merge = tokenizer.merges[frame.decides - 1]
        chosen = [pair for pair in frame.pairs if pair.chosen]
        assert [(*pair.ids, pair.count) for pair in chosen] == [merge[:2] + merge[3:4]]
        # Best of all, and as often as the training says.
        assert frame.pairs[0].chosen and frame.choice.same_figures
        best = frame.pairs[0].score or frame.pairs[0].count
        ties = [pair for pair in frame.pairs if (pair.score or pair.count) == best]
        assert frame.choice.kind == ("best" if frame.choice.tied == 1 else "tie")
        assert frame.choice.tied >= len(ties)
        assert frame.choice.tied == len(ties) or len(ties) == len(frame.pairs)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["bpe", "wordpiece", "notebook-bpe", "notebook-wordpiece"])
def test_every_merge_of_the_sample_leads_in_its_turn(name: str, sample: str) -> None:
    tokenizer = trained(RECIPES[name], sample, merges=400)
    counts = counted(tokenizer, sample)
    replay = MergeReplay(tokenizer, counts)
    assert replay.total > 300
    for step in range(1, replay.total + 1):
        frame = replay.goto(step, limit=0)
        assert frame.choice and frame.choice.kind in ("best", "tie"), step
        assert frame.choice.same_figures and frame.pairs[0].chosen, step
        assert frame.vocabulary == len(tokenizer.tokens) - replay.total + step


@pytest.mark.parametrize(
    ("name", "recipe"),
    [
        ("notebook_bpe_toy", models.NOTEBOOK_BPE),
        ("notebook_wordpiece_toy", models.NOTEBOOK_WORDPIECE),
    ],
)
def test_the_documents_toy_corpus(name: str, recipe: Recipe) -> None:
    golden = models.documents()[name]
    tokenizer = models.toy(recipe, golden["vocab_size"])
    replay = MergeReplay(tokenizer, counted(tokenizer, golden["document"]))
    frames = [replay.goto(step) for step in range(replay.total + 1)]
    merges = [f"{f.merge.left} {f.merge.right}" for f in frames if f.merge]
    assert merges == golden["merges"]
    assert [f"{f.pairs[0].left} {f.pairs[0].right}" for f in frames[1:]] == golden["merges"]
    state = {" ".join(word.tokens): word.count for word in frames[-1].words}
    assert list(state.items()) == list(golden["final_state"].items())
    everything = replay.goto(0, leading=100)
    pairs = {f"{pair.left} {pair.right}": pair for pair in everything.pairs}
    if "initial_pair_counts" in golden:
        found = {key: pair.count for key, pair in pairs.items()}
        assert found == golden["initial_pair_counts"]
    else:
        scores = {key: float(pair.score or 0) for key, pair in pairs.items()}
        assert scores == pytest.approx(golden["initial_scores"])


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece"])
def test_a_whole_book_at_steps_far_apart(algorithm: str) -> None:
    text = shared_file("corpora/treasure-island.txt").read_text(encoding="utf-8")
    recipe = DEFAULTS[algorithm]
    tokenizer = Tokenizer.train([document(text)], vocab_size=10_000, recipe=recipe)
    counts = counted(tokenizer, text)
    replay = MergeReplay(tokenizer, counts)
    for step in (0, 1, 2, 900, 899, 5000, replay.total, 17):
        check(tokenizer, replay.goto(step, limit=10**6), counts)


def test_many_pairs_that_tie() -> None:
    """More than are looked up one by one."""
    text = " ".join(chr(0x400 + at) + chr(0x600 + at) for at in range(150))
    for recipe in (models.CHARACTERS, preset("notebook-wordpiece")):
        tokenizer = Tokenizer.train([document(text)], vocab_size=500, recipe=recipe)
        counts = counted(tokenizer, text)
        replay = MergeReplay(tokenizer, counts)
        for step in (0, 1, 40, 41, 70, replay.total, 3):
            frame = replay.goto(step, limit=1000)
            check(tokenizer, frame, counts)
            assert replay.total > 64
            assert frame.choice and frame.choice.tied == replay.total + 1 - frame.decides


def test_what_training_may_not_merge_is_passed_over() -> None:
    text = "abcabc " * 9 + "xyxy xy " * 5 + "<s> " * 8
    recipe = models.CHARACTERS.with_special_tokens(["<s>"])
    options = {"max_token_length": 2, "min_frequency": 6}
    tokenizer = Tokenizer.train([document(text)], vocab_size=90, recipe=recipe, **options)
    replay = MergeReplay(tokenizer, counted(tokenizer, text))
    refused = set()
    for step in range(1, replay.total + 1):
        frame = replay.goto(step)
        assert frame.choice and frame.choice.kind in ("best", "tie")
        chosen = next(pair for pair in frame.pairs if pair.chosen)
        before = frame.pairs[: chosen.place - 1]
        assert all(pair.refused or pair.count == chosen.count for pair in before)
        refused |= {(pair.token, pair.refused) for pair in before}
        assert min(pair.count for pair in frame.pairs) >= 6
    assert ("abc", "long") in refused
    whole = Tokenizer.train([document("<s> " * 8 + "ab")], vocab_size=90, recipe=recipe)
    replay = MergeReplay(whole, counted(whole, "<s> " * 8 + "ab"))
    last = replay.goto(replay.total)
    assert [(p.token, p.refused) for p in last.pairs if p.refused] == [("<s>", "special")]
    assert last.choice and last.choice.kind == "best"


def test_rare_words_are_left_out_as_the_training_did() -> None:
    text = models.TOY + " rare words"
    tokenizer = trained(models.CHARACTERS, text, min_count=2)
    replay = MergeReplay(tokenizer, counted(tokenizer, text))
    assert [data for data, _ in replay.counts] == [b"low", b"lower", b"newest", b"widest"]
    # On another text they stay: it is not what the model was trained on.
    assert len(MergeReplay(tokenizer, counted(tokenizer, "low new")).counts) == 2


def test_another_text_is_not_taken_for_the_one_trained_on() -> None:
    tokenizer = models.toy(models.CHARACTERS, 30)
    replay = MergeReplay(tokenizer, counted(tokenizer, "wide wide low"))
    kinds = [replay.goto(step).choice for step in range(1, replay.total + 1)]
    assert {choice.kind for choice in kinds if choice} >= {"other", "absent"}
    assert {choice.same_figures for choice in kinds if choice} == {False}
    for step in range(1, replay.total + 1):
        frame = replay.goto(step, leading=1)
        assert frame.choice
        if frame.choice.kind == "other":
            assert [pair.chosen for pair in frame.pairs] == [False, True]
        elif frame.choice.kind == "absent":
            assert not any(pair.chosen for pair in frame.pairs)


def test_a_file_that_does_not_tell_its_training_is_not_made_to() -> None:
    trained_model = models.toy(models.CHARACTERS, 30)
    foreign = Tokenizer(every.replace(trained_model.model, training=None))
    replay = MergeReplay(foreign, counted(foreign, models.TOY))
    for step in range(1, replay.total + 1):
        choice = replay.goto(step).choice
        assert choice and choice.kind == "unknown"


def test_arrangements_hold_the_same_words() -> None:
    tokenizer = models.model("replay")
    counts = [(word.encode(), n) for word, n in Counter(models.TEXT.split()).items()]
    replay = MergeReplay(tokenizer, counts)
    for step in (0, 3, 7, replay.total):
        scan, count, changed = (
            replay.goto(step, limit=100, arrange=arrange).words
            for arrange in ("scan", "count", "changed")
        )
        assert sorted(w.number for w in count) == sorted(w.number for w in scan)
        assert [w.count for w in count] == sorted((w.count for w in scan), reverse=True)
        assert list(changed) == sorted(count, key=lambda word: not word.changed)
        assert replay.goto(step, first=2, limit=3).words == scan[2:5]


def test_stages_are_the_steps_that_change_a_word() -> None:
    tokenizer = models.toy(models.NOTEBOOK_BPE, 21)
    replay = MergeReplay(tokenizer, counted(tokenizer, models.TOY))
    number = replay.find_word("lower")
    stages = replay.stages(number)
    assert [(stage.step, " ".join(stage.tokens)) for stage in stages] == [
        (0, "l o w e r _"),
        (4, "lo w e r _"),
        (5, "low e r _"),
    ]
    assert [stage.made for stage in stages] == [(), (0,), (0,)]
    for stage in stages[1:]:
        assert replay.word(number, stage.step).changed


def test_finding() -> None:
    tokenizer = models.model("bytes")
    replay = MergeReplay(tokenizer, counted(tokenizer, models.TEXT))
    assert replay.counts[replay.find_word("newest")][0] == b" newest"
    assert replay.counts[replay.find_word("anda")][0] == b" bandana"
    step = replay.find_token("est", 0)
    merge = replay.goto(step).merge
    assert merge and merge.token == "est"
    assert replay.find_token("est", step) == step  # once only: round to it again
    for bad, message in (("nope", "no such token"), ("e", "before the first")):
        with pytest.raises(TokctlError, match=message):
            replay.find_token(bad, 0)
    for bad in ("", "zebra", "\ud800"):
        with raises_code("unknown-name"):
            replay.find_word(bad)
    for bad_step in (-1, replay.total + 1, 1 << 70):
        with raises_code("bad-value"):
            replay.goto(bad_step)


def test_a_word_as_long_as_a_book_is_shown_in_part() -> None:
    text = "ab" * 5000
    tokenizer = trained(models.CHARACTERS, "ab ab", merges=1)
    replay = MergeReplay(tokenizer, counted(tokenizer, text))
    frame = replay.goto(1)
    assert frame.words[0].tokens == ("ab",) * 200
    assert frame.words[0].more == 4800
    assert frame.tokens == 5000


def test_too_large_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokctl.analysis.replay.MOST_BYTES", 10)
    tokenizer = models.model("bytes")
    with raises_code("too-large", "too large to watch: its distinct pre-tokens have 11"):
        MergeReplay(tokenizer, counted(tokenizer, "low lower x"))


def test_what_a_language_chose_is_not_judged_by_a_text() -> None:
    tokenizer = every.model("languages")
    record = tokenizer.model.parity
    assert record is not None
    counts = counted(tokenizer, every.TEXT)
    replay = MergeReplay(tokenizer, counts)
    kinds = set()
    for step in range(1, replay.total + 1):
        choice = replay.goto(step, limit=0).choice
        assert choice is not None and choice.language == record.language_of(step - 1)
        kinds.add(choice.kind)
    assert kinds <= {"language", "absent"} and "language" in kinds
