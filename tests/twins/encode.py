"""Slow twin of the encoders: `algorithms.md`, "BPE" (encoding) and "WordPiece encoding".

A merge is anything whose first three items are left, right and token, such as `train.Merge`;
its rank is its place in the list.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal


def encode_bpe(symbols: Sequence[str], merges: Sequence[tuple[Any, ...]]) -> list[str]:
    """Apply the merge of lowest rank that is present, at its leftmost place, until none is.

    A pair that was learned twice has the rank of its first time.
    """
    ranks: dict[tuple[str, str], int] = {}
    for rank, (left, right, *_) in enumerate(merges):
        ranks.setdefault((left, right), rank)
    tokens = list(symbols)
    while True:
        pairs = enumerate(pairwise(tokens))
        present = [(ranks[pair], place) for place, pair in pairs if pair in ranks]
        if not present:
            return tokens
        rank, place = min(present)
        tokens[place : place + 2] = [merges[rank][2]]


def encode_by_replay(symbols: Sequence[str], merges: Sequence[tuple[Any, ...]]) -> list[str]:
    """Replay the merges in the order learned, each left to right without overlap."""
    tokens = list(symbols)
    for left, right, token, *_ in merges:
        place = 0
        while place < len(tokens) - 1:
            if tokens[place] == left and tokens[place + 1] == right:
                tokens[place : place + 2] = [token]
            place += 1
    return tokens


def encode_longest_match(
    word: str,
    vocabulary: set[str],
    prefix: str = "##",
    unk: str = "[UNK]",
    max_input_chars: int | None = 100,
    unknown: Literal["word", "char"] = "word",
) -> list[str]:
    """Greedy longest match first, as BERT's WordpieceTokenizer.

    What can't be matched makes the whole word one `unk`, or with `unknown="char"` only the
    character at that place, after which matching goes on as in the middle of a word. A word of
    more than `max_input_chars` characters is one `unk` in both cases.
    """
    if max_input_chars is not None and len(word) > max_input_chars:
        return [unk]
    tokens = []
    start = 0
    while start < len(word):
        marker = prefix if start > 0 else ""
        for end in range(len(word), start, -1):
            if marker + word[start:end] in vocabulary:
                tokens.append(marker + word[start:end])
                start = end
                break
        else:
            if unknown == "word":
                return [unk]
            tokens.append(unk)
            start += 1
    return tokens
