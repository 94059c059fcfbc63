"""Longest match first: which token was found at each place, and which longer ones are none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokctl.analysis.explain.history import history_of

if TYPE_CHECKING:
    from tokctl.tokenizer import Tokenizer

#: Longer stretches that are shown of those that are no token.
FEW = 3


@dataclass(frozen=True)
class Match:
    """The token found at one place of a word.

    Attributes:
        stretch: the characters that it covers.
        token: None where nothing matches the character, which alone is unknown.
        longer: tokens that would have gone further, were they in the vocabulary: up to
            `FEW`, the longest of all first, then those that come just before the match.
        longer_count: how many were tried in vain.
    """

    stretch: str
    token: str | None
    longer: tuple[str, ...]
    longer_count: int


@dataclass(frozen=True)
class Failure:
    """Why a whole word is unknown.

    Attributes:
        reason: `too-long` or `unmatchable`.
        rest: the stretch at whose start no token fits; empty where the word is too long.
        characters: the word's length.
        limit: the recipe's `max_input_chars`.
    """

    reason: str
    rest: str
    characters: int
    limit: int | None


@dataclass(frozen=True)
class MatchedWord:
    """A pre-token that is segmented by longest match.

    Attributes:
        data: the pre-token's bytes, normalized.
        matches: what was found, from left to right; up to the failure where there is one.
        failure: why the word is unknown as a whole, or None.
        tokens: as `encode` names them.
        ids: None where there is no unknown token.
    """

    data: bytes
    matches: tuple[Match, ...]
    failure: Failure | None
    tokens: tuple[str, ...]
    ids: tuple[int | None, ...]


def match_word(tokenizer: Tokenizer, data: bytes) -> MatchedWord:
    """How BERT's rule splits one pre-token, which is UTF-8."""
    recipe = tokenizer.recipe
    word = data.decode()
    limit = recipe.max_input_chars
    matches: list[Match] = []
    failure = None
    if limit is not None and len(word) > limit:
        failure = Failure("too-long", "", len(word), limit)
    else:
        for at, match in _matches(tokenizer, word):
            if match.token is None and recipe.unknown == "word":
                failure = Failure("unmatchable", word[at:], len(word), limit)
                break
            matches.append(match)
    unknown, mark = recipe.unk_token, recipe.marker.text
    if failure:
        names = [unknown or word]
    else:
        names = [
            match.token or unknown or (mark if place else "") + match.stretch
            for place, match in enumerate(matches)
        ]
    found = [None] if failure else [match.token for match in matches]
    ids = [tokenizer.unk_id if token is None else tokenizer.vocabulary[token] for token in found]
    return MatchedWord(data, tuple(matches), failure, tuple(names), tuple(ids))


def _matches(tokenizer: Tokenizer, word: str) -> Iterator[tuple[int, Match]]:
    """The matches with their places; one without a token covers one character."""
    vocabulary = tokenizer.vocabulary
    apart = tokenizer.model.apart
    longest = history_of(tokenizer).longest
    at = 0
    while at < len(word):
        mark = tokenizer.recipe.marker.text if at else ""
        ends = range(min(len(word), at + longest), at, -1)
        spelled = (mark + word[at:end] for end in ends)
        token = next((n for n in spelled if n in vocabulary and vocabulary[n] not in apart), None)
        end = at + (1 if token is None else len(token) - len(mark))
        tried = len(word) - (at if token is None else end)
        # Just those above the match, and in front of them the whole rest.
        above = [mark + word[at:stop] for stop in range(len(word) - tried + 1, len(word) + 1)][
            : FEW - 1
        ]
        if tried >= FEW:
            above.append(mark + word[at:])
        yield at, Match(word[at:end], token, tuple(reversed(above)), tried)
        at = end
