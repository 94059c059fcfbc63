"""Where a pattern matches: as Oniguruma and Rust's `regex` search, one place after the other."""

from __future__ import annotations

import regex


def matches(pattern: str, text: str) -> list[tuple[int, int]]:
    """No match is empty where the last one ended; then the search begins a character further."""
    found: list[tuple[int, int]] = []
    at, last_end = 0, -1
    while at <= len(text) and (match := regex.search(pattern, text, pos=at)):
        start, end = match.span()
        if start == end == last_end:
            at += 1
        else:
            found.append((start, end))
            at = last_end = end
    return found
