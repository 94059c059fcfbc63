"""What becomes of words. A word is a maximal run of characters that are no white space.

Where a text has hardly any spaces, such runs are no words (Chinese, Thai, DNA), so that
none of these figures is given.
"""

from __future__ import annotations

from tokctl.metrics.figure import Absent, Figure, ratio

#: A text with fewer than one space to so many characters has no words to speak of.
CHARACTERS_PER_SPACE = 20


def no_words(words: int, characters: int, spaces: int) -> Absent | None:
    """Why a text has no words to measure, or None where it has.

    A run of white space counts as one space, so that indentation makes no words.
    """
    separators = min(spaces, words)
    if characters - spaces + separators > CHARACTERS_PER_SPACE * separators:
        return Absent(f"the text has fewer than one space per {CHARACTERS_PER_SPACE} characters")
    return None if words else Absent("the text has no words")


def fertility(tokens: int, words: int, characters: int, spaces: int) -> Figure:
    """T / W: tokens over words, total over total.

    Ács (2019), "Exploring BERT's vocabulary"; Rust et al. (2021), arXiv 2012.15613.
    """
    return no_words(words, characters, spaces) or ratio(tokens, words, "")


def continued_words(split_words: int, words: int, characters: int, spaces: int) -> Figure:
    """The proportion of words that are two tokens or more: Rust et al. (2021)."""
    return no_words(words, characters, spaces) or ratio(split_words, words, "")


def strr(whole_words: int, words: int, characters: int, spaces: int) -> Figure:
    """Single token retention rate: words encoded as one token, over words.

    arXiv 2510.09947. A word that became the unknown token was not retained.
    """
    return no_words(words, characters, spaces) or ratio(whole_words, words, "")
