"""A model at a glance, and what its checks find."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.explain import models
from tokctl import Tokenizer, preset
from tokctl.analysis.explain import summarize, unreachable, vocabulary
from tokctl.analysis.explain.summary import SHOWN
from tokctl.analysis.explain.vocabulary import content_of
from tokctl.model import Model


def test_the_notebooks_model() -> None:
    facts = summarize(models.toy(models.NOTEBOOK_BPE, 21))
    assert facts.kinds == {"special": 0, "alphabet": 12, "merged": 9}
    assert facts.places == {"before the word end": 17, "word end": 4}
    assert facts.contents == {"letters": 20, "the word marker": 1}
    assert facts.scripts == {"Latin": 20, "none": 1}
    assert facts.lengths == {0: 1, 1: 11, 2: 3, 3: 5, 6: 1}
    assert facts.longest[0] == ("newest_", 6)
    assert [merge.step for merge in facts.first_merges] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [merge.step for merge in facts.last_merges] == [9]
    assert facts.checks.duplicates == ()
    assert facts.checks.two_places == 2  # low and low_, est and est_
    assert facts.checks.remade == 0


@pytest.mark.parametrize("name", sorted(models.RECIPES))
def test_every_number_adds_up_and_every_token_is_reached(name: str) -> None:
    tokenizer = models.model(name)
    facts = summarize(tokenizer)
    assert sum(facts.kinds.values()) == tokenizer.vocab_size
    ordinary = tokenizer.vocab_size - len(tokenizer.special_ids)
    for counts in (facts.places, facts.contents, facts.scripts, facts.lengths):
        assert sum(counts.values()) == ordinary
    steps = [merge.step for merge in (*facts.first_merges, *facts.last_merges)]
    assert len(steps) == len(set(steps)) <= 2 * SHOWN
    assert facts.checks.reach.unreachable == ()


@pytest.mark.parametrize("name", ["gpt2", "notebook-bpe", "notebook-wordpiece"])
def test_models_of_the_sample_reach_all_their_tokens(name: str) -> None:
    from tokctl.sources.corpora import corpus_path

    path = corpus_path("sample")
    tokenizer = Tokenizer.train([path], vocab_size=1500, recipe=preset(name))
    assert unreachable(tokenizer).unreachable == ()


def test_what_the_pre_tokenizer_cuts_is_unreachable() -> None:
    tokenizer = Tokenizer.train({"new york": 3, "new": 1}, vocab_size=60, recipe=models.CHARACTERS)
    found = unreachable(tokenizer).unreachable
    assert "new york" in found
    assert "new" not in found
    assert all(" " in token for token in found)


def test_a_part_of_a_contraction_is_unreachable() -> None:
    # GPT-2's pattern gives 'll as a pre-token, which is always merged to the end.
    tokenizer = Tokenizer.train({"'ll": 5}, vocab_size=259, recipe=models.BYTES)
    assert tokenizer.tokens[-2:] == ["'l", "'ll"]
    assert unreachable(tokenizer).unreachable == ("'l",)


def test_a_regex_recipe_is_tried_too() -> None:
    recipe = replace(models.CHARACTERS, pre_tokenizers=r"regex:\w")
    tokenizer = Tokenizer.train({"ab": 3}, vocab_size=4, recipe=recipe)
    assert unreachable(tokenizer).unreachable == ("ab",)


def test_trials_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "TRIALS", 60)
    found = unreachable(models.model("longest-match"))
    assert found.unreachable == ()
    assert found.undecided > 0
    assert found.trials <= 60


def test_a_special_token_with_the_text_of_another() -> None:
    # Training never makes two tokens of the same bytes, but a file can hold them.
    plain = replace(models.CHARACTERS, special_tokens=("[UNK]", "ab"))
    tokenizer = Tokenizer(Model(plain, [b"[UNK]", b"ab", b"a", b"b", b"ab"]))
    assert summarize(tokenizer).checks.duplicates == (("ab", "ab"),)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (" the", "letters"),
        ("12", "digits"),
        (" ...", "punctuation"),
        ("\r\n  ", "white space"),
        ("a1", "mixed"),
        ("\x00", "control characters"),
        ("", "the word marker"),
    ],
)
def test_contents(text: str, content: str) -> None:
    assert content_of(text.encode()) == content


def test_a_piece_of_a_character() -> None:
    assert content_of("é".encode()[:1]) == "pieces of characters"
