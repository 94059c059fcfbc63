"""Slow twin of the BPE and WordPiece trainers: `algorithms.md`, "BPE", "WordPiece training" and
"Ties", replayed from the words at every step.

A symbol is a string and a word is a tuple of symbols. The corpus state is a dict from word to
count, and the dict's order is the scan order. Nothing is carried from one step to the next but
that state. Different words never become the same key: the symbols of a word, the markers
taken off, always spell its pre-token.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Literal, NamedTuple

MarkerKind = Literal["none", "end", "end-fused", "start", "continuation"]
Criterion = Literal["count", "likelihood"]
Ties = Literal["first-seen", "rewritten-last", "lowest-id", "highest-text"]

Word = tuple[str, ...]
Pair = tuple[str, str]
State = dict[Word, int]


class Merge(NamedTuple):
    """One step; the counts are those of the corpus state before it."""

    left: str
    right: str
    token: str
    count: int
    left_count: int
    right_count: int


@dataclass(frozen=True)
class Training:
    vocabulary: list[str]  # the index is the id
    merges: list[Merge]
    initial_state: State
    final_state: State
    ties: Ties

    def states(self) -> Iterator[State]:
        """The corpus state before the first merge, then after each: len(merges) + 1 of them."""
        state = self.initial_state
        yield state
        for merge in self.merges:
            state = apply_merge(state, merge.left, merge.right, merge.token, self.ties)
            yield state


def byte_to_unicode() -> dict[int, str]:
    """GPT-2's table (`bytes_to_unicode` of its encoder.py): a printable character per byte."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1)]
    printable += range(ord("®"), ord("ÿ") + 1)
    others = [byte for byte in range(256) if byte not in printable]
    table = {byte: chr(byte) for byte in printable}
    table |= {byte: chr(256 + index) for index, byte in enumerate(others)}
    return dict(sorted(table.items()))


def initial_symbols(pretoken: str, marker_kind: MarkerKind, marker: str) -> list[str]:
    """The symbols that training and encoding start from: characters, and the word marker."""
    characters = list(pretoken)
    if marker_kind == "end":
        return [*characters, marker]
    if marker_kind == "end-fused":
        return characters[:-1] + [last + marker for last in characters[-1:]]
    if marker_kind == "start":
        return [marker, *characters]
    if marker_kind == "continuation":
        return characters[:1] + [marker + character for character in characters[1:]]
    return characters


def strip_marker(token: str, marker_kind: MarkerKind, marker: str) -> str:
    """The token's text: the word marker taken off the end that this kind writes it at."""
    if marker_kind in ("end", "end-fused"):
        return token.removesuffix(marker)
    if marker_kind in ("start", "continuation"):
        return token.removeprefix(marker)
    return token


def merged_token(left: str, right: str, marker_kind: MarkerKind, marker: str) -> str:
    return left + (right.removeprefix(marker) if marker_kind == "continuation" else right)


def count_symbols(state: State) -> Counter[str]:
    counts: Counter[str] = Counter()
    for word, count in state.items():
        for symbol in word:
            counts[symbol] += count
    return counts


def count_pairs(state: State) -> Counter[Pair]:
    """Adjacent pairs, overlapping ones included, in the order of their first occurrence."""
    counts: Counter[Pair] = Counter()
    for word, count in state.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


def merge_word(word: Word, left: str, right: str, token: str) -> Word:
    """Every occurrence of the pair replaced, left to right, without overlap."""
    merged: list[str] = []
    position = 0
    while position < len(word):
        if word[position : position + 2] == (left, right):
            merged.append(token)
            position += 2
        else:
            merged.append(word[position])
            position += 1
    return tuple(merged)


def apply_merge(state: State, left: str, right: str, token: str, ties: Ties) -> State:
    """The next state. With `rewritten-last` a word that changes moves to the end."""
    if ties != "rewritten-last":
        return {merge_word(word, left, right, token): n for word, n in state.items()}
    after = dict(state)
    for word in state:
        merged = merge_word(word, left, right, token)
        if merged != word:
            after[merged] = after.pop(word)
    return after


def train(
    words: dict[str, int],
    *,
    vocab_size: int,
    marker_kind: MarkerKind = "none",
    marker: str = "",
    criterion: Criterion = "count",
    ties: Ties = "first-seen",
    alphabet: list[str] | None = None,
    special_tokens: list[str] | None = None,
    min_frequency: int = 1,
    max_token_length: int | None = None,
    left_out: str = "",
    extend: Training | None = None,
    refused: Callable[[str], bool] = lambda _token: False,
    may_merge: Callable[[str, str], bool] = lambda _left, _right: True,
    initial: list[str] | None = None,
) -> Training:
    """Learn merges from pre-tokens and their counts, given in first-seen order.

    `alphabet` are symbols that are in the vocabulary even if no word has them. A length is in
    characters of the token without its marker. Characters that are `left_out` have no id, and
    no merge crosses them. `extend` is a training to go on from: its tokens keep their ids, and
    its merges are applied to the words before the first new one. No merge makes a `refused` token,
    and `may_merge` says which two symbols
    may be merged. `initial` are pre-tokens that the first merges make into tokens. A vocabulary
    that the specials and the alphabet fill or overfill is returned without further merges: the
    error it deserves is not the twin's business.
    """
    state: State = {tuple(initial_symbols(w, marker_kind, marker)): n for w, n in words.items()}
    initial_state = state
    without_id = {
        symbol
        for word in words
        for symbol in initial_symbols(word, marker_kind, marker)
        if strip_marker(symbol, marker_kind, marker) in set(left_out)
    }

    def carries_marker(symbol: str) -> bool:
        return marker_kind in ("continuation", "end-fused") and len(symbol) > 1

    of_initial = {s for w in initial or [] for s in initial_symbols(w, marker_kind, marker)}
    symbols = set(count_symbols(state)) - without_id | of_initial | set(alphabet or [])
    in_order = sorted(symbols, key=lambda symbol: (carries_marker(symbol), symbol))
    first = extend.vocabulary if extend else special_tokens or []
    vocabulary = list(dict.fromkeys([*first, *in_order]))

    merges: list[Merge] = []
    for old in extend.merges if extend else []:
        merges.append(old)
        state = apply_merge(state, old.left, old.right, old.token, ties)

    def candidates_of(state: State) -> dict[Pair, int]:
        candidates: dict[Pair, int] = {}
        for pair, count in count_pairs(state).items():
            token = merged_token(*pair, marker_kind, marker)
            length = len(strip_marker(token, marker_kind, marker))
            too_long = max_token_length is not None and length > max_token_length
            # Text is text: no merge makes a special token.
            special = token in (special_tokens or [])
            crosses = not without_id.isdisjoint(pair)
            allowed = not (too_long or special or crosses or refused(token))
            if allowed and may_merge(*pair):
                candidates[pair] = count
        return candidates

    def merge(left: str, right: str, count: int) -> None:
        nonlocal state
        symbol_counts = count_symbols(state)
        token = merged_token(left, right, marker_kind, marker)
        if token not in vocabulary:  # else its id is used again
            vocabulary.append(token)
        merges.append(Merge(left, right, token, count, symbol_counts[left], symbol_counts[right]))
        state = apply_merge(state, left, right, token, ties)

    # The initial tokens stand behind the text, and count nothing in it.
    unseen: State = {
        tuple(initial_symbols(w, marker_kind, marker)): 1 for w in dict.fromkeys(initial or [])
    }
    for old in merges:
        unseen = apply_merge(unseen, old.left, old.right, old.token, ties)
    state = {**state, **{word: 0 for word in unseen if word not in state}}
    while in_initial := candidates_of(unseen):
        in_text = candidates_of(state)  # in scan order
        both = {pair: (in_initial[pair], n) for pair, n in in_text.items() if pair in in_initial}
        left, right = choose(both, ties, vocabulary)
        merge(left, right, in_text[left, right])
        unseen = apply_merge(unseen, left, right, merges[-1].token, ties)
    state = {word: count for word, count in state.items() if count}

    while len(vocabulary) < vocab_size:
        symbol_counts = count_symbols(state)
        candidates = {p: n for p, n in candidates_of(state).items() if n >= min_frequency}
        if not candidates:
            break
        left, right = choose(pair_scores(candidates, symbol_counts, criterion), ties, vocabulary)
        merge(left, right, candidates[left, right])
    return Training(vocabulary, merges, initial_state, state, ties)


def pair_scores(
    pair_counts: dict[Pair, int], symbol_counts: Counter[str], criterion: Criterion
) -> dict[Pair, Fraction]:
    """What is compared, exactly: count(ab), or count(ab) / (count(a) * count(b))."""
    if criterion == "count":
        return {pair: Fraction(count) for pair, count in pair_counts.items()}
    return {
        (left, right): Fraction(count, symbol_counts[left] * symbol_counts[right])
        for (left, right), count in pair_counts.items()
    }


def choose(
    scores: Mapping[Pair, Fraction | tuple[int, int]], ties: Ties, vocabulary: list[str]
) -> Pair:
    """The best pair. `scores` is in scan order, so the first of the tied is the first seen."""
    best = max(scores.values())
    tied = [pair for pair, score in scores.items() if score == best]
    if ties == "lowest-id":
        ids = {token: id_ for id_, token in enumerate(vocabulary)}
        return min(tied, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
    if ties == "highest-text":
        return max(tied)
    return tied[0]
