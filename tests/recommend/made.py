"""A text of a language that does not exist, whose curves flatten before it runs out."""

from __future__ import annotations

import random
from functools import cache


@cache
def lexicon_text(words: int = 3000, lines: int = 3000, seed: int = 0) -> bytes:
    """Paragraphs of words drawn from a lexicon, the n-th in proportion to n ** -1.3. Words are made
    of up to four of 60 syllables."""
    draw = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    syllables = ["".join(draw.choices(letters, k=draw.randint(1, 3))) for _ in range(60)]
    lexicon = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(words)]
    weights = [(place + 2) ** -1.3 for place in range(words)]
    text = []
    for number in range(lines):
        chosen = draw.choices(lexicon, weights, k=12)
        text.append(f"{' '.join(chosen[:7]).capitalize()}, {' '.join(chosen[7:])}.")
        if number % 5 == 4:
            text.append("")
    return "\n".join(text).encode() + b"\n"
