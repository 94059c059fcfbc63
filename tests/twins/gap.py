"""The fewest tokens, from their definitions: every segmentation, and every vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations

from tokctl import Tokenizer

NONE = float("inf")


def fewest_of(vocabulary: Iterable[bytes], text: bytes, *, byte_fallback: bool = False) -> float:
    """The least number of tokens that spell a text; infinite where none do. Characters are as many
    tokens as they have bytes where they fall back to these."""
    tokens = set(vocabulary)
    best = [0.0] + [NONE] * len(text)
    for end in range(1, len(text) + 1):
        for start in range(end):
            part = text[start:end]
            cost = 1.0 if part in tokens else NONE
            if byte_fallback and cost == NONE and _is_character(part):
                cost = len(part)
            best[end] = min(best[end], best[start] + cost)
    return best[-1]


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


def segmentations(vocabulary: Iterable[bytes], text: bytes) -> Iterator[list[bytes]]:
    """All of them."""
    tokens = set(vocabulary)
    if not text:
        yield []
    for end in range(1, len(text) + 1):
        if text[:end] in tokens:
            for rest in segmentations(tokens, text[end:]):
                yield [text[:end], *rest]


def fewest_of_pre_token(tokenizer: Tokenizer, data: bytes) -> float:
    """The least number of tokens of a model that spell a pre-token, each where its marker lets it
    stand."""
    model, recipe = tokenizer.model, tokenizer.recipe
    tokens = {
        token
        for id_, token in enumerate(model.tokens)
        if id_ not in model.reserved_ids and not recipe.is_byte_token(token)
    }
    mark = recipe.marker.text.encode()
    size = len(data)

    def cost(start: int, end: int) -> float:
        """Of the part from `start` to `end`, as one token."""
        part = data[start:end]
        if recipe.marker.is_continuation:
            return 1.0 if (mark + part if start else part) in tokens else NONE
        if recipe.marker.starts_words and start == 0:
            return 1.0 if mark + part in tokens else NONE
        if recipe.marker.ends_words and end == size:
            return 1.0 if part + mark in tokens else NONE
        if part in tokens:
            return 1.0
        return len(part) if recipe.byte_fallback and _is_character(part) else NONE

    @cache
    def rest(start: int) -> float:
        if start == size:
            return 0.0
        return min(cost(start, end) + rest(end) for end in range(start + 1, size + 1))

    if recipe.marker.is_symbol and mark in tokens:
        # The marker can be a token of its own, beside a word without one.
        inner = fewest_of(tokens, data)
        if recipe.marker.starts_words:
            return min(rest(0), 1 + inner)
        heads = (
            fewest_of(tokens, data[:at]) + (1.0 if data[at:] + mark in tokens else NONE)
            for at in range(size + 1)
        )
        return min(heads)
    return rest(0)


def optimum(words: Mapping[bytes, int], budget: int) -> float:
    """The least number of tokens of all words that a vocabulary reaches which has every byte and
    up to `budget` longer tokens."""
    symbols = {word[at : at + 1] for word in words for at in range(len(word))}
    candidates = sorted(
        {
            word[start:end]
            for word in words
            for start in range(len(word))
            for end in range(start + 2, len(word) + 1)
        }
    )
    return min(
        sum(count * fewest_of({*symbols, *chosen}, word) for word, count in words.items())
        for chosen in combinations(candidates, min(budget, len(candidates)))
    )


def best_lengths(vocabulary: Iterable[bytes], text: bytes) -> Sequence[int] | None:
    """The lengths of the tokens of the segmentation with the fewest; of several of these, the one
    whose first token is longest, then the second, and so on."""
    found = [[len(token) for token in tokens] for tokens in segmentations(vocabulary, text)]
    if not found:
        return None
    return min(found, key=lambda lengths: (len(lengths), [-length for length in lengths]))
