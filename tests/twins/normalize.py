"""Slow, obvious normalizers: Python's own Unicode database, one rule after the other.

Each takes a list of characters with their places, (start, end) in characters of the
original, and gives such a list. A character that comes in addition has the place of the
one before it, (0, 0) at the start: Hugging Face's way.
"""

from __future__ import annotations

import unicodedata

from tests.twins.matches import matches

Placed = list[tuple[str, tuple[int, int]]]


def placed(text: str) -> Placed:
    return [(char, (at, at + 1)) for at, char in enumerate(text)]


def text_of(chars: Placed) -> str:
    return "".join(char for char, _ in chars)


def decompose(form: str, chars: Placed) -> Placed:
    """NFD or NFKD. The first character of a decomposition replaces what is decomposed, the
    others come in addition; then marks are sorted by class, and what replaces takes the
    next place, in the new order."""
    parts = [
        (part, number == 0)
        for char, _ in chars
        for number, part in enumerate(unicodedata.normalize(form, char))
    ]
    ordered: list[tuple[str, bool]] = []
    marks: list[tuple[str, bool]] = []
    for part in [*parts, ("\0", True)]:
        if unicodedata.combining(part[0]):
            marks.append(part)
        else:
            ordered += sorted(marks, key=lambda mark: unicodedata.combining(mark[0]))
            ordered.append(part)
            marks = []
    places = iter(place for _, place in chars)
    result: Placed = []
    last = (0, 0)
    for part, replaces in ordered[:-1]:
        last = next(places) if replaces else last
        result.append((part, last))
    return result


def lowercase(chars: Placed) -> Placed:
    # Alone, so that no final sigma is seen.
    return [(lower, place) for char, place in chars for lower in char.lower()]


def strip_accents(chars: Placed) -> Placed:
    return [(char, place) for char, place in chars if unicodedata.category(char)[0] != "M"]


def delete_newlines(chars: Placed) -> Placed:
    return [(char, place) for char, place in chars if char not in "\r\n"]


def replace(chars: Placed, pattern: str, content: str) -> Placed:
    """Every match of the regular expression; the content has the place of its last character."""
    text, result, done = text_of(chars), list[tuple[str, tuple[int, int]]](), 0
    if not text:
        return []
    for start, end in matches(pattern, text):
        place = chars[end - 1][1] if end else (0, 0)
        result += chars[done:start] + [(char, place) for char in content]
        done = end
    return result + chars[done:]


def collapse_spaces(chars: Placed) -> Placed:
    return replace(chars, " {2,}", " ")


def strip(chars: Placed, left: bool, right: bool) -> Placed:
    start, end = 0, len(chars)
    while left and start < end and is_white(chars[start][0]):
        start += 1
    while right and end > start and is_white(chars[end - 1][0]):
        end -= 1
    return chars[start:end]


def is_white(char: str) -> bool:
    """White_Space. Python's isspace() also takes the information separators."""
    return char.isspace() and not "\x1c" <= char <= "\x1f"


def prepend(chars: Placed, text: str) -> Placed:
    return [(char, chars[0][1]) for char in text] + chars if chars else []


def longest_rule(chars: Placed, rules: dict[str, str]) -> Placed:
    """SentencePiece's: at each place the longest key; its value stands for all of it."""
    longest = max(map(len, rules), default=0)
    text, result, at = text_of(chars), list[tuple[str, tuple[int, int]]](), 0
    while at < len(text):
        for length in range(min(longest, len(text) - at), 0, -1):
            key = text[at : at + length]
            if key in rules:
                place = (chars[at][1][0], chars[at + length - 1][1][1])
                result += [(char, place) for char in rules[key]]
                at += length
                break
        else:
            result.append(chars[at])
            at += 1
    return result
