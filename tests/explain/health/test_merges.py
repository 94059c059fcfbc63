"""Merges that no longer matter, with a text and without, against slow twins."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explain.every import TEXT, model
from tests.explain.health.sick import (
    CHARACTERS,
    byte_level_model,
    finding,
    health,
    merging,
    reason,
    tokens,
    unigram,
)
from tests.metrics.models import document
from tokctl import Tokenizer
from tokctl.analysis.health.use import WITH_TEXT, WITHOUT_TEXT
from tokctl.model import Marker
from tokctl.model.parts import AddedToken
from tokctl.model.presets import BPE, DEFAULTS

WITHOUT_USE, ONLY_PARTS = WITH_TEXT


def merge_slowly(tokenizer: Tokenizer, word: bytes) -> tuple[list[int], set[int]]:
    """The ids of a pre-token by the definition of BPE, and the steps that made them: the first
    of the list that fits, everywhere from the left, until none does."""
    model = tokenizer.model
    first: dict[tuple[int, int], int] = {}
    for step, merge in enumerate(model.merges):
        first.setdefault((merge.left, merge.right), step)
    units = [bytes([b]) for b in word]
    if tokenizer.recipe.units == "characters":
        units = [c.encode() for c in word.decode()]
    ids = [model.tokens.index(unit) for unit in units]
    made = set()
    while steps := [first[pair] for pair in pairwise(ids) if pair in first]:
        step = min(steps)
        left, right, token, *_ = model.merges[step]
        made.add(step)
        at = 0
        while at < len(ids) - 1:
            if (ids[at], ids[at + 1]) == (left, right):
                ids[at : at + 2] = [token]
            at += 1
    return ids, made


def twin(tokenizer: Tokenizer, text: bytes) -> tuple[Counter[int], set[int]]:
    """How often each id is used in a text, and the steps that are made."""
    used: Counter[int] = Counter()
    made = set()
    normalized, ranges = tokenizer.pre_tokens(text)
    for start, end in ranges:
        ids, steps = merge_slowly(tokenizer, normalized[start:end])
        used.update(ids)
        made |= steps
    return used, made


def check_against_twin(tokenizer: Tokenizer, text: bytes) -> None:
    used, made = twin(tokenizer, text)
    report = health(tokenizer, text, limit=None, rare=3)
    single = {id_ for id_, token in enumerate(tokenizer.model.tokens) if len(token) == 1}
    special = set(tokenizer.special_ids.values())
    ids = [id_ for id_ in range(tokenizer.vocab_size) if id_ not in special]
    if tokenizer.recipe.units == "bytes":
        ids = [id_ for id_ in ids if id_ not in single]
    names = tokenizer.tokens
    assert tokens(report, "never-used") == [names[id_] for id_ in ids if not used[id_]]
    rare = {names[id_] for id_ in ids if 0 < used[id_] < 3}
    assert set(tokens(report, "rarely-used")) == rare
    unused = [step for step in range(len(tokenizer.merges)) if step not in made]
    assert tokens(report, WITHOUT_USE) == [names[tokenizer.merges[s].token] for s in unused]
    parts = {id_ for step in made for id_ in tokenizer.merges[step][:3] if not used[id_]}
    assert tokens(report, ONLY_PARTS) == [names[id_] for id_ in ids if id_ in parts]
    assert report.texts is not None
    assert report.texts.tokens == used.total()


@given(
    st.lists(st.text("abc ", min_size=1, max_size=8), min_size=1, max_size=12),
    st.text("abc d", max_size=60),
    st.integers(257, 285),
)
def test_a_text_against_the_twin(words: list[str], text: str, size: int) -> None:
    tokenizer = Tokenizer.train([document(" ".join(words))], vocab_size=size, recipe=BPE)
    check_against_twin(tokenizer, text.encode())


def test_a_book_against_the_twin(sample: str) -> None:
    tokenizer = Tokenizer.train([document(sample)], vocab_size=700, recipe=BPE)
    check_against_twin(tokenizer, sample[: len(sample) // 3].encode())


@given(
    st.lists(st.text("ab", min_size=2, max_size=5), min_size=1, max_size=8, unique=True),
    st.text("ab", max_size=40),
)
def test_merges_in_any_order(words: list[str], text: str) -> None:
    """What no training would have made: lists in which merges are overtaken."""
    made: list[str] = []
    for word in words:
        known = {"a", "b", *made}
        cuts = [n for n in range(1, len(word)) if word[:n] in known and word[n:] in known]
        if cuts and word not in known:
            made.append(word)
    tokenizer = merging(made, CHARACTERS, "ab")
    check_against_twin(tokenizer, text.encode())
    # Without a text, what is called useless is made in no text at all.
    used = {step for n in range(1, 7) for step in every_text(tokenizer, n)}
    useless = finding(health(tokenizer, limit=None), WITHOUT_TEXT)
    steps = {one.note.split(":")[0] for one in useless.examples} if useless else set()
    assert not {f"step {step + 1}" for step in used} & steps


def every_text(tokenizer: Tokenizer, length: int) -> set[int]:
    """The steps that texts of this length go through."""
    found = set()
    for number in range(1 << length):
        text = bytes(b"ab"[number >> place & 1] for place in range(length))
        found |= merge_slowly(tokenizer, text)[1]
    return found


@pytest.mark.parametrize("name", ["notebook-bpe", "notebook-wordpiece", "char-bpe"])
def test_markers_and_replays_count_what_is_made(name: str) -> None:
    tokenizer = model(name)
    text = "lower newest low low"
    made: set[int] = set()
    for word in text.encode().split():
        normalized, ranges = tokenizer.pre_tokens(word)
        for start, end in ranges:
            made.update(tokenizer.encoder.replay(normalized[start:end], 1 << 30)[2])
    found = finding(health(tokenizer, text, limit=None), WITHOUT_USE)
    assert found is not None
    names = [tokenizer.tokens[tokenizer.merges[s].token] for s in range(len(tokenizer.merges))]
    expected = [name for step, name in enumerate(names) if step not in made]
    assert [one.token for one in found.examples] == expected
    # All of them: the words of the training text go through every merge.
    assert finding(health(tokenizer, TEXT), WITHOUT_USE) is None


def test_a_merge_that_another_always_forestalls() -> None:
    tokenizer = merging(["ab", "bc", "abc"])
    merges = tokenizer.merges
    ids = {token: id_ for id_, token in enumerate(tokenizer.model.tokens)}
    late = merges[2]._replace(left=ids[b"a"], right=ids[b"bc"])
    again = merges[0]
    sick = Tokenizer(replace(tokenizer.model, merges=[*merges, late, again]))
    found = finding(health(sick), WITHOUT_TEXT)
    assert found is not None
    assert [one.note for one in found.examples] == ["step 4: a + bc", "step 5: a + b"]
    assert (found.count, found.of) == (2, 5)
    assert finding(health(tokenizer), WITHOUT_TEXT) is None


def test_a_marker_leaves_more_than_one_tree() -> None:
    recipe = replace(CHARACTERS, marker=Marker("start", "_"), pre_tokenizers="whitespace")
    tokenizer = merging(["ab", "bc", "abc"], recipe, "abc_")
    ids = {token: id_ for id_, token in enumerate(tokenizer.model.tokens)}
    late = tokenizer.merges[2]._replace(left=ids[b"a"], right=ids[b"bc"])
    sick = Tokenizer(replace(tokenizer.model, merges=[*tokenizer.merges, late]))
    # Without a text, both could make it; a text tells.
    assert finding(health(sick), WITHOUT_TEXT) is None
    found = finding(health(sick, "abc"), WITHOUT_USE)
    assert found is not None
    assert [one.note for one in found.examples] == ["step 2: b + c", "step 4: a + bc"]


def test_merges_of_what_can_not_be_reached() -> None:
    recipe = replace(CHARACTERS, pre_tokenizers="whitespace")
    sick = merging(["ab", "a ", "a b", "bb"], recipe)
    assert tokens(health(sick), WITHOUT_TEXT) == ["a ", "a b"]


def test_ranks_have_merges_too() -> None:
    ranks = model("ranks")
    report = health(ranks, "low")
    assert finding(report, WITHOUT_TEXT) is None
    found = finding(report, WITHOUT_USE)
    merged = model("gpt2")
    other = finding(health(merged, "low"), WITHOUT_USE)
    assert found is not None and other is not None
    assert (found.count, found.of) == (other.count, other.of)
    assert [one.token for one in found.examples] == [one.token for one in other.examples]


def test_superwords_need_their_words() -> None:
    """By the definition: the merges in the trees of the tokens that the text uses."""
    text = (
        "one of the cats of the house\nsome of the cats, and one of the 12 houses of the cat\n" * 4
    )
    tokenizer = Tokenizer.train([document(text)], vocab_size=300, algorithm="boundless")
    merges = [*tokenizer.model.merges, *tokenizer.model.supermerges]
    assert tokenizer.model.supermerges
    line = "one of the cats of the house"
    needed, waiting = set[int](), list(tokenizer.encode(line).ids)
    used = set(waiting)
    while waiting:
        token = waiting.pop()
        for step, merge in enumerate(merges):
            if merge.token == token and step not in needed:
                needed.add(step)
                waiting += merge[:2]
    report = health(tokenizer, line)
    found = finding(report, WITHOUT_USE)
    assert found and (found.count, found.of) == (len(merges) - len(needed), len(merges))
    parts = {merges[step].token for step in needed} - used
    only = finding(report, "only-parts")
    assert only and only.count == len(parts)


def test_removals_come_between_merges() -> None:
    tokenizer = Tokenizer.train(
        [document("low lower lowest " * 9)], vocab_size=260, algorithm="picky"
    )
    assert reason(health(tokenizer, "low"), WITHOUT_USE).startswith("removals come between")


def test_models_without_merges() -> None:
    for tokenizer in (unigram({"a": -1.0}), model("default word"), model("default char")):
        assert reason(health(tokenizer, "a"), WITHOUT_USE) == "the model has no merges"
    longest = health(Tokenizer(model("default wordpiece").model), "low")
    assert "longest match" in reason(longest, WITHOUT_USE)
    assert DEFAULTS["wordpiece"].segmentation == "longest-match"


def test_an_added_token_that_is_never_used() -> None:
    added = [AddedToken("<x>", 0, special=False), AddedToken("<end>", 0)]
    tokenizer = byte_level_model(["ab"], added=added)
    assert tokens(health(tokenizer, "ab"), "never-used") == ["<x>"]
    assert tokens(health(tokenizer, "<x>"), "never-used") == ["ab"]


def test_without_a_text() -> None:
    report = health(byte_level_model(["ab"]))
    for name in (*WITH_TEXT, "never-used", "rarely-used", "unknown-in-text"):
        assert reason(report, name) == "it needs a text"
