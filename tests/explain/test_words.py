"""Why a word is split as it is."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises_code
from tests.explain import models
from tests.twins.train import merge_word
from tokctl import Tokenizer
from tokctl.analysis.explain import (
    Candidate,
    Leftover,
    Match,
    MatchedWord,
    MatchFailure,
    MergedWord,
    explain,
)
from tokctl.analysis.explain.words import LONGEST
from tokctl.model import Merge, Model, Recipe

TEXTS = st.text(alphabet="abelnostw'.Ġ#_ é\n", max_size=40)


def merged(tokenizer: Tokenizer, text: str) -> MergedWord:
    (word,) = explain(tokenizer, text).words
    assert isinstance(word, MergedWord)
    return word


def matched(tokenizer: Tokenizer, text: str) -> MatchedWord:
    (word,) = explain(tokenizer, text).words
    assert isinstance(word, MatchedWord)
    return word


@given(name=st.sampled_from(sorted(models.RECIPES)), text=TEXTS)
def test_the_tokens_are_those_of_encode(name: str, text: str) -> None:
    tokenizer = models.model(name)
    encoded = tokenizer.encode(text)
    explanation = tokenizer.explain(text)
    assert explanation.tokens == encoded.tokens
    ids = [id_ for word in explanation.words for id_ in word.ids]
    if None not in ids:
        assert ids == encoded.ids


@given(name=st.sampled_from(sorted(models.RECIPES)), text=TEXTS)
def test_each_step_follows_from_the_one_before(name: str, text: str) -> None:
    tokenizer = models.model(name)
    for word in tokenizer.explain(text).words:
        if not isinstance(word, MergedWord):
            continue
        state = word.symbols
        for step in word.steps:
            merge = step.merge
            assert step.state == merge_word(state, merge.left, merge.right, merge.token)
            for place in step.places:
                assert state[place : place + 2] == (merge.left, merge.right)
            for loser in step.losers:
                assert loser.step > merge.step
                assert (loser.left, loser.right) in list(pairwise(state))
            state = step.state
        assert word.state == state
        assert [(rest.left, rest.right) for rest in word.leftovers] == list(pairwise(state))


def test_a_word_of_the_notebook() -> None:
    word = merged(models.toy(models.NOTEBOOK_BPE, 21), "newer")
    assert word.symbols == ("n", "e", "w", "e", "r", "_")
    assert [(step.merge.step, step.state) for step in word.steps] == [
        (6, ("ne", "w", "e", "r", "_")),
        (7, ("new", "e", "r", "_")),
    ]
    assert word.steps[0].merge.count == 6
    assert word.steps[0].losers == ()
    assert word.tokens == ("new", "e", "r", "_")
    assert word.leftovers[0] == Leftover("new", "e", "never", None)


def test_losers_and_their_steps() -> None:
    word = merged(models.toy(models.NOTEBOOK_BPE, 21), "lowest")
    first = word.steps[0]
    assert (first.merge.left, first.merge.right, first.places) == ("e", "s", (3,))
    assert first.losers == (Candidate("l", "o", 4),)


def test_scores_are_exact() -> None:
    tokenizer = models.toy(models.NOTEBOOK_WORDPIECE, 100)
    word = merged(tokenizer, "longer")
    scores = {step.merge.token: step.merge.score for step in word.steps}
    assert (scores["_ng"], scores["lo"]) == (Fraction(1), Fraction(1, 8))
    assert word.state == ("longer",)


def test_one_step_merges_at_several_places() -> None:
    word = merged(models.model("plain"), "aaaaaaa")
    assert word.steps[0].merge.token == "aa"
    assert word.steps[0].places == (0, 2, 4)
    assert word.steps[0].state == ("aa", "aa", "aa", "a")


def _two_ways(segmentation: str) -> Tokenizer:
    """`abc` is made by step 2 from `a bc`; by step 3 `ab` comes up, whose `ab d` has passed."""
    recipe = Recipe(
        name="two-ways",
        algorithm="bpe",
        units="characters",
        pre_tokenizers="whitespace",
        segmentation=segmentation,
    )
    tokens = [token.encode() for token in ["a", "b", "c", "d", "ab", "abd"]]
    # Step 1 needs `ab`, which only step 2 makes.
    merges = [Merge(4, 3, 5, 1, 1, 1), Merge(0, 1, 4, 1, 1, 1)]
    return Tokenizer(Model(recipe, tokens, merges))


def test_a_pair_whose_step_has_passed() -> None:
    replayed = merged(_two_ways("replay"), "abd")
    assert replayed.tokens == ("ab", "d")
    assert replayed.leftovers == (Leftover("ab", "d", "passed", 1),)
    by_rank = merged(_two_ways("merges"), "abd")
    assert by_rank.tokens == ("abd",)
    assert [step.merge.step for step in by_rank.steps] == [2, 1]


def test_a_character_outside_the_alphabet() -> None:
    word = merged(models.model("plain"), "loéw")
    assert word.state == ("lo", "é", "w")
    assert word.tokens == ("lo", "[UNK]", "w")
    assert word.leftovers[0] == Leftover("lo", "é", "unknown", None, lacks=("é",))
    assert merged(models.model("end"), "é").ids[0] is None


def test_longest_match_names_what_is_missing() -> None:
    word = matched(models.model("longest-match"), "lowtests")
    assert word.failure is None
    assert word.tokens == ("low", "##t", "##e", "##sts")
    first = word.matches[0]
    assert first.token == word.tokens[0]
    assert first.longer[0] == "lowtests"
    assert first.longer_count == len("lowtests") - len(first.stretch)
    assert word.matches[-1].longer == ()


def test_longest_match_that_fails() -> None:
    word = matched(models.model("longest-match"), "aaé")
    assert word.failure == MatchFailure("unmatchable", "é", 3, 100)
    assert word.tokens == ("[UNK]",)
    assert matched(models.model("longest-match"), "a" * 101).failure == MatchFailure(
        "too-long", "", 101, 100
    )


def test_longest_match_that_goes_on_after_an_unknown_character() -> None:
    word = matched(models.model("unknown-char"), "éa")
    assert word.failure is None
    assert word.matches[0] == Match("é", None, ("éa", "é"), 2)
    assert word.tokens == ("[UNK]", "##a")


def test_nothing_to_explain_and_too_much() -> None:
    assert explain(models.model("plain"), " \n").words == ()
    with raises_code("too-large", "1,001 symbols is too long"):
        explain(models.model("plain"), "a" * (LONGEST + 1))
    assert len(merged(models.model("plain"), "ab" * (LONGEST // 2)).state) < LONGEST
