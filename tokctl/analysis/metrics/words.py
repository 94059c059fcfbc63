"""What becomes of words: `\\S+`, or the words of UAX #29.

By the rule `spaces`, a word is a maximal run of characters that are no white space. Where a
text has hardly any spaces, such runs are no words (Chinese, Thai, DNA), so that none of these
figures is given.

By the rule `unicode`, a word is what lies between two word boundaries of Unicode Standard
Annex #29 (its default rules) and holds an alphanumeric character: one with the property
Alphabetic, or of the general categories Nd, Nl, No. Its words need no spaces, so that the
figures are always given; but Han, Hiragana and Thai are cut at every character.
"""

from __future__ import annotations

from tokctl.analysis.metrics.counts import Counts
from tokctl.analysis.metrics.figure import Absent, Figure, ratio

#: What a word can be.
WORD_RULES = ("spaces", "unicode")

#: A text with fewer than one space to so many characters has no words to speak of.
CHARACTERS_PER_SPACE = 20


def no_words(counts: Counts) -> Absent | None:
    """Why a text has no words to measure, or None where it has.

    A run of white space counts as one space, so that indentation makes no words.
    """
    separators = min(counts.spaces, counts.words)
    solid = counts.characters - counts.spaces + separators
    if counts.word_rule != "unicode" and solid > CHARACTERS_PER_SPACE * separators:
        return Absent(f"the text has fewer than one space per {CHARACTERS_PER_SPACE} characters")
    return None if counts.words else Absent("the text has no words")


def fertility(counts: Counts) -> Figure:
    """T / W: tokens over words, total over total.

    Ács (2019), "Exploring BERT's vocabulary"; Rust et al. (2021), arXiv 2012.15613.
    """
    return no_words(counts) or ratio(counts.tokens, counts.words, "")


def continued_words(counts: Counts) -> Figure:
    """The proportion of words that are two tokens or more: Rust et al. (2021)."""
    return no_words(counts) or ratio(counts.split_words, counts.words, "")


def strr(counts: Counts) -> Figure:
    """Single token retention rate: words encoded as one token, over words.

    arXiv 2510.09947. A word that became the unknown token was not retained.
    """
    return no_words(counts) or ratio(counts.whole_words, counts.words, "")
