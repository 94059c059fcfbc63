"""subword-nmt's `apply-bpe --vocabulary`, from its description: slow, rule by rule.

A word is its characters, the last with `</w>`. The pair that was learned first is merged
everywhere, again and again. Then every token that the vocabulary lacks falls into the pair that it
was first learned as, until its parts are there or are characters.
"""

from __future__ import annotations

import itertools

Pair = tuple[str, str]
SUFFIX, SEPARATOR = "</w>", "@@"


def shown(symbol: str) -> str:
    """A symbol as the vocabulary has it."""
    return symbol.removesuffix(SUFFIX) if symbol.endswith(SUFFIX) else symbol + SEPARATOR


def merged(word: str, codes: list[Pair]) -> list[str]:
    symbols = [*word[:-1], word[-1] + SUFFIX]
    while True:
        there = {pair for pair in itertools.pairwise(symbols) if pair in codes}
        if not there:
            return symbols
        best = min(there, key=codes.index)
        row: list[str] = []
        at = 0
        while at < len(symbols):
            step = 2 if tuple(symbols[at : at + 2]) == best else 1
            row.append("".join(symbols[at : at + step]))
            at += step
        symbols = row


def apart(symbol: str, codes: list[Pair], vocabulary: set[str]) -> list[str]:
    """The parts that a symbol falls into."""
    if shown(symbol) in vocabulary:
        return [symbol]
    pair = next((pair for pair in codes if "".join(pair) == symbol), None)
    if pair is None:
        return [symbol]
    return [part for side in pair for part in apart(side, codes, vocabulary)]


def tokens(line: str, codes: list[Pair], vocabulary: set[str]) -> list[str]:
    """The tokens of a line."""
    found = []
    for word in line.strip("\r\n ").split(" "):
        # A word of one character is never looked up.
        symbols = merged(word, codes) if word else []
        found += [part for one in symbols for part in apart(one, codes, vocabulary)]
    return list(map(shown, found))
