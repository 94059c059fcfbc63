"""Slow twin of the added tokens: Hugging Face's `AddedVocabulary::find_matches`."""

from collections.abc import Sequence
from typing import NamedTuple

import regex

SPACE_BEFORE = regex.compile(r"\s*\Z")
SPACE_AFTER = regex.compile(r"\s*")


class Added(NamedTuple):
    text: str
    single_word: bool = False
    strip_left: bool = False
    strip_right: bool = False


def matches(tokens: Sequence[Added], text: str) -> list[tuple[int, int, int]]:
    """Leftmost first, longest first: start, end and number of the token."""
    found = []
    at = 0
    while at < len(text):
        here = [
            n for n, token in enumerate(tokens) if token.text and text.startswith(token.text, at)
        ]
        if not here:
            at += 1
            continue
        number = max(here, key=lambda n: (len(tokens[n].text), -n))
        found.append((at, at + len(tokens[number].text), number))
        at += len(tokens[number].text)
    return found


def find(tokens: Sequence[Added], text: str) -> list[tuple[int, int, int]]:
    """What is found takes white space along where its token says so, and is refused where a word
    goes on beside it."""
    found = []
    before = 0
    for start, end, number in matches(tokens, text):
        token = tokens[number]
        beside = text[start - 1 : start] + text[end : end + 1]
        if token.single_word and regex.search(r"\w", beside):
            continue
        if token.strip_left:
            start = max(SPACE_BEFORE.search(text[:start]).start(), before)
        if token.strip_right:
            end = SPACE_AFTER.match(text, end).end()
        if start >= end:
            continue
        found.append((start, end, number))
        before = end
    return found
