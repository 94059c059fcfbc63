"""What a comparison says in sentences: the numbers are those of the figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.metrics.models import TEXT, document, model
from tokctl.analysis.comparison import Comparison, compare, read_texts, train_sizes
from tokctl.model.presets import default_recipe
from tokctl.tokenizer import Tokenizer


def test_of_two_models() -> None:
    found = compare([("b", model("bpe")), ("w", model("wordpiece"))], [document(TEXT)])
    # 4 of 12 words, and 11 of 12; 28 and 14 tokens; 4 and 3 of 4 lines.
    assert found.findings == (
        "Words kept whole: w 91.7%, b 33.3%.",
        "Tokens for the same text, against b: w 50.0% fewer.",
        "Lines that come back exactly as they were: w 75.0%; b: all.",
    )


def test_unknown_and_equal() -> None:
    models = [("one", model("wordpiece")), ("two", model("wordpiece"))]
    found = compare(models, [document("low ä lowest\n")])
    assert "Tokens for the same text, against one: two as many." in found.findings
    assert "Tokens that are unknown: one 25.0%, two 25.0%." in found.findings


def test_a_text_without_words_has_no_share_of_them() -> None:
    found = compare([("b", model("bpe")), ("c", model("bpe"))], [document("low" * 40)])
    assert found.findings == ("Tokens for the same text, against b: c as many.",)


def test_what_the_pre_tokenizer_cuts_is_not_laid_to_likelihood() -> None:
    text = "it's it's theirs it's\n" * 5
    models = [
        (name, Tokenizer.train([document(text)], vocab_size=300, algorithm=name))
        for name in ("unigram", "wordpiece")
    ]
    found = compare(models, [document(text)])
    assert found.disagreements[0].word == "it's"
    assert not any("likelihood" in line or "splits even" in line for line in found.findings)


def trained(name: str, text: str, size: int) -> tuple[str, Tokenizer]:
    return name, Tokenizer.train([document(text)], vocab_size=size, algorithm=name)


def test_the_unknown_token_is_no_word_that_was_kept() -> None:
    likelihood = trained("wordpiece", "low lower lowest\n" * 3, 12)
    words = trained("word", "high high\n", 3)
    found = compare([likelihood, words], [document("lower lower lower\n")])
    (word,) = found.disagreements
    assert [len(cut.tokens) for cut in word.segmentations] == [3, 1]
    assert word.segmentations[1].ids == (words[1].unk_id,)
    assert not any("splits even" in line for line in found.findings)


def test_a_word_that_is_rare_is_not_called_frequent() -> None:
    models = [trained(name, "low lowest\n" * 3, size) for name, size in LIKELIHOOD_AND_WORDS]
    text = "lowest\n" * 2 + "low\n" * 1998
    found = compare(models, [document(text)])
    line = next(line for line in found.findings if "splits even" in line)
    assert line.startswith("wordpiece splits even frequent words: low, 1,998 times, is l ##o ##w,")
    text = "lowest\n" * 2 + "x\n" * 1999
    found = compare(models, [document(text)])
    assert found.disagreements[0].word == "lowest"
    assert not any("splits even" in line for line in found.findings)


LIKELIHOOD_AND_WORDS = [("wordpiece", 8), ("word", 3)]


@pytest.fixture(scope="module")
def island(treasure_island: Path) -> Comparison:
    """The documents' models on the book that they are trained on."""
    texts = read_texts([treasure_island], characters=False, errors="strict")
    recipes = {name: default_recipe(name) for name in ("bpe", "wordpiece", "unigram")}
    sweep = train_sizes(recipes, texts, [20_000, 10_000])
    models = [(name, sweep[name, 10_000]) for name in recipes]
    sentences = [
        "There is still a lot of treasure buried on the island.",
        "I've checked, my last shipment was delayed.",
        "The captain and the lieutenant had a discussion.",
        "The team members are Alice, John, Jim, and Bob.",
    ]
    sources = [text.source() for text in texts]
    return compare(models, sources, sweep=sweep, sentences=sentences)


def test_treasure_island_says_who_keeps_words_whole(island: Comparison) -> None:
    kept = {(point.model, point.asked): point.figures["strr"] for point in island.sweep}
    assert kept["bpe", 10_000] > kept["wordpiece", 10_000]  # type: ignore[operator]
    assert kept["wordpiece", 20_000] > kept["bpe", 20_000]  # type: ignore[operator]
    ten, twenty, _, likelihood, *_ = island.findings
    assert ten.startswith("Words kept whole at 10,000 ids: unigram ")
    assert ten.index("bpe") < ten.index("wordpiece")
    assert twenty.startswith("Words kept whole at 20,000 ids: unigram ")
    assert twenty.index("wordpiece") < twenty.index("bpe")
    assert likelihood.startswith(
        "wordpiece splits even frequent words: the, 4,208 times, is th ##e"
    )


def test_treasure_island_says_what_becomes_of_its_words(island: Comparison) -> None:
    told = {
        (story.word, cut.segmentation.model): (story.count, cut)
        for story in island.stories
        for cut in story.cuts
    }
    count, cut = told["lieutenant", "bpe"]
    assert (count, cut.whole) == (1, False)
    assert cut.reason == "␣lie + utenant: once; the last merge had once"
    assert [other.shown for _, other in cut.elsewhere] == [(" lieutenant",)]
    _, cut = told["lieutenant", "wordpiece"]
    assert cut.segmentation.tokens[:2] == ("li", "##e")
    assert cut.reason.startswith("li + ##e: 26 times, of 27 li and 33,843 ##e: score 2.8e-05;")
    assert [other.tokens for _, other in cut.elsewhere] == [("lieutenant",)]
    count, cut = told["checked", "bpe"]
    assert (count, cut.segmentation.shown) == (0, (" che", "cked"))
    assert cut.reason == "␣che + cked never occur side by side in the text"
    count, cut = told["Alice", "wordpiece"]
    assert (count, cut.segmentation.tokens) == (0, ("Al", "##ic", "##e"))
    assert told["Alice", "unigram"][1].reason.startswith("not in the text")
