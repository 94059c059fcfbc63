"""Slow twins of PickyBPE and Scaffold-BPE: `algorithms.md`, "PickyBPE" and "Scaffold-BPE".

As in `train`, a symbol is a string, a word a tuple of them, and the order of the corpus state is
the scan order. Everything is counted anew at every step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tests.twins.train import (
    Merge,
    Pair,
    State,
    Ties,
    apply_merge,
    choose,
    count_pairs,
    count_symbols,
    pair_scores,
)


@dataclass(frozen=True)
class Removal:
    """A token that was removed after `step` merges; for `count` and `whole` see `algorithms.md`."""

    step: int
    token: str
    count: int
    whole: int


@dataclass
class Refined:
    """What a training that removes tokens found.

    symbols: every token that there ever was, in the order in which they were first made.
    sides: what a merged token was first merged of.
    """

    alphabet: list[str]
    symbols: list[str]
    state: State
    merges: list[Merge] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)
    sides: dict[str, Pair] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)

    @property
    def vocabulary(self) -> list[str]:
        return [symbol for symbol in self.symbols if symbol not in self.gone]

    @property
    def removed(self) -> list[str]:
        return [symbol for symbol in self.symbols if symbol in self.gone]


def _start(words: dict[str, int], alphabet: Sequence[str]) -> Refined:
    state = {tuple(word): count for word, count in words.items()}
    first = list(dict.fromkeys([*alphabet, *sorted(count_symbols(state))]))
    return Refined(list(first), list(first), state)


def _candidates(found: Refined, least: int, never: Sequence[str]) -> dict[Pair, int]:
    pairs = count_pairs(found.state).items()
    return {
        (left, right): count
        for (left, right), count in pairs
        if count >= least and left + right not in never
    }


def _merge(found: Refined, pair: Pair, count: int, ties: Ties) -> int:
    """Merges a pair; how often that was done."""
    left, right = pair
    token = left + right
    symbols = count_symbols(found.state)
    if token not in found.symbols:
        found.symbols.append(token)
        found.sides[token] = pair
    found.gone.discard(token)
    found.merges.append(Merge(left, right, token, count, symbols[left], symbols[right]))
    found.state = apply_merge(found.state, left, right, token, ties)
    return count_symbols(found.state)[token] - symbols[token]


def train_picky(
    words: dict[str, int],
    *,
    vocab_size: int,
    threshold: Fraction,
    ties: Ties = "first-seen",
    alphabet: Sequence[str] = (),
    min_frequency: int = 1,
    never: Sequence[str] = (),
    follow: Sequence[Pair] | None = None,
) -> Refined:
    """Merges as BPE; a side of a merge whose IoS reaches the threshold is removed, and split.

    follow: the pairs that another training has merged, whatever its rule for ties: each must be
        one of the best.
    """
    found = _start(words, alphabet)
    while len(found.vocabulary) < vocab_size if follow is None else len(found.merges) < len(follow):
        candidates = _candidates(found, min_frequency, never)
        if not candidates:
            break
        scores = pair_scores(candidates, count_symbols(found.state), "count")
        pair = choose(scores, ties, found.symbols)
        if follow is not None:
            assert scores[follow[len(found.merges)]] == scores[pair], len(found.merges)
            pair = follow[len(found.merges)]
        times = _merge(found, pair, candidates[pair], ties)
        for side in dict.fromkeys(pair):
            whole = count_symbols(found.state)[side] + times
            if side in found.sides and Fraction(times, whole) >= threshold:
                found.gone.add(side)
                found.removals.append(Removal(len(found.merges), side, times, whole))
                found.state = _split(found.state, side, parts_of(side, found), ties)
    return found


def parts_of(token: str, found: Refined) -> list[str]:
    """The token, or what its first sides fall into if it is removed."""
    if token not in found.gone:
        return [token]
    left, right = found.sides[token]
    return [*parts_of(left, found), *parts_of(right, found)]


def split_word(word: Sequence[str], token: str, parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(one for symbol in word for one in (parts if symbol == token else [symbol]))


def _split(state: State, token: str, parts: Sequence[str], ties: Ties) -> State:
    after: State = {}
    moved: State = {}
    for word, count in state.items():
        changed = split_word(word, token, parts)
        where = moved if changed != word and ties == "rewritten-last" else after
        where[changed] = count
    return {**after, **moved}


def replay_picky(word: str, found: Refined, *, whole_words: bool = True) -> list[str]:
    """Every event in order, each on the whole word; a word that is a token stays whole."""
    if whole_words and word in found.vocabulary:
        return [word]
    past = Refined(found.alphabet, found.symbols, {}, sides=found.sides)
    past.gone = set(found.sides)
    symbols: tuple[str, ...] = tuple(word)
    removals = list(found.removals)
    for step, merge in enumerate(found.merges, 1):
        past.gone.discard(merge.token)
        (symbols,) = apply_merge({symbols: 1}, *merge[:3], "first-seen")
        while removals and removals[0].step == step:
            token = removals.pop(0).token
            past.gone.add(token)
            symbols = split_word(symbols, token, parts_of(token, past))
    return list(symbols)


def train_scaffold(
    words: dict[str, int],
    *,
    vocab_size: int,
    ties: Ties = "first-seen",
    alphabet: Sequence[str] = (),
    min_frequency: int = 1,
    never: Sequence[str] = (),
) -> Refined:
    """Merges as BPE. A side of a merge that is rarer than the head of the queue becomes a
    scaffold; the most frequent scaffold comes back before a pair that is not more frequent."""
    found = _start(words, alphabet)

    def best_pair() -> tuple[Pair | None, int]:
        candidates = _candidates(found, min_frequency, never)
        if not candidates:
            return None, 0
        counts = pair_scores(candidates, count_symbols(found.state), "count")
        pair = choose(counts, ties, found.symbols)
        return pair, candidates[pair]

    def best_scaffold() -> tuple[str | None, int]:
        counts = count_symbols(found.state)
        waiting = [symbol for symbol in found.removed if counts[symbol] >= max(1, min_frequency)]
        token = max(waiting, key=counts.__getitem__, default=None)  # of equals the oldest
        return token, 0 if token is None else counts[token]

    while len(found.vocabulary) < vocab_size:
        pair, count = best_pair()
        scaffold, uses = best_scaffold()
        if scaffold is not None and uses >= count:
            found.gone.discard(scaffold)
            continue
        if pair is None:
            break
        _merge(found, pair, count, ties)
        head = max(best_pair()[1], best_scaffold()[1])
        for side in dict.fromkeys(pair):
            uses = count_symbols(found.state)[side]
            if side in found.sides and side not in found.gone and uses < head:
                found.gone.add(side)
                found.removals.append(Removal(len(found.merges), side, uses, head))
    last = {removal.token: removal for removal in found.removals if removal.token in found.gone}
    found.removals = [r for r in found.removals if last.get(r.token) is r]
    return found


def demolish(token: str, found: Refined) -> list[str]:
    """The fewest tokens that a scaffold was merged of; of equals those of the earliest merge."""
    if token not in found.gone:
        return [token]
    ways = [
        [*demolish(merge.left, found), *demolish(merge.right, found)]
        for merge in found.merges
        if merge.token == token
    ]
    return min(ways, key=len)


def encode_scaffold(
    word: str, found: Refined, encode_bpe: Callable[[Sequence[str], Sequence[Merge]], list[str]]
) -> list[str]:
    """Merges by rank, then every scaffold is demolished."""
    tokens = encode_bpe(list(word), found.merges)
    return [part for token in tokens for part in demolish(token, found)]
