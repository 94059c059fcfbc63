"""The suite's figures the obvious way: from the tokens of each word, as text.

A word stands behind `a ` in its own text; what `Tokenizer.encode` says of places is believed.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import regex

from tokctl._native import NO_ID
from tokctl.tokenizer import Tokenizer


def pieces(tokenizer: Tokenizer, word: str, after: str = "") -> tuple[list[str], int, bool]:
    """The word cut wherever a token starts or ends; its tokens; whether all are known."""
    encoding = tokenizer.encode(("a " + word + after).encode())
    first, last = 2, 2 + len(word.encode())
    tokens, known = 0, True
    cut_before = {first, last}
    for (start, end), id_ in zip(encoding.offsets, encoding.raw_ids, strict=True):
        touched = set(range(start, end)) & set(range(first, last))
        if touched:
            tokens += 1
            known &= id_ != NO_ID and id_ != tokenizer.unk_id
            cut_before |= {start, end} & set(range(first, last))
    places = sorted(cut_before)
    data = ("a " + word).encode()
    cut = [data[a:b].decode() for a, b in pairwise(places)]
    return cut, tokens, known


def numbers(tokenizer: Tokenizer) -> tuple[dict[tuple[int, int], Fraction], ...]:
    """By digits and tokens, by digits and way, and by place: shares as fractions."""
    tokens: Counter[tuple[int, int]] = Counter()
    ways: Counter[tuple[int, str]] = Counter()
    places: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    for number in range(1, 10_000):
        word = f"{number}"
        cut, count, known = pieces(tokenizer, word)
        sizes[len(word)] += 1
        tokens[len(word), count] += 1
        ways[len(word), way(number, cut, known)] += 1
        for place in range(1, len(word)):
            head = word[: len(word) - place]
            # Some of the first pieces together are all that stands before the last digits.
            places[place] += any("".join(cut[:n]) == head for n in range(len(cut)))
    longer = {place: sum(sizes[n] for n in sizes if n > place) for place in (1, 2, 3)}
    return (
        {key: Fraction(n, sizes[key[0]]) for key, n in tokens.items()},
        {key: Fraction(n, sizes[key[0]]) for key, n in ways.items()},  # type: ignore[dict-item,misc]
        {(p, 0): Fraction(places[p], longer[p]) for p in longer},
    )


def way(number: int, cut: list[str], known: bool) -> str:
    """The name of how a number is cut."""
    if not known:
        return "unknown"
    if len(cut) == 1:
        return "whole"
    if cut == f"{number:,}".split(","):
        return "right"
    if cut == re.findall(r"\d{1,3}", f"{number}"):
        return "left"
    return "single" if all(len(part) == 1 for part in cut) else "other"


def cut_at_words(cut: list[str], known: bool) -> bool:
    """Is each piece one word of the name, with an underscore at an edge or alone?"""
    words = [part.strip("_") for part in cut if part != "_"]
    joined = "".join(cut)
    wanted = regex.findall(r"[A-Z]?[a-z]+", joined)
    return known and words == wanted


def characters_cut(tokenizer: Tokenizer, text: str) -> tuple[int, int, int]:
    """Characters, those that are not ASCII, those that are cut."""
    encoding = tokenizer.encode(text.encode())
    ends = {place for span in encoding.offsets for place in span}
    fallen = {
        start
        for (start, _), token in zip(encoding.offsets, encoding.tokens, strict=True)
        if tokenizer.recipe.byte_fallback and re.fullmatch(r"<0x[0-9A-F]{2}>", token)
    }
    at = cut = 0
    for character in text:
        size = len(character.encode())
        inside = set(range(at + 1, at + size))
        cut += bool(inside & ends) or (size > 1 and at in fallen)
        at += size
    return len(text), sum(not character.isascii() for character in text), cut
