"""One scorer for the Unigram models of every library: how well does a model fit a text?

Libraries count and print their likelihoods differently (sums over sampled or expected
segmentations, with or without what is pruned, in 32 or 64 bits), so none of their own figures
is compared. Here each model is a list of pieces with its own log probabilities, scaled so that
the probabilities add up to one. Every word of the text (NFKC, split at white space, "▁" before
it) gets its best segmentation, by Viterbi, and the answer is the bits that the text takes:
minus the sum of the log probabilities of all best segmentations, in bits per character.
Fewer bits are a higher likelihood. A character that is no piece costs what SentencePiece
makes it cost: 10 nats more than the least likely piece.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping

#: Before each word, as SentencePiece writes it.
SPACE = "▁"
#: What an unknown character costs above the least likely piece, in nats.
PENALTY = 10.0


def bits_per_character(text: str, scores: Mapping[str, float]) -> float:
    """Bits per character of `text` under the pieces with these natural log probabilities."""
    words = Counter(unicodedata.normalize("NFKC", text).split())
    if not words or not scores:
        return 0.0
    highest = max(scores.values())
    total = highest + math.log(math.fsum(math.exp(score - highest) for score in scores.values()))
    # As costs, which add up.
    costs = {piece: total - score for piece, score in scores.items()}
    unknown = max(costs.values()) + PENALTY
    longest = max(map(len, costs))
    spent = math.fsum(
        times * best_cost(SPACE + word, costs, unknown, longest) for word, times in words.items()
    )
    characters = sum(times * (len(word) + 1) for word, times in words.items())
    return spent / math.log(2) / characters


def best_cost(word: str, costs: Mapping[str, float], unknown: float, longest: int) -> float:
    """The least sum of costs of pieces that make up the word."""
    best = [0.0] * (len(word) + 1)
    for end in range(1, len(word) + 1):
        least = best[end - 1] + costs.get(word[end - 1], unknown)
        for start in range(max(0, end - longest), end - 1):
            cost = costs.get(word[start:end])
            if cost is not None and best[start] + cost < least:
                least = best[start] + cost
        best[end] = least
    return best[-1]
