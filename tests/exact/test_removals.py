"""PickyBPE and Scaffold-BPE against their slow twins: events, ids and encodings, one for one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.twins import removals as twin
from tests.twins.encode import encode_bpe
from tokctl import Recipe, TokctlError, Tokenizer, formats
from tokctl.model import TIE_BREAKS, Merge, MergeLog, Model, Removal
from tokctl.model.encoders import pre_token_encoder
from tokctl.model.presets import default_recipe

ROOT = Path(__file__).parents[2]
STORY = (ROOT / "corpora" / "the-lamplighters-atlas.txt").read_text(encoding="utf-8")
NOVEL = ROOT.parent / "shared" / "corpora" / "treasure-island.txt"

#: The rule of texts is not for these trainings.
TIES = tuple(rule for rule in TIE_BREAKS if rule != "highest-text")
#: Ties everywhere and runs of one letter; then a few words that share their parts.
tied_words = st.dictionaries(
    st.text(alphabet="ab", min_size=1, max_size=12), st.integers(1, 3), min_size=1, max_size=12
)
like_words = st.dictionaries(
    st.lists(
        st.sampled_from(["could", "would", "should", "ould", "s", "ou", "ing", "é字"]), max_size=3
    )
    .map("".join)
    .filter(bool),
    st.integers(1, 60),
    min_size=1,
    max_size=12,
)
words_of_both = st.one_of(tied_words, like_words)
thresholds = st.sampled_from(["0.05", "0.3", "0.5", "0.667", "0.75", "0.9", "1"])


def recipe(algorithm: str, ties: str = "first-seen", **changes: object) -> Recipe:
    base = default_recipe(algorithm, characters=True)
    return replace(base, tie_break=ties, **changes)  # type: ignore[arg-type]


def assert_same(tokenizer: Tokenizer, expected: twin.Refined, special: int = 1) -> None:
    events = tokenizer.model.events
    assert events is not None
    assert tokenizer.tokens[special:] == expected.vocabulary
    assert [token.decode() for token in events.removed] == expected.removed
    names = [*tokenizer.tokens, *expected.removed]
    merges = [(names[m.left], names[m.right], names[m.token], *m[3:]) for m in events.merges]
    assert merges == list(map(tuple, expected.merges))
    removals = [twin.Removal(r.step, names[r.token], r.count, r.whole) for r in events.removals]
    assert removals == expected.removals


@pytest.mark.parametrize("ties", TIES)
@given(
    words=words_of_both,
    size=st.integers(1, 25),
    threshold=thresholds,
    least=st.integers(1, 3),
    more=st.lists(st.text(alphabet="ab", max_size=20), max_size=4),
)
def test_picky_equals_twin(
    ties: str, words: dict[str, int], size: int, threshold: str, least: int, more: list[str]
) -> None:
    alphabet = len(set("".join(words)))
    tokenizer = Tokenizer.train(
        words,
        recipe=recipe("picky", ties),
        vocab_size=1 + alphabet + size,
        threshold=threshold,
        min_frequency=least,
    )
    expected = twin.train_picky(
        words,
        vocab_size=alphabet + size,
        threshold=Fraction(threshold),
        ties=ties,  # type: ignore[arg-type]
        min_frequency=least,
    )
    assert_same(tokenizer, expected)
    known = set(expected.alphabet)
    for word in [*words, *more]:
        if word and set(word) <= known:
            assert tokens_of(tokenizer, word) == twin.replay_picky(word, expected), word
    for word, state in zip(words, final_states(words, expected), strict=True):
        bare = Tokenizer(replace(tokenizer.model, recipe=recipe("picky", ties, whole_words=False)))
        assert tokens_of(bare, word) == state


def final_states(words: dict[str, int], expected: twin.Refined) -> list[list[str]]:
    """The corpus state at the end, in the order of the words."""
    by_text = {"".join(state): list(state) for state in expected.state}
    return [by_text[word] for word in words]


def tokens_of(tokenizer: Tokenizer, word: str) -> list[str]:
    """The tokens of one pre-token."""
    return [tokenizer.tokens[id_] for id_ in pre_token_encoder(tokenizer.model).ids(word)]


@pytest.mark.parametrize("ties", TIES)
@given(
    words=words_of_both,
    size=st.integers(1, 25),
    least=st.integers(1, 3),
    more=st.lists(st.text(alphabet="ab", max_size=20), max_size=4),
)
def test_scaffold_equals_twin(
    ties: str, words: dict[str, int], size: int, least: int, more: list[str]
) -> None:
    alphabet = len(set("".join(words)))
    tokenizer = Tokenizer.train(
        words,
        recipe=recipe("scaffold", ties),
        vocab_size=1 + alphabet + size,
        min_frequency=least,
    )
    expected = twin.train_scaffold(
        words,
        vocab_size=alphabet + size,
        ties=ties,  # type: ignore[arg-type]
        min_frequency=least,
    )
    assert_same(tokenizer, expected)
    known = set(expected.alphabet)
    for word in [*words, *more]:
        if word and set(word) <= known:
            assert tokens_of(tokenizer, word) == twin.encode_scaffold(word, expected, encode_bpe)


def words_of(text: str, tokenizer: Tokenizer) -> dict[bytes, int]:
    """The pre-tokens of a text with their counts."""
    counts: dict[bytes, int] = {}
    joined, ranges, _, _ = tokenizer.encoder.pre_tokens(text.encode(), None)
    for start, end in ranges:
        counts[joined[start:end]] = counts.get(joined[start:end], 0) + 1
    return counts


def compare_on_text(algorithm: str, text: str, size: int, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    tokenizer = Tokenizer.train(tmp_path / "text.txt", vocab_size=256 + size, algorithm=algorithm)
    spelled = dict(zip(range(256), tokenizer.tokens, strict=False))
    by_byte = {tokenizer.model.tokens[id_][0]: name for id_, name in spelled.items()}
    counts = words_of(text, tokenizer)
    words = {"".join(by_byte[byte] for byte in word): n for word, n in counts.items()}
    learn = twin.train_picky if algorithm == "picky" else twin.train_scaffold
    given: dict[str, Any] = {"threshold": Fraction(9, 10)} if algorithm == "picky" else {}
    expected = learn(
        words, vocab_size=256 + size, ties="lowest-id", alphabet=list(spelled.values()), **given
    )
    assert tokenizer.tokens == expected.vocabulary
    assert tokenizer.model.events is not None
    assert [removal[0] for removal in tokenizer.model.events.removals] == [
        removal.step for removal in expected.removals
    ]
    for word, spelling in zip(counts, words, strict=True):
        if algorithm == "picky":
            tokens = twin.replay_picky(spelling, expected)
        else:
            tokens = twin.encode_scaffold(spelling, expected, encode_bpe)
        assert [tokenizer.tokens[id_] for id_ in tokenizer.encode(word.decode()).ids] == tokens
    assert tokenizer.decode(tokenizer.encode(text).ids) == text


@pytest.mark.parametrize("algorithm", ["picky", "scaffold"])
def test_a_story_in_bytes(algorithm: str, tmp_path: Path) -> None:
    compare_on_text(algorithm, STORY[:2500], 90, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["picky", "scaffold"])
@pytest.mark.skipif(not NOVEL.exists(), reason="the novel is not beside this checkout")
def test_a_novel_in_bytes(algorithm: str, tmp_path: Path) -> None:
    compare_on_text(algorithm, NOVEL.read_text(encoding="utf-8"), 700, tmp_path)


# -- The code of the authors of PickyBPE --------------------------------------------------

GOLDEN = json.loads((ROOT / "tests" / "golden" / "picky_bpe.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"threshold {case['threshold']}")
def test_their_merges_removals_and_tokens(case: dict[str, Any]) -> None:
    """Each of their merges is one of the best here; what is removed, what it falls into and the
    tokens of every word are the same. (Their comparison is strict: it was run just below the
    threshold.)"""
    words = {"\u2581" + word: count for word, count in case["words"].items()}
    pairs: list[tuple[str, str]] = []
    removals = []
    for left, right in case["events"]:
        if isinstance(right, list):
            removals.append((len(pairs), left))
        else:
            pairs.append((left, right))
    found = twin.train_picky(
        words, vocab_size=0, threshold=Fraction(case["threshold"]), follow=pairs
    )
    assert [(removal.step, removal.token) for removal in found.removals] == removals
    assert removals and sorted(found.vocabulary) == sorted(case["vocabulary"])
    tokenizer = Tokenizer(model_of(found))
    for word, tokens in case["encoded"].items():
        assert tokens_of(tokenizer, "\u2581" + word) == tokens


def model_of(found: twin.Refined) -> Model:
    """The model of what the twin has learned."""
    tokens = ["[UNK]", *found.vocabulary]
    numbers = {token: number for number, token in enumerate([*tokens, *found.removed])}
    merges = [
        Merge(numbers[left], numbers[right], numbers[token], *counts)
        for left, right, token, *counts in found.merges
    ]
    removals = [Removal(r.step, numbers[r.token], r.count, r.whole) for r in found.removals]
    events = MergeLog(tuple(map(str.encode, found.removed)), merges, removals)
    return Model(recipe("picky"), list(map(str.encode, tokens)), events=events)


# -- Long pre-tokens, threads, files ------------------------------------------------------


@pytest.fixture(scope="module")
def letters() -> twin.Refined:
    rng = random.Random(7)
    words = {"".join(rng.choices("ab", k=rng.randint(1, 14))): rng.randint(1, 9) for _ in range(40)}
    return twin.train_picky(words, vocab_size=30, threshold=Fraction("0.4"))


def test_a_long_pre_token(letters: twin.Refined) -> None:
    tokenizer = Tokenizer(model_of(letters))
    assert len(letters.removals) > 10
    rng = random.Random(8)
    for word in ("".join(rng.choices("ab", k=3000)), "a" * 2001, "ab" * 1500):
        assert tokens_of(tokenizer, word) == twin.replay_picky(word, letters)


@pytest.mark.parametrize("algorithm", ["picky", "scaffold"])
def test_threads_and_caches_change_nothing(algorithm: str, tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_text(STORY, encoding="utf-8")
    made = [
        Tokenizer.train(path, vocab_size=900, algorithm=algorithm, threads=threads)
        for threads in (1, 2)
    ]
    assert formats.serialize(made[0].model) == formats.serialize(made[1].model)
    tokenizer = made[0]
    once = tokenizer.encode(STORY).ids
    assert bytes(tokenizer.encoder.array(STORY, 2, chunk=512)) == bytes(
        tokenizer.encoder.array(STORY, 1)
    )
    assert tokenizer.decode(once) == STORY


@pytest.mark.parametrize("algorithm", ["picky", "scaffold"])
def test_more_special_tokens_shift_what_was_removed(algorithm: str) -> None:
    from tokctl.training.resizing import with_special_tokens

    words = {"could": 9, "would": 8, "should": 7, "mould": 2}
    tokenizer = Tokenizer.train(words, algorithm=algorithm, vocab_size=264)
    assert tokenizer.model.events is not None and tokenizer.model.events.removed
    larger = Tokenizer(with_special_tokens(tokenizer.model, ["<a>", "<b>"]))
    assert larger.vocab_size == tokenizer.vocab_size + 2
    for word in (*words, "ould", "sho"):
        assert larger.encode(word).ids == tokenizer.encode(word).ids


@pytest.mark.parametrize("algorithm", ["picky", "scaffold"])
def test_what_can_not_be_done(algorithm: str) -> None:
    from tokctl.training.resizing import prune

    tokenizer = Tokenizer.train({"could": 9, "would": 8}, algorithm=algorithm, vocab_size=262)
    with raises_code("bad-value"):
        prune(tokenizer.model, 260)
    with raises_code("unsupported"):
        Tokenizer.train({"should": 3}, extend=tokenizer, vocab_size=270)
    for one in formats.FORMATS:
        if one.writes and one.name != "tokctl":
            with pytest.raises(formats.UnsupportedByFormat):
                formats.write(tokenizer.model, one.name)


def changed(document: dict[str, Any], how: Callable[[dict[str, Any]], object]) -> bytes:
    copy = json.loads(json.dumps(document))
    how(copy["model"]["tokctl"]["events"])
    return json.dumps(copy).encode()


DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "no removals": lambda events: events.pop("removals"),
    "no list of merges": lambda events: events.update(merges=7),
    "a merge of a token that is not there": lambda events: events["merges"][0].__setitem__(0, 9999),
    "a merge that makes none": lambda events: events["merges"][0].__setitem__(2, 9999),
    "a merge with another spelling": lambda events: events["merges"][0].__setitem__(0, 5),
    "a merge of a later token": lambda events: events["merges"].reverse(),
    "a short row": lambda events: events["merges"][0].pop(),
    "a number that is none": lambda events: events["removals"][0].__setitem__(1, "a"),
    "a count below 0": lambda events: events["removals"][0].__setitem__(2, -1),
    "a count of 65 bits": lambda events: events["removals"][0].__setitem__(2, 2**64),
    "a removal of a token that is not there": lambda e: e["removals"][0].__setitem__(1, 9999),
    "a removal of a byte": lambda events: events["removals"][0].__setitem__(1, 3),
    "a removal twice": lambda events: events["removals"].insert(0, events["removals"][0]),
    "a removal before the first merge": lambda events: events["removals"][0].__setitem__(0, 0),
    "a removal after the last merge": lambda events: events["removals"][-1].__setitem__(0, 10**6),
    "one removal less": lambda events: events["removals"].pop(),
    "one removed token less": lambda events: events["removed"].pop(),
    "a removed token that is no text": lambda events: events["removed"].__setitem__(0, 3),
    "a removed token that spells no bytes": lambda e: e["removed"].__setitem__(0, "\u5b57"),
}


@pytest.mark.parametrize("algorithm", ["picky", "scaffold"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_events_are_errors(algorithm: str, damage: str) -> None:
    words = {"could": 9, "would": 8, "should": 7, "mould": 2}
    tokenizer = Tokenizer.train(words, algorithm=algorithm, vocab_size=264)
    document = json.loads(formats.serialize(tokenizer.model))
    assert formats.parse(json.dumps(document).encode(), "whole").events == tokenizer.model.events
    with pytest.raises(TokctlError) as caught:
        formats.parse(changed(document, DAMAGES[damage]), "damaged")
    assert "damaged" in caught.value.message and caught.value.hint


def test_events_and_algorithm_go_together() -> None:
    picky = Tokenizer.train({"could": 9}, algorithm="picky", vocab_size=259)
    plain = Tokenizer.train({"could": 9}, algorithm="bpe", vocab_size=259)
    with raises_code("damaged-model"):
        replace(picky.model, events=None)
    with raises_code("damaged-model"):
        replace(plain.model, events=picky.model.events)


@pytest.mark.parametrize("threshold", [0, 1.5, -1, "x", True])
def test_thresholds_that_are_none(threshold: Any) -> None:
    with raises_code("bad-value"):
        Tokenizer.train({"ab": 2}, algorithm="picky", vocab_size=300, threshold=threshold)


def test_a_threshold_is_for_picky() -> None:
    with raises_code("conflict"):
        Tokenizer.train({"ab": 2}, algorithm="bpe", vocab_size=300, threshold=0.5)
