"""Why words are cut as they are: the figures in the reasons, counted again by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.models import RECIPES, document, model
from tokctl.analysis.comparison import WordDifference, compare, train_sizes
from tokctl.analysis.comparison.stories import words_in
from tokctl.analysis.texts import Text
from tokctl.model.presets import default_recipe
from tokctl.tokenizer import Tokenizer

TEXT = "the cat the cats the hat the bat that sat\n" * 3


def told(tokenizer: Tokenizer, word: str, text: str = TEXT) -> WordDifference:
    (story,) = compare([tokenizer], [document(text)], words=[word]).stories
    return story


def trained(algorithm: str, size: int, text: str = TEXT) -> Tokenizer:
    return Tokenizer.train([document(text)], vocab_size=size, algorithm=algorithm)


def test_a_whole_word_and_when_it_was_made() -> None:
    bpe = trained("bpe", 270)
    story = told(bpe, "the")
    (cut,) = story.cuts
    assert (story.count, cut.whole) == (12, True)
    step = next(n for n, merge in enumerate(bpe.merges, 1) if bpe.tokens[merge.token] == "Ġthe")
    assert (
        cut.reason
        == f"one token since step {step}: {bpe.merges[step - 1].count} times side by side"
    )


def test_a_space_that_is_a_token_by_itself() -> None:
    (cut,) = told(trained("bpe", 265), "hat").cuts
    assert (cut.whole, cut.segmentation.shown) == (True, (" ", "hat"))
    assert cut.reason.endswith("; its space is a separate token")


def test_a_pair_that_was_too_rare() -> None:
    bpe = trained("bpe", 262)
    (cut,) = told(bpe, "hat").cuts
    assert cut.segmentation.shown == (" ", "h", "at")
    # "hat" is there three times; the last merge was of a more frequent pair.
    assert bpe.merges[-1].count > 3
    assert cut.reason == f"h + at: 3 times; the last merge had {bpe.merges[-1].count} times"


def test_letters_that_never_meet() -> None:
    (cut,) = told(trained("bpe", 262), "tab").cuts
    assert (cut.whole, cut.segmentation.shown) == (False, (" ", "t", "a", "b"))
    assert cut.reason == "t + a never occur side by side in the text"


def test_a_likelihood_that_was_too_low() -> None:
    wordpiece = trained("wordpiece", 18)
    story = told(wordpiece, "hat")
    (cut,) = story.cuts
    left, right = cut.segmentation.tokens[:2]
    state = wordpiece.corpus_state(len(wordpiece.merges), TEXT)
    symbols: dict[str, int] = {}
    pair = 0
    for word, count in state.items():
        for place, symbol in enumerate(word):
            symbols[symbol] = symbols.get(symbol, 0) + count
            pair += count * (word[place : place + 2] == (left, right))
    last = wordpiece.merges[-1]
    assert cut.reason == (
        f"{left} + {right}: {pair} times, of {symbols[left]} {left} and {symbols[right]} {right}: "
        f"score {pair / (symbols[left] * symbols[right]):.2g}; the last merge had "
        f"{last.count / (last.left_count * last.right_count):.2g}"
    )


def test_a_likelihood_that_has_risen_meanwhile() -> None:
    wordpiece = trained("wordpiece", 16)
    (cut,) = told(wordpiece, "sat").cuts
    assert cut.reason == (
        "s + ##a: 3 times, of 3 s and 6 ##a: score 0.17; more than the last merge, and the "
        "vocabulary is full"
    )


def test_pieces_of_a_unigram_model() -> None:
    text = "lower lowest slower slowest newer newest low slow new\n" * 9 + "lieutenant\n"
    unigram = trained("unigram", 30, text)
    assert told(unigram, "lieutenant", text).cuts[0].reason == (
        "once in the text; a piece must occur twice"
    )
    assert told(unigram, "tens", text).cuts[0].reason.startswith("not in the text")
    whole = next(token for token in unigram.tokens if token.startswith("▁") and len(token) > 2)
    found = told(unigram, whole[1:], text).cuts[0]
    assert found.whole == found.reason.startswith("a whole piece, probability ")


def test_a_model_of_other_texts_says_what_its_file_tells() -> None:
    bpe = trained("bpe", 262)
    (cut,) = told(bpe, "hat", "another text with a hat\n").cuts
    assert cut.reason == "it has no merge of h + at"


@pytest.mark.parametrize(
    ("algorithm", "word", "reason"),
    [
        ("word", "cat", "counted 3 times"),
        ("word", "dog", "not among the words that it has tokens for"),
        ("char", "cat", "each character is a token"),
        ("char", "dog", "it has no token for d"),
        ("wordpiece", "dog", "no tokens fit all of it, so that the whole word is unknown"),
    ],
)
def test_other_models(algorithm: str, word: str, reason: str) -> None:
    assert told(trained(algorithm, 40), word).cuts[0].reason == reason


def test_other_sizes_are_shown_where_they_differ() -> None:
    text = Text("", TEXT.encode())
    recipes = {"bpe": default_recipe("bpe")}
    sweep = train_sizes(recipes, [text], [258, 262, 280])
    found = compare([("bpe", sweep["bpe", 262])], [text.source()], words=["hat", "x"], sweep=sweep)
    hat, unseen = found.stories
    assert [(size, cut.shown) for size, cut in hat.cuts[0].elsewhere] == [
        (280, (" hat",)),
    ]
    assert unseen.cuts[0].elsewhere == ()


def test_words_that_models_cut_differently_are_picked() -> None:
    models = [trained("bpe", 262), trained("bpe", 280)]
    found = compare([("a", models[0]), ("b", models[1])], [document(TEXT)], sentences=["the hat 7"])
    assert [story.word for story in found.stories] == ["hat"]
    same = compare([("a", models[0]), ("b", models[0])], [document(TEXT)], sentences=["the hat 7"])
    assert same.stories == ()


@pytest.mark.few(2)
@pytest.mark.parametrize("name", RECIPES)
@given(word=st.text(alphabet="lowernstidé(ﬁא\u0301", min_size=1, max_size=8))
def test_any_word_of_any_model(name: str, word: str) -> None:
    tokenizer = model(name)
    story = told(tokenizer, word, "low lower newest\n")
    (cut,) = story.cuts
    assert cut.reason
    ids = tokenizer.encode(f" {word}").raw_ids
    if cut.whole:
        assert tokenizer.unk_id not in ids


def test_words_with_punctuation_are_counted() -> None:
    text = "don't, (don't) xdon't don'ts two words\ntwo words\n"
    for word, count in {"don't": 2, "two words": 2, "don": 3, "words": 2, "d.n't": 0}.items():
        assert told(trained("bpe", 270), word, text).count == count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a low, lower_low 3rd x2", ["low", "lower", "low", "rd"]),
        # Vowels of Thai and Hindi are marks, and belong to the word.
        ("มีสิทธิในการ ดำรงชีวิต", ["มีสิทธิในการ", "ดำรงชีวิต"]),
        ("प्रत्येक व्यक्ति का", ["प्रत्येक", "व्यक्ति"]),
        ("cafe\u0301 \u0301ab", ["cafe\u0301", "ab"]),
        ("می\u200cشود\u200c \u200d", ["می\u200cشود"]),
        ("", []),
    ],
)
def test_words_of_a_sentence(text: str, words: list[str]) -> None:
    assert words_in(text) == words


def test_words_that_are_picked_are_words_of_the_text() -> None:
    text = "มีสิทธิในการ ดำรงชีวิต เสรีภาพ และความมั่นคงแห่งตัวตน ของทุกคน\n"
    models = [trained("bpe", 260, text), trained("unigram", 60, text)]
    found = compare(models, [document(text)])
    assert found.stories
    assert all(story.count > 0 for story in found.stories)


@pytest.mark.parametrize("letters", [99, 100, 101, 127, 300])
def test_sentences_with_very_long_words(letters: int) -> None:
    text = f"the cats {'x' * letters} sat"
    models = [trained("bpe", 262), trained("unigram", 20)]
    found = compare(models, [document(TEXT)], sentences=[text])
    assert found.samples[0].text == text
    assert ("x" * letters in {story.word for story in found.stories}) == (letters <= 100)
