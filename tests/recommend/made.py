"""A text whose words are few, so that curves flatten before it runs out."""

from __future__ import annotations

import random
from functools import cache


@cache
def lexicon_text(words: int = 400, lines: int = 3000, seed: int = 0) -> bytes:
    """Lines of words drawn from a lexicon, the n-th in proportion to 1 / n, with numbers."""
    draw = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    lexicon = ["".join(draw.choices(letters, k=draw.randint(2, 9))) for _ in range(words)]
    weights = [1 / (place + 1) for place in range(words)]
    text = []
    for number in range(lines):
        chosen = draw.choices(lexicon, weights, k=12)
        text.append(f"{' '.join(chosen[:7]).capitalize()}, {' '.join(chosen[7:])}.")
        if number % 5 == 4:
            text.append("")
    return "\n".join(text).encode() + b"\n"
