"""Charts by Altair, drawn by vl-convert without a network: for the page, and as files.

This module knows their names alone; what draws them is imported when one is drawn.
"""

from __future__ import annotations

#: The names of the charts of each command with what they show, the most useful first.
COMPARE = {
    "sweep": "tokens against vocabulary size, with several sizes",
    "languages": "tokens relative to the reference language, with languages",
    "relative": "metrics relative to the baseline, with two models or more",
    "lengths": "how long the tokens of the text are",
    "frequencies": "how often each token occurs, by rank",
    "texts": "tokens per word, text by text, with two texts or more",
}
INSPECT = {
    "vocabulary": "the vocabulary by length",
    "kinds": "the vocabulary by kind",
    "merges": "the count or score of each merge, where they are known",
    "loss": "the loss of a Unigram training, round by round",
    "scores": "the scores of a Unigram model's pieces",
    "lengths": "how long the tokens of the texts are, with texts",
    "frequencies": "how often each token of the texts occurs, with texts",
}
